"""`tapui provider dev`: a provider that is started anew with each save, while its place in the
session, and the calls under way, stay.

The process that the author starts holds the one link to the gateway (`relay.py`). The author's file
runs in a child process (`program.py`), whose link is a socket pair to the first (`channel.py`).
"""
