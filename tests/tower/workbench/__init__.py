"""The workbench: fields, lines for the shell, calls, and the sheet itself."""
