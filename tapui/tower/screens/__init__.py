"""The screens that open over the panes, one module each."""
