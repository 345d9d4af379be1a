"""A client of the daemon's HTTP API. A publish is sent again if it got no answer, always under the same idempotency key,
so that nothing is lost or doubled while the daemon restarts."""
from __future__ import annotations

import asyncio
import difflib
import http.client
import json
import random
import socket
import ssl
import time
import uuid
from email.utils import parsedate_to_datetime
from typing import Any, AsyncIterator, Dict, Iterator, List, Mapping, Optional, Sequence, Tuple, Union, cast
from urllib.parse import quote, urlencode, urlsplit

from ._operations import OPERATIONS, AsyncCalls, Body, Calls, Query
from ._types import BatchedPublication, BatchItem, EventDraft, FieldProblem, PortalLink, PortalLinkDraft, Publication
from ._version import __version__

_FIRST_WAIT = 0.1
_LONGEST_WAIT = 5.0
_MAX_ANSWER_BYTES = 64 * 1024 * 1024
_MAX_IDLE = 32
_PAGE = 100
#: The daemon sends a comment each 15 seconds.
_SILENCE = 40.0

_Answer = Tuple[int, Mapping[str, str], bytes]
_AGAIN = "publish its events again, with their idempotency keys: none of them is then published twice"


class ClientError(Exception):
    """The daemon refused the request, or could not be reached. The text says what happened."""

    def __init__(self, message: str, *, answer: Optional[_Answer] = None, code: str = "unreachable") -> None:
        # An answer of 2xx describes no problem.
        problem = {} if answer is None or _is_good(answer) else _object(answer) or {}
        super().__init__(str(problem.get("detail", message)))
        self._answer = answer
        #: The code of the daemon's answer, or ``unreachable``.
        self.code: str = str(problem.get("code", code))
        #: None if there was no answer.
        self.status: Optional[int] = None if answer is None else answer[0]
        #: The faults, field by field.
        self.errors: List[FieldProblem] = cast("List[FieldProblem]", problem.get("errors", []))
        #: True if the same request may succeed later. If not, something must be changed first.
        self.retryable: bool = bool(problem.get("retryable", _may_pass(answer)))
        #: The next thing to do, if there is more to say.
        self.hint: Optional[str] = None


class PublishError(ClientError):
    """Raised if events were not published, or if nobody knows whether they were.

    ``publish_batch(error.events)`` cannot publish it twice within a day: ``events`` have their idempotency keys.
    """

    def __init__(self, error: ClientError, *, events: List[BatchItem]) -> None:
        super().__init__(str(error), answer=error._answer, code=error.code)
        self.retryable = error.retryable
        self.events = events
        self.hint = self._advice()

    def _advice(self) -> str:
        if self.retryable:
            return f"{_AGAIN[0].upper()}{_AGAIN[1:]}."
        if self.code == "unreachable":
            return f"Check the address of the daemon. Then {_AGAIN}."
        if self.code in ("unauthorized", "forbidden"):
            return f"Use a key with the scope publish for the tenant of the events. Then {_AGAIN}."
        if self.code == "idempotency_mismatch":
            return "Another event was published under this idempotency key: give this event a key of its own."
        if self.code == "payload_too_large":
            return "Publish fewer or smaller events at a time."
        return "Publishing the same events again fails in the same way: correct what the message names first."


class Client(Calls):
    """Any number of threads may share one. Idle connections are kept for the next call until ``close``."""

    def __init__(
        self,
        url: str = "http://127.0.0.1:8420",
        key: Optional[str] = None,
        *,
        socket_path: Optional[str] = None,
        timeout: float = 10.0,
        give_up_after: float = 30.0,
        ssl_context: Optional[ssl.SSLContext] = None,
    ) -> None:
        """With ``socket_path``, the daemon's unix socket, no ``key`` is needed, and ``url`` is not used.

        ``timeout`` is for one try, in seconds; ``give_up_after`` for all tries together.
        """
        parts = urlsplit(url)
        if socket_path is None and (parts.scheme not in ("http", "https") or parts.hostname is None):
            raise ValueError("url must begin with http:// or https:// and have a host")
        self._place = url if socket_path is None else socket_path
        self._parts = parts
        self._path = "" if socket_path is not None else parts.path.rstrip("/")
        self._socket_path = socket_path
        self._timeout = timeout
        self._give_up_after = give_up_after
        self._ssl = ssl_context
        self._headers = {
            "accept": "application/json, text/plain",
            "user-agent": f"webhookd-python/{__version__}",
        }
        if key is not None:
            self._headers["authorization"] = f"Bearer {key}"
        # Appending to a list and taking from it are atomic.
        self._idle: List[http.client.HTTPConnection] = []

    def publish(self, event: EventDraft, *, idempotency_key: Optional[str] = None) -> Publication:
        """Returns once the event and its deliveries are on the daemon's disk. Raises PublishError.

        Give the same ``idempotency_key`` for the same event, also after a restart of your program: one of your own,
        such as an id in your database.
        """
        key = idempotency_key if idempotency_key is not None else str(uuid.uuid4())
        sent = cast(BatchItem, {**event, "idempotency_key": key})
        return cast(Publication, self._persist("publishEvent", "id", cast(Body, event), key, [sent]))

    def publish_batch(self, events: Sequence[BatchItem]) -> List[BatchedPublication]:
        """Up to 1,000 events, all or none."""
        sent = [cast(BatchItem, {"idempotency_key": str(uuid.uuid4()), **event}) for event in events]
        answer = self._persist("publishBatch", "data", {"events": sent}, None, sent)
        return cast("List[BatchedPublication]", answer["data"])

    def call(
        self,
        operation: str,
        *,
        id: Optional[str] = None,
        query: Optional[Query] = None,
        body: Optional[Body] = None,
        idempotency_key: Optional[str] = None,
        if_match: Optional[str] = None,
        if_none_match: Optional[str] = None,
        timeout: Optional[float] = None,
    ) -> Any:
        """``id`` replaces ``{id}`` in the path, and a text as ``body`` is sent unchanged. Raises ClientError.

        ``if_match`` is the ETag that was read: nothing is changed if somebody has changed the object since.
        ``if_none_match`` may be ``*``: only if there is no such object yet.

        Returns the answer, and None if its status is 204.
        """
        headers = _given(idempotency_key, if_match, if_none_match)
        return self._value(self._ask(operation, id, query, body, headers, timeout))

    def call_with_etag(
        self,
        operation: str,
        *,
        id: Optional[str] = None,
        query: Optional[Query] = None,
        body: Optional[Body] = None,
        idempotency_key: Optional[str] = None,
        if_match: Optional[str] = None,
        if_none_match: Optional[str] = None,
        timeout: Optional[float] = None,
    ) -> Any:
        """Like ``call``, with the ETag of the answer, which a change can send back; None if the answer has none."""
        headers = _given(idempotency_key, if_match, if_none_match)
        answer = self._ask(operation, id, query, body, headers, timeout)
        return self._value(answer), answer[1].get("etag")

    def _value(self, answer: _Answer) -> Any:
        if answer[0] == 204:
            return None
        value = _object(answer)
        if value is None:
            raise self._not_webhookd(answer)
        return value

    def text(self, operation: str, *, id: Optional[str] = None, query: Optional[Query] = None) -> str:
        """Returns the answer as it came, for answers that are not JSON, or whose bytes matter."""
        return self._ask(operation, id, query, None, {}, None)[2].decode()

    def every(self, operation: str, *, query: Optional[Query] = None, **asked: Any) -> Iterator[Any]:
        """Yields the items of a list, page after page, to its end."""
        cursor: Optional[str] = None
        while True:
            page = self.call(operation, query={"limit": _PAGE, **(query or {}), "cursor": cursor}, **asked)
            yield from page["data"]
            cursor = page.get("next_cursor")
            if cursor is None:
                return

    def portal_link(self, draft: PortalLinkDraft) -> PortalLink:
        """Makes a link for one customer. Say ``new_tenant`` if the customer may have nothing yet."""
        return cast(PortalLink, self.call("createPortalLink", body=cast(Body, draft)))

    def changes(self, query: Optional[Query] = None) -> Iterator[Tuple[str, Any]]:
        """Yields ``(event, data)`` for each change from now on, until the daemon ends the stream."""
        method, path = self._locate("streamChanges", None, query)
        connection = self._connect(_SILENCE)
        try:
            connection.request(method, path, headers={**self._headers, "accept": "text/event-stream"})
            response = connection.getresponse()
            if response.status != 200:
                raise self._refusal((response.status, dict(response.getheaders()), response.read()))
            event, data = "message", ""
            for raw in response:
                line = raw.decode().rstrip("\r\n")
                name, _, value = line.partition(": ")
                if name == "event":
                    event = value
                elif name == "data":
                    data += value
                elif line == "" and data:
                    yield event, json.loads(data)
                    event, data = "message", ""
        except (OSError, http.client.HTTPException) as error:
            raise _not_reached(error) from error
        finally:
            connection.close()

    def close(self) -> None:
        idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _locate(self, operation: str, id: Optional[str], query: Optional[Query]) -> Tuple[str, str]:
        if operation not in OPERATIONS:
            near = difflib.get_close_matches(operation, OPERATIONS, 1)
            error = ClientError(f'there is no operation "{operation}"', code="unknown_operation")
            error.retryable = False
            error.hint = f"Did you mean {near[0]}?" if near else "GET /openapi.json of the daemon names all of them."
            raise error
        method, path = OPERATIONS[operation]
        given = {name: _written(value) for name, value in (query or {}).items() if value is not None}
        search = f"?{urlencode(given)}" if given else ""
        return method, self._path + path.replace("{id}", quote(id or "", safe="")) + search

    def _ask(
        self,
        operation: str,
        id: Optional[str],
        query: Optional[Query],
        body: Optional[Body],
        given: Mapping[str, str],
        timeout: Optional[float],
    ) -> _Answer:
        method, path = self._locate(operation, id, query)
        headers = {**self._headers, **given}
        data: Optional[bytes] = None
        if body is not None:
            data = body.encode() if isinstance(body, str) else _json(body)
            headers["content-type"] = "application/json"
        try:
            answer = self._send(method, path, data, headers, timeout)
        except (OSError, http.client.HTTPException) as error:
            raise _not_reached(error) from error
        if _is_good(answer):
            return answer
        raise self._refusal(answer)

    def _refusal(self, answer: _Answer) -> ClientError:
        if _object(answer):
            return ClientError(f"the answer was {answer[0]}", answer=answer)
        return self._not_webhookd(answer)

    def _not_webhookd(self, answer: _Answer) -> ClientError:
        return ClientError(f"what answers at {self._place} is not webhookd (status {answer[0]})", answer=answer)

    def _persist(self, operation: str, field: str, body: Body, key: Optional[str], events: List[BatchItem]) -> Any:
        """Tries until the daemon answers with an object that has the field."""
        until = time.monotonic() + self._give_up_after
        tries = 0
        while True:
            tries += 1
            try:
                answer = self._ask(operation, None, None, body, _given(key), None)
                published = _object(answer) or {}
                if field not in published:
                    raise self._not_webhookd(answer)
                return published
            except ClientError as error:
                wait = _wait_after(tries, error._answer)
                if not error.retryable or time.monotonic() + wait > until:
                    raise PublishError(error, events=events) from error.__cause__
            time.sleep(wait)

    def _send(
        self,
        method: str,
        path: str,
        body: Optional[bytes],
        headers: Mapping[str, str],
        timeout: Optional[float] = None,
    ) -> _Answer:
        # A call with a limit of its own gets a connection of its own.
        try:
            connection = self._connect(timeout) if timeout is not None else self._idle.pop()
        except IndexError:
            connection = self._connect(self._timeout)
        try:
            connection.request(method, path, body, dict(headers))
            response = connection.getresponse()
            text = response.read(_MAX_ANSWER_BYTES)
            # Given a limit, `read` says nothing of an answer that is cut short.
            if response.length:
                raise http.client.IncompleteRead(text, response.length)
        except BaseException:
            connection.close()
            # If the daemon was restarted, the other connections are gone as well.
            self.close()
            raise
        if response.will_close or timeout is not None or len(self._idle) >= _MAX_IDLE:
            connection.close()
        else:
            self._idle.append(connection)
        return response.status, {name.lower(): value for name, value in response.getheaders()}, text

    def _connect(self, timeout: float) -> http.client.HTTPConnection:
        if self._socket_path is not None:
            return _UnixConnection(self._socket_path, timeout)
        host, port = cast(str, self._parts.hostname), self._parts.port
        if self._parts.scheme == "https":
            return http.client.HTTPSConnection(host, port, timeout=timeout, context=self._ssl)
        return http.client.HTTPConnection(host, port, timeout=timeout)


class AsyncClient(AsyncCalls):
    """The same client for asyncio: each call waits in a thread, so that the event loop goes on."""

    def __init__(self, *given: Any, **options: Any) -> None:
        """Takes what ``Client`` takes."""
        self._client = Client(*given, **options)

    async def publish(self, event: EventDraft, *, idempotency_key: Optional[str] = None) -> Publication:
        return await asyncio.to_thread(self._client.publish, event, idempotency_key=idempotency_key)

    async def publish_batch(self, events: Sequence[BatchItem]) -> List[BatchedPublication]:
        return await asyncio.to_thread(self._client.publish_batch, events)

    async def call(self, operation: str, **asked: Any) -> Any:
        return await asyncio.to_thread(self._client.call, operation, **asked)

    async def call_with_etag(self, operation: str, **asked: Any) -> Any:
        return await asyncio.to_thread(self._client.call_with_etag, operation, **asked)

    async def text(self, operation: str, *, id: Optional[str] = None, query: Optional[Query] = None) -> str:
        return await asyncio.to_thread(self._client.text, operation, id=id, query=query)

    def every(self, operation: str, **asked: Any) -> AsyncIterator[Any]:
        """Yields the items of a list, page after page, to its end."""
        return _awaited(self._client.every(operation, **asked))

    def changes(self, query: Optional[Query] = None) -> AsyncIterator[Tuple[str, Any]]:
        """Yields ``(event, data)`` for each change from now on, until the daemon ends the stream."""
        return _awaited(self._client.changes(query))

    async def portal_link(self, draft: PortalLinkDraft) -> PortalLink:
        return await asyncio.to_thread(self._client.portal_link, draft)

    async def close(self) -> None:
        self._client.close()

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(self, *_: object) -> None:
        self._client.close()


_END = object()


async def _awaited(items: Iterator[Any]) -> AsyncIterator[Any]:
    # A StopIteration cannot leave a thread.
    while (item := await asyncio.to_thread(next, items, _END)) is not _END:
        yield item


def _given(
    idempotency_key: Optional[str], if_match: Optional[str] = None, if_none_match: Optional[str] = None
) -> Dict[str, str]:
    """Returns the headers of what a caller gave."""
    all_headers = {"idempotency-key": idempotency_key, "if-match": if_match, "if-none-match": if_none_match}
    return {name: value for name, value in all_headers.items() if value is not None}


def _json(body: object) -> bytes:
    return json.dumps(body, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode()


def _written(value: Union[str, int, float, bool]) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


class _UnixConnection(http.client.HTTPConnection):
    def __init__(self, path: str, timeout: float) -> None:
        super().__init__("localhost", timeout=timeout)
        self._socket_path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self._socket_path)


def _is_good(answer: _Answer) -> bool:
    return 200 <= answer[0] <= 299


def _object(answer: _Answer) -> Optional[Dict[str, Any]]:
    """Returns None if the body is no JSON object."""
    try:
        body = json.loads(answer[2])
    except ValueError:
        return None
    return body if isinstance(body, dict) else None


def _not_reached(error: Exception) -> ClientError:
    failure = ClientError(f"cannot reach webhookd ({error})")
    # Another try meets the same certificate.
    failure.retryable = not isinstance(error, ssl.SSLCertVerificationError)
    return failure


def _may_pass(answer: Optional[_Answer]) -> bool:
    """Returns true if the same request may succeed later, judging by the status alone."""
    return answer is None or answer[0] >= 500 or answer[0] in (408, 429)


def _wait_after(tries: int, answer: Optional[_Answer]) -> float:
    """Longer each time, and never the same for two callers, so that they do not all come back at once."""
    longest = min(_LONGEST_WAIT, _FIRST_WAIT * 2.0 ** (tries - 1))
    asked = "" if answer is None else answer[1].get("retry-after", "")
    return _asked_wait(asked) + longest * (0.5 + random.random() / 2)


def _asked_wait(text: str) -> float:
    if text.isdigit():
        return float(text)
    try:
        return max(0.0, float(parsedate_to_datetime(text).timestamp()) - time.time())
    except (TypeError, ValueError, IndexError):
        return 0.0
