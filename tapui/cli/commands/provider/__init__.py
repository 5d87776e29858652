"""`tapui provider`: one module an action."""
