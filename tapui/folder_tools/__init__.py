"""Tool files of a folder's `tools/`: read, checked and imported as they are, each at its own cost.

Nothing here imports more than the standard library, `files` and `text`: a child process that reads
or tries files starts in some 40 ms.
"""
