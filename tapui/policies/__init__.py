"""Policies: the person's rules, what is asked for, and the verdict of the rules on it.

No files, clock or sockets: whoever reads the files hands their text in.
"""
