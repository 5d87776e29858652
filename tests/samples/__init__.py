"""The samples of the interface's documents, each run at a real gateway: README.md lists them."""
