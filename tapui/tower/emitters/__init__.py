"""Emitters: the pane, an emitter's sheet, and its filter."""
