"""What the tests drive tapui with: processes, screens, a scripted model, peers on the socket."""
