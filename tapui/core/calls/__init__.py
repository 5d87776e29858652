"""Tool calls: dispatch, lanes, outcomes, and the calls of the sessions' own tools."""
