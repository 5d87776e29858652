"""What is changed in a folder, by content: read by a process of its own, without any program."""
