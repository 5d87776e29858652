"""Sessions that tapui starts itself, in a server process of the CLI without a screen.

`headless` has the sessions, `server` starts and ends the process, `own_session` makes a session.
"""
