"""Themes: their files (`theme_files`), and switching them live (`themes`)."""
