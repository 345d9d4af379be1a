"""Whether a request came from webhookd, for receivers; and if not, what is most likely wrong."""
from __future__ import annotations

import hashlib
import hmac
import json
import re
from typing import Iterable, List, Literal, NamedTuple, Optional, Sequence, Union

Reason = Literal[
    "no_secret",
    "no_signature",
    "other_header",
    "malformed_signature",
    "secret_has_spaces",
    "body_changed",
    "mismatch",
]

_DETAILS = {
    "no_secret": "there is no secret to verify with",
    "no_signature": "the request has no header X-Service-Signature",
    "other_header": "this is the header webhook-signature: pass X-Service-Signature",
    "malformed_signature": "the signature is not 64 hexadecimal digits",
    "secret_has_spaces": "it matches without the white space around the secret",
    "body_changed": "the body was changed on its way to verify: pass the bytes as they arrived, before anything parses them",
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


def _matches(body: bytes, signature: str, secrets: Iterable[str]) -> bool:
    # A key of Ed25519 may be public: whoever knows it could make the HMAC.
    keys = [one.encode() for one in secrets if not one.strip().startswith(("whpk_", "whsk_"))]
    expected = [hmac.new(key, body, hashlib.sha256).hexdigest() for key in keys]
    return any([hmac.compare_digest(signature.lower(), one) for one in expected])


def _fault(reason: Reason) -> Verdict:
    return Verdict(False, reason, _DETAILS[reason])


def _forms(body: bytes) -> List[bytes]:
    """What it may have been before a framework had it: without a newline at its end, with LF, as compact JSON."""
    forms = [body.rstrip(), body.replace(b"\r\n", b"\n")]
    try:
        compact = json.dumps(json.loads(body), separators=(",", ":"), ensure_ascii=False)
        forms.append(compact.encode())
    except ValueError:
        pass  # Not JSON in any form.
    return forms
