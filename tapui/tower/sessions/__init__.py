"""Sessions: the pane, their sheets, orders, and starting them."""
