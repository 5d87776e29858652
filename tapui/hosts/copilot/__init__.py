"""Live sessions of Copilot CLI: found, attached to, and spoken for in the host conversation."""
