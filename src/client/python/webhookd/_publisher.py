"""A client that publishes. It sends again what got no answer, always under the same idempotency key, so that nothing
is lost or doubled while the daemon restarts."""
from __future__ import annotations

import http.client
import json
import random
import socket
import ssl
import time
import uuid
from email.utils import parsedate_to_datetime
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple, cast
from urllib.parse import urlsplit

from ._types import BatchedPublication, BatchItem, EventDraft, FieldProblem, Publication
from ._version import __version__

_EVENTS = "/v1/webhooks/events"
_FIRST_WAIT = 0.1
_LONGEST_WAIT = 5.0
_MAX_ANSWER_BYTES = 64 * 1024 * 1024
_MAX_IDLE = 32

_Answer = Tuple[int, Mapping[str, str], bytes]


class PublishError(Exception):
    """What was not published, or of which nobody knows.

    ``publish_batch(error.events)`` cannot publish it twice within a day: ``events`` have their idempotency keys.
    """

    def __init__(self, message: str, *, events: List[BatchItem], answer: Optional[_Answer] = None) -> None:
        problem = {} if answer is None else _object(answer)
        super().__init__(str(problem.get("detail", message)))
        self.events = events
        #: The code of the daemon's answer, or ``unreachable``.
        self.code: str = str(problem.get("code", "unreachable"))
        #: None if there was no answer.
        self.status: Optional[int] = None if answer is None else answer[0]
        #: What is wrong, field by field.
        self.errors: List[FieldProblem] = cast("List[FieldProblem]", problem.get("errors", []))


class Client:
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
        """``key`` may publish. With ``socket_path``, the daemon's unix socket, none is needed, and ``url`` is not used.

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
            "accept": "application/json",
            "content-type": "application/json",
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
        return cast(Publication, self._persist(_EVENTS, event, {"idempotency-key": key}, [sent]))

    def publish_batch(self, events: Sequence[BatchItem]) -> List[BatchedPublication]:
        """Up to 1,000 events, all or none."""
        sent = [cast(BatchItem, {"idempotency_key": str(uuid.uuid4()), **event}) for event in events]
        answer = self._persist(f"{_EVENTS}/batch", {"events": sent}, {}, sent)
        return cast("List[BatchedPublication]", answer["data"])

    def close(self) -> None:
        idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _persist(self, path: str, body: object, headers: Dict[str, str], events: List[BatchItem]) -> Dict[str, Any]:
        data = json.dumps(body, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode()
        until = time.monotonic() + self._give_up_after
        tries = 0
        while True:
            tries += 1
            answer: Optional[_Answer] = None
            cause: Optional[Exception] = None
            try:
                answer = self._send(self._path + path, data, {**self._headers, **headers})
            except (OSError, http.client.HTTPException) as error:
                cause = error
            if answer is not None and 200 <= answer[0] <= 299:
                published = _object(answer)
                if not published:
                    raise PublishError(f"what answers at {self._place} is not webhookd", events=events, answer=answer)
                return published
            wait = _wait_after(tries, answer)
            if not _may_pass(answer) or time.monotonic() + wait > until:
                what = f"cannot reach webhookd ({cause})" if answer is None else f"the answer was {answer[0]}"
                raise PublishError(what, events=events, answer=answer) from cause
            time.sleep(wait)

    def _send(self, path: str, body: bytes, headers: Mapping[str, str]) -> _Answer:
        try:
            connection = self._idle.pop()
        except IndexError:
            connection = self._connect()
        try:
            connection.request("POST", path, body, dict(headers))
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
        if response.will_close or len(self._idle) >= _MAX_IDLE:
            connection.close()
        else:
            self._idle.append(connection)
        return response.status, {name.lower(): value for name, value in response.getheaders()}, text

    def _connect(self) -> http.client.HTTPConnection:
        if self._socket_path is not None:
            return _UnixConnection(self._socket_path, self._timeout)
        host, port = cast(str, self._parts.hostname), self._parts.port
        if self._parts.scheme == "https":
            return http.client.HTTPSConnection(host, port, timeout=self._timeout, context=self._ssl)
        return http.client.HTTPConnection(host, port, timeout=self._timeout)


class _UnixConnection(http.client.HTTPConnection):
    def __init__(self, path: str, timeout: float) -> None:
        super().__init__("localhost", timeout=timeout)
        self._socket_path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self._socket_path)


def _object(answer: _Answer) -> Dict[str, Any]:
    """Empty if the body is no JSON object."""
    try:
        body = json.loads(answer[2])
    except ValueError:
        return {}
    return body if isinstance(body, dict) else {}


def _may_pass(answer: Optional[_Answer]) -> bool:
    """Whether the same request may succeed later. Nothing was done, or the key says what was."""
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
