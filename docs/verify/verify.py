import hashlib
import hmac


def is_genuine(body: bytes, signature: str | None, secrets: list[str]) -> bool:
    """body: the raw bytes; signature: the header X-Service-Signature; secrets: usually one, two during a rotation."""
    given = (signature or "").lower().encode()
    expected = [hmac.new(secret.encode(), body, hashlib.sha256).hexdigest().encode() for secret in secrets]
    return any([hmac.compare_digest(given, one) for one in expected])
