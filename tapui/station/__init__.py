"""Where the parts are put together: tower and gateway in one process, or each alone."""
