"""The configuration: typed settings, the files that hold them, and the files of rules."""
