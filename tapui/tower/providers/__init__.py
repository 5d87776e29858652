"""Providers: the pane, a provider's sheet, and the inspector of its connection."""
