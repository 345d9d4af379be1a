"""Publishes to webhookd, and verifies what it sends."""
from ._publisher import Client, PublishError
from ._types import BatchedPublication, BatchItem, EventDraft, FieldProblem, Publication
from ._verification import Reason, Verdict, verify, verify_standard
from ._version import __version__

__all__ = [
    "BatchItem",
    "BatchedPublication",
    "Client",
    "EventDraft",
    "FieldProblem",
    "Publication",
    "PublishError",
    "Reason",
    "Verdict",
    "__version__",
    "verify",
    "verify_standard",
]
