"""The contract: every message as a msgspec Struct, by peer or subject, and the codec."""
