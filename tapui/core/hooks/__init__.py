"""Hooks: rules before tools, gates, and what providers add to prompts."""
