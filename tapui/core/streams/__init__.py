"""Streams: lines that are pushed, filtered, kept, surfaced and injected."""
