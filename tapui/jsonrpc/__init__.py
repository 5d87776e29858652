"""JSON-RPC 2.0 over a stream of bytes: `peer.py` without I/O, `connection.py` on an event loop."""
