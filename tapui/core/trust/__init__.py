"""Trust: tokens, what they grant, and pairing."""
