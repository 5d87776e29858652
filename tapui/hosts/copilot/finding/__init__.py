"""Which CLIs run, what reaches their sessions, and which sessions are stored.

`discovery` looks for running CLIs and for the ports that tapui's extension opens in them;
`unattached_sessions` lists what cannot be reached, and times the next attempt; `stored_sessions`
reads the sessions that Copilot keeps on disk, `trusted_folders` the folders that it trusts.
"""
