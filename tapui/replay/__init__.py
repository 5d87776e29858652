"""Replay: any moment of recorded sessions as a state, and a feed that goes through them."""
