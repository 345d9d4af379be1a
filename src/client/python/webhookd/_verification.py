"""Tells receivers whether a request came from webhookd and, if not, what is most likely wrong."""
from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import json
import re
import time
from typing import Iterable, List, Literal, Mapping, NamedTuple, Optional, Sequence, Union

Reason = Literal[
    "no_secret",
    "no_signature",
    "other_header",
    "malformed_signature",
    "secret_has_spaces",
    "body_changed",
    "not_fresh",
    "mismatch",
]

_DETAILS = {
    "no_secret": "there is no secret to verify with",
    "no_signature": "the request has no header X-Service-Signature",
    "other_header": "this is the header webhook-signature: pass X-Service-Signature",
    "malformed_signature": "the signature is not 64 hexadecimal digits",
    "secret_has_spaces": "it matches without the white space around the secret",
    "body_changed": "the body was changed on its way to verify: pass the bytes as they arrived, before anything parses them",
    "not_fresh": "webhook-timestamp is missing, or more than five minutes off",
    "mismatch": "the body was changed, or the secret is wrong",
}


class Verdict(NamedTuple):
    """True in a condition if the request is genuine. ``detail`` is for whoever reads your log; do not answer with it."""

    ok: bool
    reason: Optional[Reason] = None
    detail: str = ""

    def __bool__(self) -> bool:
        return self.ok


def verify(body: Union[bytes, str], header: Optional[str], secret: Union[str, Sequence[str]]) -> Verdict:
    """``body`` is the raw body, ``header`` the value of X-Service-Signature.

    During a rotation give both secrets. Compares in constant time.
    """
    secrets = [one for one in ([secret] if isinstance(secret, str) else secret) if one.strip()]
    signature = (header or "").strip()
    raw = body.encode() if isinstance(body, str) else bytes(body)
    if not secrets:
        return _fault("no_secret")
    if not signature:
        return _fault("no_signature")
    if re.match(r"v\d\w?,", signature):
        return _fault("other_header")
    if not re.fullmatch("[0-9a-fA-F]{64}", signature):
        return _fault("malformed_signature")
    if _matches(raw, signature, secrets):
        return Verdict(True)
    trimmed = [one.strip() for one in secrets]
    if _matches(raw, signature, trimmed):
        return _fault("secret_has_spaces")
    changed = any([_matches(form, signature, trimmed) for form in _forms(raw)])
    return _fault("body_changed" if changed else "mismatch")


def verify_standard(
    body: Union[bytes, str], headers: Mapping[str, str], keys: Union[str, Sequence[str]], now: Optional[float] = None
) -> Verdict:
    """Verifies ``webhook-signature`` of Standard Webhooks, and that the request is fresh.

    ``keys`` are signing secrets, which verify ``v1``, and public keys (``whpk_``), which verify ``v1a`` and need the
    package ``cryptography``. One that matches is enough. ``now`` is in seconds since the epoch.
    """
    usable = [one.strip() for one in ([keys] if isinstance(keys, str) else keys)]
    usable = [one for one in usable if one and not one.startswith("whsk_")]
    given = {name.lower(): value.strip() for name, value in headers.items()}
    event, signature = given.get("webhook-id", ""), given.get("webhook-signature", "")
    timestamp = given.get("webhook-timestamp", "")
    if not usable:
        return _fault("no_secret")
    if not event or not signature:
        return Verdict(False, "no_signature", "the request has no webhook-signature and webhook-id")
    at = time.time() if now is None else now
    if not re.fullmatch("[0-9]{1,12}", timestamp) or abs(at - int(timestamp)) > _TOLERANCE_SECONDS:
        return _fault("not_fresh")
    raw = body.encode() if isinstance(body, str) else bytes(body)
    signed = f"{event}.{timestamp}.".encode() + raw
    entries = signature.split(" ")
    genuine = any([_verifies(key, signed, entries) for key in usable])
    return Verdict(True) if genuine else _fault("mismatch")


_TOLERANCE_SECONDS = 300


def _verifies(key: str, signed: bytes, entries: Sequence[str]) -> bool:
    if not key.startswith("whpk_"):
        secret = _decoded(key[6:]) if key.startswith("whsec_") else key.encode()
        # Anyone could sign with what is left of a malformed secret.
        if len(secret) < 16:
            return False
        expected = "v1," + base64.b64encode(hmac.new(secret, signed, hashlib.sha256).digest()).decode()
        return any([hmac.compare_digest(entry.encode(), expected.encode()) for entry in entries])
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    raw = _decoded(key[5:])
    if len(raw) != 32:
        return False
    public = Ed25519PublicKey.from_public_bytes(raw)
    for entry in entries:
        if not entry.startswith("v1a,"):
            continue
        try:
            public.verify(_decoded(entry[4:]), signed)
            return True
        except InvalidSignature:
            pass
    return False


def _decoded(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return b""


def _matches(body: bytes, signature: str, secrets: Iterable[str]) -> bool:
    # A key of Ed25519 may be public: whoever knows it could make the HMAC.
    keys = [one.encode() for one in secrets if not one.strip().startswith(("whpk_", "whsk_"))]
    expected = [hmac.new(key, body, hashlib.sha256).hexdigest() for key in keys]
    return any([hmac.compare_digest(signature.lower(), one) for one in expected])


def _fault(reason: Reason) -> Verdict:
    return Verdict(False, reason, _DETAILS[reason])


def _forms(body: bytes) -> List[bytes]:
    """Returns what a framework may have changed it from: without a newline at its end, with LF, as compact JSON."""
    forms = [body.rstrip(), body.replace(b"\r\n", b"\n")]
    try:
        compact = json.dumps(json.loads(body), separators=(",", ":"), ensure_ascii=False)
        forms.append(compact.encode())
    except ValueError:
        pass  # Not JSON in any form.
    return forms
