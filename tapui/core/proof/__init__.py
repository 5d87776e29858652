"""Proof: what was done in a session, as tapui itself saw it."""
