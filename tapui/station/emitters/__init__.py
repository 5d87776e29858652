"""The shell of emitters: their folders' files, the person's consents, and the runs."""
