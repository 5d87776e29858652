"""The conversations: one file for each kind of peer, and which message is legal in which state."""
