"""Emitters: commands and prompts on a schedule whose lines go through a filter into a stream."""
