"""Sessions that tapui starts."""
