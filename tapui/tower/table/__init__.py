"""Tables of live rows, their columns and filters, and the panes that are made of them."""
