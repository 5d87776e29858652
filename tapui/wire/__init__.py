"""The contract: every message as a msgspec Struct, one file a conversation, and the codec."""
