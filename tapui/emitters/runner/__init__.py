"""The runner: a helper process that runs emitters' commands and filters their lines.

`runner.py` is its counterpart in the gateway's process; `messages.py` is what the two say.
"""
