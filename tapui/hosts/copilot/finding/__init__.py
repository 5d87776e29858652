"""Which CLIs run, what reaches their sessions, and which sessions are stored.

`discovery` and `doors` look for running CLIs and for the ports that tapui's extension opens there;
`unattached` lists the sessions that cannot be reached; `retry_log` times the next attempt; `stored`
reads the sessions on disk.
"""
