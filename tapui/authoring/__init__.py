"""Tools for authors of providers: `tapui provider new`, `run`, `dev`, `check` and others."""
