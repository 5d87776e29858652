"""Files and folders on disk: private, locked, shared with others, or put into a user's."""
