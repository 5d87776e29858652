"""The gateway, sans-I/O: messages and time come in, effects and events come out."""
