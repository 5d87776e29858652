"""The built-in tools: an in-process provider that speaks the provider's messages."""
