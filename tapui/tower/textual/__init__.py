"""What the tower adds to Textual: its inside, screens, dialogs and widgets."""
