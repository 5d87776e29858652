"""Requests: the band, the sheets and the answers, and which request is first."""
