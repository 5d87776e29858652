"""Providers: identity, bindings, tools and instances."""
