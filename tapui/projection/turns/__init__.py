"""The fold of turns: what each session was asked, and the steps that it took."""
