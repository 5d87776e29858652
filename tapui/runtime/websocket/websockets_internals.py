"""What tapui uses of `websockets` beyond the documented interface, all in this one place.

`pyproject.toml` bounds the library's major version; `tests/runtime/test_websockets_internals.py`
names each of these.
"""

from websockets.server import ServerProtocol

try:
    from websockets.speedups import apply_mask
except ImportError:  # a platform without the compiled extension
    from websockets.utils import apply_mask

__all__ = ["apply_mask", "has_received_close", "has_sent_eof", "release"]


def has_sent_eof(protocol: ServerProtocol) -> bool:
    """Return whether this side ended its output: a refused handshake, a violation, a close."""
    return protocol.eof_sent


def has_received_close(protocol: ServerProtocol) -> bool:
    return protocol.close_rcvd is not None


def release(protocol: ServerProtocol) -> None:
    """Let the state machine of a connection that is gone be freed when it is dropped.

    Its parser refers to it and so does what ended the parser: only a garbage collection would find
    the two, with what was read last.
    """
    protocol.parser.close()
    protocol.parser_exc = protocol.handshake_exc = None
