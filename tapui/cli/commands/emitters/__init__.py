"""`tapui emitters`: what runs beside sessions."""
