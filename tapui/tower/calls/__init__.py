"""Tool calls: the pane, a call's sheet, and long values and changes as paragraphs."""
