"""One service, asked over HTTP with JSON: bounded in bytes and time, and backed off.

The token goes to the address of the service alone: no redirect takes it elsewhere. What was
answered with an ETag is asked for again as "changed since?", which costs GitHub's budget nothing.
"""

import asyncio
import email.utils
import ssl
import time
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar
from urllib.parse import urlencode, urljoin, urlsplit

import msgspec

from tapui import __version__
from tapui.provider.errors import ToolError
from tapui.secret import Secret
from tapui.text import safe_text
from tapui.wire.errors import CallError

if TYPE_CHECKING:
    import httpx

T = TypeVar("T")

MAX_BYTES = 10 * 1024 * 1024
"""Of an answer."""
SECONDS = 20.0
"""For an answer as a whole: a server that sends a byte now and then does not hold a call."""
FIRST_PAUSE, LONGEST_PAUSE = 2.0, 300.0
"""Seconds between two tries at a service that fails: doubled each time, up to this."""
_LONGEST_HOLD = 3600.0
"""Of a wait that the service asks for."""
_REDIRECTS = 3
_KEPT, _KEPT_BYTES = 100, 2 * MAX_BYTES
"""Answers that are kept with their ETag, and what they were in bytes together."""
_MOST_TOLD = 20
_MOST_WORDS = 200
LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})
Authorize = Callable[[], Secret | None]
"""Returns the value of `Authorization`, or None for none. It may block, and is asked once, and
again when the service refuses what it returned."""


class ServiceError(ToolError):
    """A service did not answer as asked; the text is for the agent and the person. `status` is
    HTTP's, 0 where there was no answer."""

    def __init__(
        self, code: CallError, text: str, *, retryable: bool = False, status: int = 0
    ) -> None:
        super().__init__(code, text, retryable)
        self.status = status


@dataclass(frozen=True, slots=True)
class ServiceAnswer(Generic[T]):
    """What a service answered. `is_same`: it says that this is what it answered before. `next` is
    the address of the next page (`Link`)."""

    data: T
    next: str | None = None
    is_same: bool = False


class _Reply(NamedTuple):
    status: int
    headers: "httpx.Headers"
    body: bytes


class _Kept(NamedTuple):
    etag: str
    answer: ServiceAnswer[Any]
    size: int


class WebService:
    """Asks one address. Used in one event loop at a time; `close` ends its connections.

    `name` is what people call it, `variable` what its address was read from. `tell` is given one
    line for each kind of trouble, until that is over. `scope` says what the token needs where the
    service does not. `now` are seconds that only go forward.
    """

    def __init__(
        self,
        name: str,
        address: str,
        authorize: Authorize | None = None,
        *,
        variable: str = "its address",
        headers: Mapping[str, str] | None = None,
        scope: str = "",
        tell: Callable[[str], None] = lambda _: None,
        now: Callable[[], float] = time.monotonic,
        seconds: float = SECONDS,
        most: int = MAX_BYTES,
    ) -> None:
        self.name = name
        self.address = checked_address(address, variable)
        self.tell = tell
        self._variable = variable
        self._authorize = authorize
        self._authorization: Secret | None = None
        self._has_authorized = False
        self._headers = dict(headers or {})
        self._scope = scope
        self._now = now
        self._seconds = seconds
        self._most = most
        self._client: httpx.AsyncClient | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._kept: OrderedDict[tuple[str, Any], _Kept] = OrderedDict()
        self._told: set[str] = set()
        self._failures = 0
        self._paused_until = 0.0
        self._held_until = 0.0

    @property
    def wait(self) -> float:
        """Seconds for which a poll leaves the service alone; 0 while it answers."""
        return max(0.0, self._held_until - self._now(), self._paused_until - self._now())

    async def get(
        self, path: str, kind: type[T], query: Mapping[str, object] | None = None
    ) -> ServiceAnswer[T]:
        """Return what is at a path, or at the address of a page, as `kind`. Raises
        `ServiceError`."""
        url = self._url(path, query)
        kept = self._kept.get((url, kind))
        asked = {"If-None-Match": kept.etag} if kept is not None else {}
        reply = await self._followed("GET", url, asked, None, self._most)
        if reply.status == 304 and kept is not None:
            self._kept.move_to_end((url, kind))
            return ServiceAnswer(kept.answer.data, kept.answer.next, is_same=True)
        answer = ServiceAnswer(self._decoded(reply, kind), _next(reply.headers, url))
        self._keep((url, kind), reply, answer)
        return answer

    async def pages(
        self,
        path: str,
        kind: type[T],
        query: Mapping[str, object] | None = None,
        *,
        cursor: tuple[str, Callable[[T], object]] | None = None,
        most: int = 10,
    ) -> AsyncIterator[T]:
        """Yield the pages of a list, at most `most`: as its `Link`s lead from one to the next, or
        with the argument that `cursor` names, and what it returns of a page (None for the last)."""
        answer = await self.get(path, kind, query)
        yield answer.data
        for _ in range(most - 1):
            if cursor is None:
                if answer.next is None:
                    return
                answer = await self.get(answer.next, kind)
            else:
                name, following = cursor
                if (at := following(answer.data)) is None:
                    return
                answer = await self.get(path, kind, {**(query or {}), name: at})
            yield answer.data

    async def send(
        self, method: str, path: str, body: object, kind: type[T], query: Any = None
    ) -> ServiceAnswer[T]:
        """Write: it is sent once, and follows no redirect. Raises `ServiceError`."""
        data = msgspec.json.encode(body)
        headers = {"Content-Type": "application/json"}
        reply = await self._asked(method, self._url(path, query), headers, data, self._most)
        if 300 <= reply.status < 400:
            raise self._odd("it sends a write elsewhere, which is not followed", reply.status)
        # 204 has no body; nothing is an object without fields.
        return ServiceAnswer(self._decoded(reply._replace(body=reply.body.strip() or b"{}"), kind))

    async def download(self, path: str, most: int | None = None) -> bytes:
        """Return the bytes at a path. It may be elsewhere, where the token does not go along.

        Raises `ServiceError`.
        """
        headers = {"Accept": "*/*"}
        url = self._url(path, None)
        reply = await self._followed("GET", url, headers, None, most or self._most, is_away=True)
        return reply.body

    async def close(self) -> None:
        """End the connections; the next request opens new ones."""
        client, self._client = self._client, None
        if client is not None and self._loop is asyncio.get_running_loop():
            await client.aclose()

    # Requests

    def _url(self, path: str, query: Mapping[str, object] | None) -> str:
        url = path if "://" in path else f"{self.address}{path}"
        if _origin(url) != _origin(self.address):
            raise ServiceError(
                CallError.INTERNAL, f"{self.name} names a page at another address: not asked"
            )
        asked = {key: _text(one) for key, one in (query or {}).items() if one is not None}
        return f"{url}{'&' if '?' in url else '?'}{urlencode(asked)}" if asked else url

    async def _followed(
        self,
        method: str,
        url: str,
        headers: Mapping[str, str],
        body: bytes | None,
        most: int,
        *,
        is_away: bool = False,
    ) -> _Reply:
        """Ask, and follow redirects: those to another address only where it `is_away`."""
        home, is_home = _origin(self.address), True
        for _ in range(_REDIRECTS + 1):
            reply = await self._asked(method, url, headers, body, most, is_home=is_home)
            if not 300 <= reply.status < 400 or reply.status == 304:
                return reply
            url = urljoin(url, reply.headers.get("Location", ""))
            is_home = _origin(url) == home
            if not is_home and not is_away:
                raise self._odd("it sends to another address, which is not followed", reply.status)
            if not is_home and urlsplit(url).scheme not in ("https", urlsplit(self.address).scheme):
                raise self._odd("it sends to an address that is not https", reply.status)
        raise self._odd("it sends from one address to the next", reply.status)

    async def _asked(
        self,
        method: str,
        url: str,
        headers: Mapping[str, str],
        body: bytes | None,
        most: int,
        *,
        is_home: bool = True,
    ) -> _Reply:
        """Ask once, and return an answer that is good. Raises `ServiceError`."""
        if (left := self._held_until - self._now()) > 0:
            raise self._held(left)
        sent = {**self._headers, **headers} if is_home else dict(headers)
        if is_home:
            await self._know_token()
            if self._authorization is not None:
                sent["Authorization"] = self._authorization.reveal()
        reply = await self._exchanged(method, url, sent, body, most)
        if is_home:
            self._judge(reply)
        elif reply.status >= 400:
            text = f"{self.name}: what it names is not there any more"
            raise ServiceError(CallError.NOT_FOUND, text, status=reply.status)
        return reply

    async def _know_token(self) -> None:
        if self._authorize is not None and not self._has_authorized:
            self._authorization = await asyncio.to_thread(self._authorize)
            self._has_authorized = True

    async def _exchanged(
        self,
        method: str,
        url: str,
        headers: Mapping[str, str],
        body: bytes | None,
        most: int,
    ) -> _Reply:
        import httpx

        client = self._opened()
        try:
            async with asyncio.timeout(self._seconds):
                request = client.build_request(method, url, headers=dict(headers), content=body)
                answer = await client.send(request, stream=True)
                try:
                    return _Reply(
                        answer.status_code, answer.headers, await self._read(answer, most)
                    )
                finally:
                    await answer.aclose()
                    client.cookies.clear()
        except TimeoutError:
            raise self._failed(CallError.TIMEOUT, f"no answer in {self._seconds:g} s") from None
        except httpx.InvalidURL:
            raise ServiceError(CallError.INTERNAL, f"{self.name} names no address") from None
        except (httpx.HTTPError, ssl.SSLError, OSError) as error:
            raise self._failed(CallError.DISCONNECTED, _reason(error)) from None

    async def _read(self, answer: "httpx.Response", most: int) -> bytes:
        """Raises `ServiceError` for more than `most` bytes. Compressed ones are not asked for, and
        not unpacked: a small answer would become a large one."""
        if answer.headers.get("Content-Encoding", "identity") != "identity":
            raise self._odd("it packs an answer, unasked", answer.status_code)
        parts, size = [], 0
        async for part in answer.aiter_raw():
            size += len(part)
            if size > most:
                why = f"it answers with more than {most:,} bytes, which are not read"
                raise self._odd(why, answer.status_code, CallError.PAYLOAD_TOO_LARGE)
            parts.append(part)
        return b"".join(parts)

    def _opened(self) -> "httpx.AsyncClient":
        import httpx

        loop = asyncio.get_running_loop()
        if self._client is None or self._loop is not loop:
            self._loop = loop
            parts = urlsplit(self.address)
            self._client = httpx.AsyncClient(
                # The system's certificates, as with `SSL_CERT_FILE`: a company's are there.
                verify=ssl.create_default_context(),
                headers={
                    "User-Agent": f"tapui/{__version__}",
                    "Accept": "application/json",
                    "Accept-Encoding": "identity",
                },
                timeout=self._seconds,
                follow_redirects=False,
                limits=httpx.Limits(
                    max_connections=4, max_keepalive_connections=2, keepalive_expiry=90.0
                ),
                trust_env=parts.hostname not in LOOPBACK,  # the person's proxy
            )
        return self._client

    # Answers

    def _judge(self, reply: _Reply) -> None:
        """Note how the service is. Raises `ServiceError` for an answer that is an error."""
        status, headers = reply.status, reply.headers
        if status == 429 or (status in (403, 503) and _asks_to_wait(headers)):
            seconds = self._hold_seconds(headers)
            self._held_until = self._now() + seconds
            self._tell("wait", f"{self.name} asks to wait: it is left alone for {_span(seconds)}")
            raise self._held(seconds)
        if status >= 500:
            raise self._failed(CallError.INTERNAL, f"it answers {status}", status)
        self._failures, self._paused_until = 0, 0.0
        self._told -= {"wait", "trouble"}
        if status == 401:
            self._has_authorized = False  # it may be another by now
            what = "no token" if self._authorization is None else "a token that is not accepted"
            raise self._forbidden(f"{self.name} refuses {what}", status)
        if status == 403:
            raise self._forbidden(self._missing_right(headers), status)
        if status in (404, 410):
            text = f"{self.name} has no such thing, or does not show it to this token"
            raise ServiceError(CallError.NOT_FOUND, text, status=status)
        if status >= 400:
            text = f"{self.name}: it answers {status}{_message(reply.body)}"
            raise ServiceError(CallError.INTERNAL, text, status=status)

    def _missing_right(self, headers: "httpx.Headers") -> str:
        """Say which right a token lacks, as GitHub tells it."""
        wanted = str(
            headers.get("X-Accepted-GitHub-Permissions")
            or headers.get("X-Accepted-OAuth-Scopes")
            or self._scope
        )
        wanted = safe_text(wanted[:_MOST_WORDS])
        has = safe_text(headers.get("X-OAuth-Scopes", "")[:_MOST_WORDS])
        text = f"{self.name} refuses this to the token"
        if wanted:
            text += f": it needs {wanted}"
        return f"{text} (it has {has})" if wanted and has else text

    def _forbidden(self, text: str, status: int) -> ServiceError:
        self._tell(text, text)
        return ServiceError(CallError.UNAUTHORIZED, text, status=status)

    def _odd(self, why: str, status: int, code: CallError = CallError.INTERNAL) -> ServiceError:
        """An answer that is none: the same again would not help, so the person hears of it."""
        text = f"{self.name}: {why}"
        self._tell(text, text)
        return ServiceError(code, text, status=status)

    def _failed(self, code: CallError, why: str, status: int = 0) -> ServiceError:
        pause = min(FIRST_PAUSE * 2**self._failures, LONGEST_PAUSE)
        self._failures = min(self._failures + 1, 16)
        self._paused_until = self._now() + pause
        text = f"{self.name}: {why}"
        self._tell("trouble", f"{text}; it is tried again, less and less often")
        return ServiceError(code, text, retryable=True, status=status)

    def _held(self, seconds: float) -> ServiceError:
        text = f"{self.name} asks to wait {_span(seconds)}"
        return ServiceError(CallError.RATE_LIMITED, text, retryable=True, status=429)

    def _hold_seconds(self, headers: "httpx.Headers") -> float:
        """Return how long the service is to be left alone, by its own clock where it has one."""
        given = headers.get("Retry-After", "").strip()
        here = _seconds_of(headers.get("Date", "")) or time.time()
        if given.isascii() and given.isdigit():
            seconds = float(given[:9])
        elif (at := _seconds_of(given)) is not None:
            seconds = at - here
        elif (reset := headers.get("X-RateLimit-Reset", "")[:12]).isdigit():
            seconds = float(reset) - here
        else:
            seconds = min(60.0 * 2**self._failures, LONGEST_PAUSE)
            self._failures = min(self._failures + 1, 16)
        return min(max(seconds, 1.0), _LONGEST_HOLD)

    def _decoded(self, reply: _Reply, kind: type[T]) -> T:
        try:
            return msgspec.json.decode(reply.body, type=kind)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            what = "not what was asked for"
            is_page = "html" in reply.headers.get("Content-Type", "").lower()
            if is_page or reply.body.lstrip()[:1] == b"<":
                what = f"a web page where data was asked for; is {self._variable} right?"
            raise self._odd(f"it answers with {what}", reply.status) from None

    def _keep(self, key: tuple[str, Any], reply: _Reply, answer: ServiceAnswer[Any]) -> None:
        self._kept.pop(key, None)
        etag = reply.headers.get("ETag", "")
        if not etag or len(etag) > _MOST_WORDS:
            return
        self._kept[key] = _Kept(etag, answer, len(reply.body))
        while len(self._kept) > _KEPT or sum(one.size for one in self._kept.values()) > _KEPT_BYTES:
            self._kept.popitem(last=False)

    def _tell(self, kind: str, text: str) -> None:
        if kind not in self._told and len(self._told) < _MOST_TOLD:
            self._told.add(kind)
            self.tell(text)


def checked_address(address: str, variable: str) -> str:
    """Return an address without its last slash. Raises `ServiceError` for what a token may not go
    to: anything but https, or http on this machine."""
    try:
        parts = urlsplit(address)
        host, port = parts.hostname, parts.port
    except ValueError:
        host = port = None
    is_safe = host is not None and (
        parts.scheme == "https" or (parts.scheme == "http" and host in LOOPBACK)
    )
    if not is_safe or parts.username or parts.query or parts.fragment or port == 0:
        shown = safe_text(address[:_MOST_WORDS])
        raise ServiceError(CallError.INTERNAL, f"{variable}: '{shown}' is no https address")
    return address.rstrip("/")


def _origin(url: str) -> tuple[str, str, int | None]:
    try:
        parts = urlsplit(url)
        usual = {"https": 443, "http": 80}.get(parts.scheme)
        return parts.scheme, (parts.hostname or "").lower(), parts.port or usual
    except ValueError:
        return "", "", None


def _next(headers: "httpx.Headers", url: str) -> str | None:
    """Return the address of the next page (RFC 8288)."""
    for part in str(headers.get("Link", ""))[:8_192].split(","):
        target, _, rest = part.strip().partition(";")
        if target.startswith("<") and target.endswith(">") and 'rel="next"' in rest:
            return urljoin(url, target[1:-1])
    return None


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _asks_to_wait(headers: "httpx.Headers") -> bool:
    return "Retry-After" in headers or headers.get("X-RateLimit-Remaining") == "0"


def _seconds_of(date: str) -> float | None:
    try:
        return email.utils.parsedate_to_datetime(date).timestamp()
    except (ValueError, OverflowError, TypeError):
        return None


def _span(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"


def _message(body: bytes) -> str:
    """Return what GitHub or Jira say about an error, as data: bounded and on one line."""
    try:
        found = msgspec.json.decode(body[:65_536], type=dict[str, Any])
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return ""
    words = [found.get("message"), *(found.get("errorMessages") or ())][:3]
    said = "; ".join(one for one in words if isinstance(one, str) and one)
    return f' and says "{safe_text(said, limit=_MOST_WORDS)}"' if said else ""


def _reason(error: Exception) -> str:
    """Say why there is no answer, in words that are not the server's."""
    if "CERTIFICATE" in str(error).upper():
        return "its certificate is not trusted here"
    name = type(error).__name__
    if "Protocol" in name or "Decoding" in name:
        return "it does not speak HTTP"
    return "it cannot be reached"
