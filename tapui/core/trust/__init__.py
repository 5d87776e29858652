"""Trust: tokens and what they grant, pairing, and places for connections; who counts as the
person (`person`), and the messages that only the person may send (`guard`)."""
