"""Words and marks that several rooms share."""
