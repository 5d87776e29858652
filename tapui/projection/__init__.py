"""The state that the events fold to: snapshots, `tapui status`, the panes and replay are this."""
