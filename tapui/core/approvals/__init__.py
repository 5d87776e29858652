"""Approvals: what waits for a decision of the person, and mode switches."""
