"""Publishes to webhookd, calls the rest of its interface, and verifies what it sends."""
from ._client import AsyncClient, Client, ClientError, PublishError
from ._operations import OPERATIONS
from ._types import BatchedPublication, BatchItem, EventDraft, FieldProblem, PortalLink, PortalLinkDraft, Publication
from ._verification import Reason, Verdict, verify, verify_standard
from ._version import __version__

__all__ = [
    "AsyncClient",
    "BatchItem",
    "BatchedPublication",
    "Client",
    "ClientError",
    "EventDraft",
    "FieldProblem",
    "OPERATIONS",
    "PortalLink",
    "PortalLinkDraft",
    "Publication",
    "PublishError",
    "Reason",
    "Verdict",
    "__version__",
    "verify",
    "verify_standard",
]
