"""`tapui run`: one prompt in a session of its own, without a tower."""
