"""Policies: the person's rules, what is asked for, and the verdict of the rules on it.

No files, clock or sockets: callers read the files and hand their text in.
"""
