"""A WebSocket to a gateway, without I/O: bytes in, texts out, and why there is none.

Around it are two thin shells: `line` on an event loop, and `glance` on a blocking socket, for
commands that run every few seconds: the event loop alone would take a third of their time to
import.
"""

from websockets.client import ClientProtocol
from websockets.exceptions import InvalidStatus, InvalidURI
from websockets.frames import Close, Frame, Opcode
from websockets.protocol import State
from websockets.uri import parse_uri

from tapui.client.gateways import NoGateway, not_ours


class GatewayWebSocket:
    """The protocol of one connection to the gateway at `url`, such as `ws://localhost:9400`.

    `max_bytes` is the largest message that may come. Raises `NoGateway` where `url` is none.
    """

    def __init__(self, url: str, max_bytes: int) -> None:
        try:
            self.place = parse_uri(url)
        except (InvalidURI, ValueError) as error:  # ValueError: of the port
            raise NoGateway(f"'{url}' is no address of a gateway: {error}") from None
        self.url = url
        self._protocol = ClientProtocol(self.place, max_size=max_bytes)
        self._protocol.send_request(self._protocol.connect())
        self._parts: list[bytes] = []
        self.is_open = False
        """Whether texts can be sent."""

    @property
    def end(self) -> Close | None:
        """The gateway's close frame: code and reason."""
        return self._protocol.close_rcvd

    def is_ending(self) -> bool:
        """Return whether the gateway is to let the connection go now."""
        return self._protocol.close_expected()

    def received(self, data: bytes) -> list[bytes]:
        """Take bytes, or none at their end, and return the texts that they complete.

        Raises `NoGateway` and `NoPlace` where the handshake fails.
        """
        protocol = self._protocol
        if data:
            protocol.receive_data(data)
        else:
            protocol.receive_eof()
        texts: list[bytes] = []
        for event in protocol.events_received():
            if not isinstance(event, Frame):
                continue  # the answer to the handshake
            if event.opcode is Opcode.TEXT and event.fin and not self._parts:
                texts.append(event.data)  # type: ignore[arg-type]  # bytes, or what is like them
            elif event.opcode in (Opcode.TEXT, Opcode.CONT):
                self._parts.append(bytes(event.data))
                if event.fin:
                    texts.append(b"".join(self._parts))
                    self._parts = []
        self.is_open = protocol.state is State.OPEN
        fault = protocol.handshake_exc
        if isinstance(fault, InvalidStatus):
            raise not_ours(self.url, fault.response.status_code, fault.response.body or b"")
        if fault is not None:
            raise not_ours(self.url)
        return texts

    def send(self, text: bytes) -> None:
        self._protocol.send_text(text)

    def ping(self) -> None:
        self._protocol.send_ping(b"")

    def close(self) -> None:
        self._protocol.send_close(1000)
        self.is_open = False

    def unsent(self) -> tuple[bytes, bool]:
        """Return the bytes that are to be sent, and whether they are the last."""
        out = self._protocol.data_to_send()
        is_last = bool(out) and not out[-1]  # the protocol's sign for the end
        return out[0] if len(out) == 1 else b"".join(out), is_last
