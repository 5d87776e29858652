"""Tests of the Copilot host."""
