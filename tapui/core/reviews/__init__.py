"""Reviews of monitors and of code: recorded, known again, and decided about."""
