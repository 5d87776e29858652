"""How much a configuration may hold. It comes from a repository: everything in it is bounded."""

from tapui.wire import limits

MAX_FILE = 1024 * 1024
"""Bytes of a configuration file."""
MAX_EMITTERS = limits.MAX_FOLDER_EMITTERS
MAX_STREAMS = 64
MAX_PROVIDERS = 20
MAX_PATTERN_CHARACTERS = 128 * 1024
"""Characters of all patterns of a file, each counted as 32 at least: compiling takes 4 µs for each
character, and 0.1 ms for a short pattern."""
MAX_PROMPT = 64 * 1024
MAX_DESCRIPTION = 500
MAX_METADATA = 64 * 1024
"""Characters of an entry's metadata as compact JSON."""
MAX_VARIABLES = 64
MAX_VALUE = 4 * 1024
"""Characters of a variable's value, and of an argument."""
MAX_ARGUMENTS = 64
MAX_PROBLEMS = 100
"""Problems that are listed of a file; the others are counted."""
