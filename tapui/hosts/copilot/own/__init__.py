"""Sessions that tapui starts itself, in a server process of the CLI without a screen.

`headless` is the process with its sessions, `own_session` makes one, `own_model` is a model
provider of the person's own.
"""
