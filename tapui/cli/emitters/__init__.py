"""`tapui emitters`: what a folder's emitters do, and what is done to them."""
