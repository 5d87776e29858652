"""JSON Schemas of tools: what they refer to, and whether arguments fit them."""
