"""Calling tools from the tower: forms made of schemas, checks beside the loop, the calls made."""
