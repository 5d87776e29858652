"""Where tapui keeps its things, and which gateways run: all that a client needs to find one."""
