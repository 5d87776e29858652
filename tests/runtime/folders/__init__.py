"""Folders of real repositories, made by git, read without it."""
