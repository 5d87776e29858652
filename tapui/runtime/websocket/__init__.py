"""The gateway's WebSocket server: handshake, frames, limits, and the end of each connection."""
