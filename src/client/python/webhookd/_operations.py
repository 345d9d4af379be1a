"""Made from the daemon's OpenAPI description. Do not edit: see test/client/python-types.test.ts."""

from __future__ import annotations

from typing import Any, AsyncIterator, Dict, Iterator, List, Literal, Mapping, Optional, Tuple, Union, overload

from . import _types as t

#: The method and path of each operation.
OPERATIONS: Dict[str, Tuple[str, str]] = {
    "publishEvent": ("POST", "/v1/webhooks/events"),
    "publishBatch": ("POST", "/v1/webhooks/events/batch"),
    "listEvents": ("GET", "/v1/webhooks/events"),
    "getEvent": ("GET", "/v1/webhooks/events/{id}"),
    "explainEvent": ("GET", "/v1/webhooks/events/{id}/why"),
    "listEventAttempts": ("GET", "/v1/webhooks/events/{id}/attempts"),
    "replayEvent": ("POST", "/v1/webhooks/events/{id}/retry"),
    "cancelEvent": ("POST", "/v1/webhooks/events/{id}/cancel"),
    "eraseEvent": ("DELETE", "/v1/webhooks/events/{id}/data"),
    "listEventTypes": ("GET", "/v1/webhooks/event-types"),
    "createEventType": ("POST", "/v1/webhooks/event-types"),
    "importEventTypes": ("POST", "/v1/webhooks/event-types/import"),
    "getEventType": ("GET", "/v1/webhooks/event-types/{id}"),
    "putEventType": ("PUT", "/v1/webhooks/event-types/{id}"),
    "deleteEventType": ("DELETE", "/v1/webhooks/event-types/{id}"),
    "registerEndpoint": ("POST", "/v1/webhooks"),
    "listEndpoints": ("GET", "/v1/webhooks"),
    "getEndpoint": ("GET", "/v1/webhooks/{id}"),
    "changeEndpoint": ("PATCH", "/v1/webhooks/{id}"),
    "putEndpoint": ("PUT", "/v1/webhooks/{id}"),
    "deleteEndpoint": ("DELETE", "/v1/webhooks/{id}"),
    "listEndpointAttempts": ("GET", "/v1/webhooks/{id}/attempts"),
    "sendTestEvent": ("POST", "/v1/webhooks/{id}/test"),
    "testFilter": ("POST", "/v1/webhooks/{id}/filter/test"),
    "getSecret": ("GET", "/v1/webhooks/{id}/secret"),
    "rotateSecret": ("POST", "/v1/webhooks/{id}/rotate-secret"),
    "completeRotation": ("POST", "/v1/webhooks/{id}/rotate-secret/complete"),
    "abandonRotation": ("DELETE", "/v1/webhooks/{id}/rotate-secret"),
    "getSigningKeys": ("GET", "/v1/webhooks/keys"),
    "changeSigningKeys": ("PATCH", "/v1/webhooks/keys"),
    "rotateSigningKey": ("POST", "/v1/webhooks/keys/rotate"),
    "completeKeyRotation": ("POST", "/v1/webhooks/keys/rotate/complete"),
    "abandonKeyRotation": ("DELETE", "/v1/webhooks/keys/rotate"),
    "getSigningKeySet": ("GET", "/v1/webhooks/keys/jwks.json"),
    "listDeliveries": ("GET", "/v1/webhooks/deliveries"),
    "getDelivery": ("GET", "/v1/webhooks/deliveries/{id}"),
    "attemptDelivery": ("POST", "/v1/webhooks/deliveries/{id}/attempt"),
    "listDeliveryAttempts": ("GET", "/v1/webhooks/deliveries/{id}/attempts"),
    "getAttempt": ("GET", "/v1/webhooks/attempts/{id}"),
    "createJob": ("POST", "/v1/webhooks/jobs"),
    "listJobs": ("GET", "/v1/webhooks/jobs"),
    "getJob": ("GET", "/v1/webhooks/jobs/{id}"),
    "pauseJob": ("POST", "/v1/webhooks/jobs/{id}/pause"),
    "resumeJob": ("POST", "/v1/webhooks/jobs/{id}/resume"),
    "cancelJob": ("POST", "/v1/webhooks/jobs/{id}/cancel"),
    "listFailures": ("GET", "/v1/webhooks/failures"),
    "getStatistics": ("GET", "/v1/webhooks/stats"),
    "streamChanges": ("GET", "/v1/webhooks/stream"),
    "listKeys": ("GET", "/v1/keys"),
    "createKey": ("POST", "/v1/keys"),
    "getKey": ("GET", "/v1/keys/{id}"),
    "revokeKey": ("DELETE", "/v1/keys/{id}"),
    "createPortalLink": ("POST", "/v1/portal-links"),
    "getPortal": ("GET", "/v1/portal"),
    "listAudit": ("GET", "/v1/audit"),
    "listTenants": ("GET", "/v1/tenants"),
    "getStatus": ("GET", "/v1/status"),
    "getConfiguration": ("GET", "/v1/config"),
    "pauseDaemon": ("POST", "/v1/pause"),
    "resumeDaemon": ("POST", "/v1/resume"),
    "listNodes": ("GET", "/v1/nodes"),
    "drainNode": ("POST", "/v1/nodes/{id}/drain"),
    "resumeNode": ("POST", "/v1/nodes/{id}/resume"),
    "listOutboxes": ("GET", "/v1/outboxes"),
    "listSetAsideRows": ("GET", "/v1/outboxes/{id}/set-aside"),
    "retryOutboxRows": ("POST", "/v1/outboxes/{id}/retry"),
    "dropOutboxRows": ("POST", "/v1/outboxes/{id}/drop"),
    "createBackup": ("POST", "/v1/backups"),
    "rekey": ("POST", "/v1/secret-key/rekey"),
    "getHealth": ("GET", "/healthz"),
    "getReadiness": ("GET", "/readyz"),
    "getMetrics": ("GET", "/metrics"),
    "getDescription": ("GET", "/openapi.json"),
}

Query = Mapping[str, Union[str, int, float, bool, None]]
Body = Union[Mapping[str, Any], str]


class Calls:
    """Every operation of the daemon, by its name in the OpenAPI description."""

    @overload
    def call(self, operation: Literal["publishEvent"], *, id: Optional[str] = ..., query: Optional[Query] = ..., body: Optional[Body] = ..., idempotency_key: Optional[str] = ..., if_match: Optional[str] = ..., if_none_match: Optional[str] = ..., timeout: Optional[float] = ...) -> t.Publication: ...

    @overload
    def call(self, operation: Literal["listEvents"], *, id: Optional[str] = ..., query: Optional[Query] = ..., body: Optional[Body] = ..., idempotency_key: Optional[str] = ..., if_match: Optional[str] = ..., if_none_match: Optional[str] = ..., timeout: Optional[float] = ...) -> Dict[str, Any]: ...

    @overload
    def call(self, operation: Literal["publishBatch"], *, id: Optional[str] = ..., query: Optional[Query] = ..., body: Optional[Body] = ..., idempotency_key: Optional[str] = ..., if_match: Optional[str] = ..., if_none_match: Optional[str] = ..., timeout: Optional[float] = ...) -> Dict[str, Any]: ...

    @overload
    def call(self, operation: Literal["getEvent"], *, id: Optional[str] = ..., query: Optional[Query] = ..., body: Optional[Body] = ..., idempotency_key: Optional[str] = ..., if_match: Optional[str] = ..., if_none_match: Optional[str] = ..., timeout: Optional[float] = ...) -> t.Event: ...

    @overload
    def call(self, operation: Literal["listEventAttempts"], *, id: Optional[str] = ..., query: Optional[Query] = ..., body: Optional[Body] = ..., idempotency_key: Optional[str] = ..., if_match: Optional[str] = ..., if_none_match: Optional[str] = ..., timeout: Optional[float] = ...) -> Dict[str, Any]: ...

    @overload
    def call(self, operation: Literal["replayEvent"], *, id: Optional[str] = ..., query: Optional[Query] = ..., body: Optional[Body] = ..., idempotency_key: Optional[str] = ..., if_match: Optional[str] = ..., if_none_match: Optional[str] = ..., timeout: Optional[float] = ...) -> t.ReplayedEvent: ...

    @overload
    def call(self, operation: Literal["explainEvent"], *, id: Optional[str] = ..., query: Optional[Query] = ..., body: Optional[Body] = ..., idempotency_key: Optional[str] = ..., if_match: Optional[str] = ..., if_none_match: Optional[str] = ..., timeout: Optional[float] = ...) -> t.Explanation: ...

    @overload
    def call(self, operation: Literal["listEventTypes"], *, id: Optional[str] = ..., query: Optional[Query] = ..., body: Optional[Body] = ..., idempotency_key: Optional[str] = ..., if_match: Optional[str] = ..., if_none_match: Optional[str] = ..., timeout: Optional[float] = ...) -> Dict[str, Any]: ...

    @overload
    def call(self, operation: Literal["createEventType"], *, id: Optional[str] = ..., query: Optional[Query] = ..., body: Optional[Body] = ..., idempotency_key: Optional[str] = ..., if_match: Optional[str] = ..., if_none_match: Optional[str] = ..., timeout: Optional[float] = ...) -> t.EventType: ...

    @overload
    def call(self, operation: Literal["getEventType"], *, id: Optional[str] = ..., query: Optional[Query] = ..., body: Optional[Body] = ..., idempotency_key: Optional[str] = ..., if_match: Optional[str] = ..., if_none_match: Optional[str] = ..., timeout: Optional[float] = ...) -> t.EventType: ...

    @overload
    def call(self, operation: Literal["putEventType"], *, id: Optional[str] = ..., query: Optional[Query] = ..., body: Optional[Body] = ..., idempotency_key: Optional[str] = ..., if_match: Optional[str] = ..., if_none_match: Optional[str] = ..., timeout: Optional[float] = ...) -> t.EventType: ...

    @overload
    def call(self, operation: Literal["deleteEventType"], *, id: Optional[str] = ..., query: Optional[Query] = ..., body: Optional[Body] = ..., idempotency_key: Optional[str] = ..., if_match: Optional[str] = ..., if_none_match: Optional[str] = ..., timeout: Optional[float] = ...) -> None: ...

    @overload
    def call(self, operation: Literal["importEventTypes"], *, id: Optional[str] = ..., query: Optional[Query] = ..., body: Optional[Body] = ..., idempotency_key: Optional[str] = ..., if_match: Optional[str] = ..., if_none_match: Optional[str] = ..., timeout: Optional[float] = ...) -> t.EventTypeImported: ...

    @overload
    def call(self, operation: Literal["cancelEvent"], *, id: Optional[str] = ..., query: Optional[Query] = ..., body: Optional[Body] = ..., idempotency_key: Optional[str] = ..., if_match: Optional[str] = ..., if_none_match: Optional[str] = ..., timeout: Optional[float] = ...) -> t.CancelledEvent: ...

    @overload
    def call(self, operation: Literal["eraseEvent"], *, id: Optional[str] = ..., query: Optional[Query] = ..., body: Optional[Body] = ..., idempotency_key: Optional[str] = ..., if_match: Optional[str] = ..., if_none_match: Optional[str] = ..., timeout: Optional[float] = ...) -> None: ...

    @overload
    def call(self, operation: Literal["listDeliveries"], *, id: Optional[str] = ..., query: Optional[Query] = ..., body: Optional[Body] = ..., idempotency_key: Optional[str] = ..., if_match: Optional[str] = ..., if_none_match: Optional[str] = ..., timeout: Optional[float] = ...) -> Dict[str, Any]: ...

    @overload
    def call(self, operation: Literal["getDelivery"], *, id: Optional[str] = ..., query: Optional[Query] = ..., body: Optional[Body] = ..., idempotency_key: Optional[str] = ..., if_match: Optional[str] = ..., if_none_match: Optional[str] = ..., timeout: Optional[float] = ...) -> t.WholeDelivery: ...

    @overload
    def call(self, operation: Literal["attemptDelivery"], *, id: Optional[str] = ..., query: Optional[Query] = ..., body: Optional[Body] = ..., idempotency_key: Optional[str] = ..., if_match: Optional[str] = ..., if_none_match: Optional[str] = ..., timeout: Optional[float] = ...) -> t.WholeDelivery: ...

    @overload
    def call(self, operation: Literal["listDeliveryAttempts"], *, id: Optional[str] = ..., query: Optional[Query] = ..., body: Optional[Body] = ..., idempotency_key: Optional[str] = ..., if_match: Optional[str] = ..., if_none_match: Optional[str] = ..., timeout: Optional[float] = ...) -> Dict[str, Any]: ...

    @overload
    def call(self, operation: Literal["listEndpointAttempts"], *, id: Optional[str] = ..., query: Optional[Query] = ..., body: Optional[Body] = ..., idempotency_key: Optional[str] = ..., if_match: Optional[str] = ..., if_none_match: Optional[str] = ..., timeout: Optional[float] = ...) -> Dict[str, Any]: ...

    @overload
    def call(self, operation: Literal["getAttempt"], *, id: Optional[str] = ..., query: Optional[Query] = ..., body: Optional[Body] = ..., idempotency_key: Optional[str] = ..., if_match: Optional[str] = ..., if_none_match: Optional[str] = ..., timeout: Optional[float] = ...) -> t.Attempt: ...

    @overload
    def call(self, operation: Literal["createJob"], *, id: Optional[str] = ..., query: Optional[Query] = ..., body: Optional[Body] = ..., idempotency_key: Optional[str] = ..., if_match: Optional[str] = ..., if_none_match: Optional[str] = ..., timeout: Optional[float] = ...) -> Union[t.JobPlan, t.Job]: ...

    @overload
    def call(self, operation: Literal["listJobs"], *, id: Optional[str] = ..., query: Optional[Query] = ..., body: Optional[Body] = ..., idempotency_key: Optional[str] = ..., if_match: Optional[str] = ..., if_none_match: Optional[str] = ..., timeout: Optional[float] = ...) -> Dict[str, Any]: ...

    @overload
    def call(self, operation: Literal["getJob"], *, id: Optional[str] = ..., query: Optional[Query] = ..., body: Optional[Body] = ..., idempotency_key: Optional[str] = ..., if_match: Optional[str] = ..., if_none_match: Optional[str] = ..., timeout: Optional[float] = ...) -> t.WholeJob: ...

    @overload
    def call(self, operation: Literal["pauseJob"], *, id: Optional[str] = ..., query: Optional[Query] = ..., body: Optional[Body] = ..., idempotency_key: Optional[str] = ..., if_match: Optional[str] = ..., if_none_match: Optional[str] = ..., timeout: Optional[float] = ...) -> t.Job: ...

    @overload
    def call(self, operation: Literal["resumeJob"], *, id: Optional[str] = ..., query: Optional[Query] = ..., body: Optional[Body] = ..., idempotency_key: Optional[str] = ..., if_match: Optional[str] = ..., if_none_match: Optional[str] = ..., timeout: Optional[float] = ...) -> t.Job: ...

    @overload
    def call(self, operation: Literal["cancelJob"], *, id: Optional[str] = ..., query: Optional[Query] = ..., body: Optional[Body] = ..., idempotency_key: Optional[str] = ..., if_match: Optional[str] = ..., if_none_match: Optional[str] = ..., timeout: Optional[float] = ...) -> t.Job: ...

    @overload
    def call(self, operation: Literal["listFailures"], *, id: Optional[str] = ..., query: Optional[Query] = ..., body: Optional[Body] = ..., idempotency_key: Optional[str] = ..., if_match: Optional[str] = ..., if_none_match: Optional[str] = ..., timeout: Optional[float] = ...) -> t.Failures: ...

    @overload
    def call(self, operation: Literal["getStatistics"], *, id: Optional[str] = ..., query: Optional[Query] = ..., body: Optional[Body] = ..., idempotency_key: Optional[str] = ..., if_match: Optional[str] = ..., if_none_match: Optional[str] = ..., timeout: Optional[float] = ...) -> t.Statistics: ...

    @overload
    def call(self, operation: Literal["registerEndpoint"], *, id: Optional[str] = ..., query: Optional[Query] = ..., body: Optional[Body] = ..., idempotency_key: Optional[str] = ..., if_match: Optional[str] = ..., if_none_match: Optional[str] = ..., timeout: Optional[float] = ...) -> t.RegisteredEndpoint: ...

    @overload
    def call(self, operation: Literal["listEndpoints"], *, id: Optional[str] = ..., query: Optional[Query] = ..., body: Optional[Body] = ..., idempotency_key: Optional[str] = ..., if_match: Optional[str] = ..., if_none_match: Optional[str] = ..., timeout: Optional[float] = ...) -> Dict[str, Any]: ...

    @overload
    def call(self, operation: Literal["getEndpoint"], *, id: Optional[str] = ..., query: Optional[Query] = ..., body: Optional[Body] = ..., idempotency_key: Optional[str] = ..., if_match: Optional[str] = ..., if_none_match: Optional[str] = ..., timeout: Optional[float] = ...) -> t.EndpointWithHealth: ...

    @overload
    def call(self, operation: Literal["changeEndpoint"], *, id: Optional[str] = ..., query: Optional[Query] = ..., body: Optional[Body] = ..., idempotency_key: Optional[str] = ..., if_match: Optional[str] = ..., if_none_match: Optional[str] = ..., timeout: Optional[float] = ...) -> t.Endpoint: ...

    @overload
    def call(self, operation: Literal["deleteEndpoint"], *, id: Optional[str] = ..., query: Optional[Query] = ..., body: Optional[Body] = ..., idempotency_key: Optional[str] = ..., if_match: Optional[str] = ..., if_none_match: Optional[str] = ..., timeout: Optional[float] = ...) -> None: ...

    @overload
    def call(self, operation: Literal["putEndpoint"], *, id: Optional[str] = ..., query: Optional[Query] = ..., body: Optional[Body] = ..., idempotency_key: Optional[str] = ..., if_match: Optional[str] = ..., if_none_match: Optional[str] = ..., timeout: Optional[float] = ...) -> Union[t.Endpoint, t.RegisteredEndpoint, None]: ...

    @overload
    def call(self, operation: Literal["getSecret"], *, id: Optional[str] = ..., query: Optional[Query] = ..., body: Optional[Body] = ..., idempotency_key: Optional[str] = ..., if_match: Optional[str] = ..., if_none_match: Optional[str] = ..., timeout: Optional[float] = ...) -> t.SigningSecrets: ...

    @overload
    def call(self, operation: Literal["rotateSecret"], *, id: Optional[str] = ..., query: Optional[Query] = ..., body: Optional[Body] = ..., idempotency_key: Optional[str] = ..., if_match: Optional[str] = ..., if_none_match: Optional[str] = ..., timeout: Optional[float] = ...) -> t.SigningSecrets: ...

    @overload
    def call(self, operation: Literal["abandonRotation"], *, id: Optional[str] = ..., query: Optional[Query] = ..., body: Optional[Body] = ..., idempotency_key: Optional[str] = ..., if_match: Optional[str] = ..., if_none_match: Optional[str] = ..., timeout: Optional[float] = ...) -> None: ...

    @overload
    def call(self, operation: Literal["completeRotation"], *, id: Optional[str] = ..., query: Optional[Query] = ..., body: Optional[Body] = ..., idempotency_key: Optional[str] = ..., if_match: Optional[str] = ..., if_none_match: Optional[str] = ..., timeout: Optional[float] = ...) -> t.SigningSecrets: ...

    @overload
    def call(self, operation: Literal["getSigningKeys"], *, id: Optional[str] = ..., query: Optional[Query] = ..., body: Optional[Body] = ..., idempotency_key: Optional[str] = ..., if_match: Optional[str] = ..., if_none_match: Optional[str] = ..., timeout: Optional[float] = ...) -> t.SigningKeys: ...

    @overload
    def call(self, operation: Literal["changeSigningKeys"], *, id: Optional[str] = ..., query: Optional[Query] = ..., body: Optional[Body] = ..., idempotency_key: Optional[str] = ..., if_match: Optional[str] = ..., if_none_match: Optional[str] = ..., timeout: Optional[float] = ...) -> t.SigningKeys: ...

    @overload
    def call(self, operation: Literal["rotateSigningKey"], *, id: Optional[str] = ..., query: Optional[Query] = ..., body: Optional[Body] = ..., idempotency_key: Optional[str] = ..., if_match: Optional[str] = ..., if_none_match: Optional[str] = ..., timeout: Optional[float] = ...) -> t.SigningKeys: ...

    @overload
    def call(self, operation: Literal["abandonKeyRotation"], *, id: Optional[str] = ..., query: Optional[Query] = ..., body: Optional[Body] = ..., idempotency_key: Optional[str] = ..., if_match: Optional[str] = ..., if_none_match: Optional[str] = ..., timeout: Optional[float] = ...) -> t.SigningKeys: ...

    @overload
    def call(self, operation: Literal["completeKeyRotation"], *, id: Optional[str] = ..., query: Optional[Query] = ..., body: Optional[Body] = ..., idempotency_key: Optional[str] = ..., if_match: Optional[str] = ..., if_none_match: Optional[str] = ..., timeout: Optional[float] = ...) -> t.SigningKeys: ...

    @overload
    def call(self, operation: Literal["getSigningKeySet"], *, id: Optional[str] = ..., query: Optional[Query] = ..., body: Optional[Body] = ..., idempotency_key: Optional[str] = ..., if_match: Optional[str] = ..., if_none_match: Optional[str] = ..., timeout: Optional[float] = ...) -> t.SigningKeySet: ...

    @overload
    def call(self, operation: Literal["sendTestEvent"], *, id: Optional[str] = ..., query: Optional[Query] = ..., body: Optional[Body] = ..., idempotency_key: Optional[str] = ..., if_match: Optional[str] = ..., if_none_match: Optional[str] = ..., timeout: Optional[float] = ...) -> Union[t.Attempt, t.Publication]: ...

    @overload
    def call(self, operation: Literal["testFilter"], *, id: Optional[str] = ..., query: Optional[Query] = ..., body: Optional[Body] = ..., idempotency_key: Optional[str] = ..., if_match: Optional[str] = ..., if_none_match: Optional[str] = ..., timeout: Optional[float] = ...) -> t.FilterResult: ...

    @overload
    def call(self, operation: Literal["listKeys"], *, id: Optional[str] = ..., query: Optional[Query] = ..., body: Optional[Body] = ..., idempotency_key: Optional[str] = ..., if_match: Optional[str] = ..., if_none_match: Optional[str] = ..., timeout: Optional[float] = ...) -> Dict[str, Any]: ...

    @overload
    def call(self, operation: Literal["createKey"], *, id: Optional[str] = ..., query: Optional[Query] = ..., body: Optional[Body] = ..., idempotency_key: Optional[str] = ..., if_match: Optional[str] = ..., if_none_match: Optional[str] = ..., timeout: Optional[float] = ...) -> t.CreatedKey: ...

    @overload
    def call(self, operation: Literal["getKey"], *, id: Optional[str] = ..., query: Optional[Query] = ..., body: Optional[Body] = ..., idempotency_key: Optional[str] = ..., if_match: Optional[str] = ..., if_none_match: Optional[str] = ..., timeout: Optional[float] = ...) -> t.Key: ...

    @overload
    def call(self, operation: Literal["revokeKey"], *, id: Optional[str] = ..., query: Optional[Query] = ..., body: Optional[Body] = ..., idempotency_key: Optional[str] = ..., if_match: Optional[str] = ..., if_none_match: Optional[str] = ..., timeout: Optional[float] = ...) -> Union[t.LastAdminKey, None]: ...

    @overload
    def call(self, operation: Literal["createPortalLink"], *, id: Optional[str] = ..., query: Optional[Query] = ..., body: Optional[Body] = ..., idempotency_key: Optional[str] = ..., if_match: Optional[str] = ..., if_none_match: Optional[str] = ..., timeout: Optional[float] = ...) -> t.PortalLink: ...

    @overload
    def call(self, operation: Literal["getPortal"], *, id: Optional[str] = ..., query: Optional[Query] = ..., body: Optional[Body] = ..., idempotency_key: Optional[str] = ..., if_match: Optional[str] = ..., if_none_match: Optional[str] = ..., timeout: Optional[float] = ...) -> t.Portal: ...

    @overload
    def call(self, operation: Literal["listAudit"], *, id: Optional[str] = ..., query: Optional[Query] = ..., body: Optional[Body] = ..., idempotency_key: Optional[str] = ..., if_match: Optional[str] = ..., if_none_match: Optional[str] = ..., timeout: Optional[float] = ...) -> Dict[str, Any]: ...

    @overload
    def call(self, operation: Literal["getStatus"], *, id: Optional[str] = ..., query: Optional[Query] = ..., body: Optional[Body] = ..., idempotency_key: Optional[str] = ..., if_match: Optional[str] = ..., if_none_match: Optional[str] = ..., timeout: Optional[float] = ...) -> t.Status: ...

    @overload
    def call(self, operation: Literal["getConfiguration"], *, id: Optional[str] = ..., query: Optional[Query] = ..., body: Optional[Body] = ..., idempotency_key: Optional[str] = ..., if_match: Optional[str] = ..., if_none_match: Optional[str] = ..., timeout: Optional[float] = ...) -> t.Configuration: ...

    @overload
    def call(self, operation: Literal["pauseDaemon"], *, id: Optional[str] = ..., query: Optional[Query] = ..., body: Optional[Body] = ..., idempotency_key: Optional[str] = ..., if_match: Optional[str] = ..., if_none_match: Optional[str] = ..., timeout: Optional[float] = ...) -> t.PauseAnswer: ...

    @overload
    def call(self, operation: Literal["resumeDaemon"], *, id: Optional[str] = ..., query: Optional[Query] = ..., body: Optional[Body] = ..., idempotency_key: Optional[str] = ..., if_match: Optional[str] = ..., if_none_match: Optional[str] = ..., timeout: Optional[float] = ...) -> t.ResumeAnswer: ...

    @overload
    def call(self, operation: Literal["listNodes"], *, id: Optional[str] = ..., query: Optional[Query] = ..., body: Optional[Body] = ..., idempotency_key: Optional[str] = ..., if_match: Optional[str] = ..., if_none_match: Optional[str] = ..., timeout: Optional[float] = ...) -> t.NodeList: ...

    @overload
    def call(self, operation: Literal["drainNode"], *, id: Optional[str] = ..., query: Optional[Query] = ..., body: Optional[Body] = ..., idempotency_key: Optional[str] = ..., if_match: Optional[str] = ..., if_none_match: Optional[str] = ..., timeout: Optional[float] = ...) -> t.Node: ...

    @overload
    def call(self, operation: Literal["resumeNode"], *, id: Optional[str] = ..., query: Optional[Query] = ..., body: Optional[Body] = ..., idempotency_key: Optional[str] = ..., if_match: Optional[str] = ..., if_none_match: Optional[str] = ..., timeout: Optional[float] = ...) -> t.Node: ...

    @overload
    def call(self, operation: Literal["listOutboxes"], *, id: Optional[str] = ..., query: Optional[Query] = ..., body: Optional[Body] = ..., idempotency_key: Optional[str] = ..., if_match: Optional[str] = ..., if_none_match: Optional[str] = ..., timeout: Optional[float] = ...) -> t.OutboxList: ...

    @overload
    def call(self, operation: Literal["listSetAsideRows"], *, id: Optional[str] = ..., query: Optional[Query] = ..., body: Optional[Body] = ..., idempotency_key: Optional[str] = ..., if_match: Optional[str] = ..., if_none_match: Optional[str] = ..., timeout: Optional[float] = ...) -> t.SetAsideRows: ...

    @overload
    def call(self, operation: Literal["retryOutboxRows"], *, id: Optional[str] = ..., query: Optional[Query] = ..., body: Optional[Body] = ..., idempotency_key: Optional[str] = ..., if_match: Optional[str] = ..., if_none_match: Optional[str] = ..., timeout: Optional[float] = ...) -> t.RowsAnswer: ...

    @overload
    def call(self, operation: Literal["dropOutboxRows"], *, id: Optional[str] = ..., query: Optional[Query] = ..., body: Optional[Body] = ..., idempotency_key: Optional[str] = ..., if_match: Optional[str] = ..., if_none_match: Optional[str] = ..., timeout: Optional[float] = ...) -> t.RowsAnswer: ...

    @overload
    def call(self, operation: Literal["createBackup"], *, id: Optional[str] = ..., query: Optional[Query] = ..., body: Optional[Body] = ..., idempotency_key: Optional[str] = ..., if_match: Optional[str] = ..., if_none_match: Optional[str] = ..., timeout: Optional[float] = ...) -> t.Backup: ...

    @overload
    def call(self, operation: Literal["rekey"], *, id: Optional[str] = ..., query: Optional[Query] = ..., body: Optional[Body] = ..., idempotency_key: Optional[str] = ..., if_match: Optional[str] = ..., if_none_match: Optional[str] = ..., timeout: Optional[float] = ...) -> t.Rekeyed: ...

    @overload
    def call(self, operation: Literal["listTenants"], *, id: Optional[str] = ..., query: Optional[Query] = ..., body: Optional[Body] = ..., idempotency_key: Optional[str] = ..., if_match: Optional[str] = ..., if_none_match: Optional[str] = ..., timeout: Optional[float] = ...) -> Dict[str, Any]: ...

    @overload
    def call(self, operation: str, *, id: Optional[str] = ..., query: Optional[Query] = ..., body: Optional[Body] = ..., idempotency_key: Optional[str] = ..., if_match: Optional[str] = ..., if_none_match: Optional[str] = ..., timeout: Optional[float] = ...) -> Any: ...

    def call(self, operation: str, **asked: Any) -> Any:
        """Returns the answer, and None if it has no body. Raises ClientError."""
        raise NotImplementedError

    @overload
    def call_with_etag(self, operation: Literal["registerEndpoint"], *, id: Optional[str] = ..., query: Optional[Query] = ..., body: Optional[Body] = ..., idempotency_key: Optional[str] = ..., if_match: Optional[str] = ..., if_none_match: Optional[str] = ..., timeout: Optional[float] = ...) -> Tuple[t.RegisteredEndpoint, Optional[str]]: ...

    @overload
    def call_with_etag(self, operation: Literal["getEndpoint"], *, id: Optional[str] = ..., query: Optional[Query] = ..., body: Optional[Body] = ..., idempotency_key: Optional[str] = ..., if_match: Optional[str] = ..., if_none_match: Optional[str] = ..., timeout: Optional[float] = ...) -> Tuple[t.EndpointWithHealth, Optional[str]]: ...

    @overload
    def call_with_etag(self, operation: Literal["changeEndpoint"], *, id: Optional[str] = ..., query: Optional[Query] = ..., body: Optional[Body] = ..., idempotency_key: Optional[str] = ..., if_match: Optional[str] = ..., if_none_match: Optional[str] = ..., timeout: Optional[float] = ...) -> Tuple[t.Endpoint, Optional[str]]: ...

    @overload
    def call_with_etag(self, operation: Literal["putEndpoint"], *, id: Optional[str] = ..., query: Optional[Query] = ..., body: Optional[Body] = ..., idempotency_key: Optional[str] = ..., if_match: Optional[str] = ..., if_none_match: Optional[str] = ..., timeout: Optional[float] = ...) -> Tuple[Union[t.Endpoint, t.RegisteredEndpoint, None], Optional[str]]: ...

    @overload
    def call_with_etag(self, operation: str, *, id: Optional[str] = ..., query: Optional[Query] = ..., body: Optional[Body] = ..., idempotency_key: Optional[str] = ..., if_match: Optional[str] = ..., if_none_match: Optional[str] = ..., timeout: Optional[float] = ...) -> Tuple[Any, Optional[str]]: ...

    def call_with_etag(self, operation: str, **asked: Any) -> Any:
        """Returns the answer, and its ETag or None. Raises ClientError."""
        raise NotImplementedError

    @overload
    def every(self, operation: Literal["listEvents"], *, id: Optional[str] = ..., query: Optional[Query] = ..., body: Optional[Body] = ..., idempotency_key: Optional[str] = ..., if_match: Optional[str] = ..., if_none_match: Optional[str] = ..., timeout: Optional[float] = ...) -> Iterator[t.EventSummary]: ...

    @overload
    def every(self, operation: Literal["listEventAttempts"], *, id: Optional[str] = ..., query: Optional[Query] = ..., body: Optional[Body] = ..., idempotency_key: Optional[str] = ..., if_match: Optional[str] = ..., if_none_match: Optional[str] = ..., timeout: Optional[float] = ...) -> Iterator[t.Attempt]: ...

    @overload
    def every(self, operation: Literal["listEventTypes"], *, id: Optional[str] = ..., query: Optional[Query] = ..., body: Optional[Body] = ..., idempotency_key: Optional[str] = ..., if_match: Optional[str] = ..., if_none_match: Optional[str] = ..., timeout: Optional[float] = ...) -> Iterator[t.EventType]: ...

    @overload
    def every(self, operation: Literal["listDeliveries"], *, id: Optional[str] = ..., query: Optional[Query] = ..., body: Optional[Body] = ..., idempotency_key: Optional[str] = ..., if_match: Optional[str] = ..., if_none_match: Optional[str] = ..., timeout: Optional[float] = ...) -> Iterator[t.WholeDelivery]: ...

    @overload
    def every(self, operation: Literal["listDeliveryAttempts"], *, id: Optional[str] = ..., query: Optional[Query] = ..., body: Optional[Body] = ..., idempotency_key: Optional[str] = ..., if_match: Optional[str] = ..., if_none_match: Optional[str] = ..., timeout: Optional[float] = ...) -> Iterator[t.Attempt]: ...

    @overload
    def every(self, operation: Literal["listEndpointAttempts"], *, id: Optional[str] = ..., query: Optional[Query] = ..., body: Optional[Body] = ..., idempotency_key: Optional[str] = ..., if_match: Optional[str] = ..., if_none_match: Optional[str] = ..., timeout: Optional[float] = ...) -> Iterator[t.Attempt]: ...

    @overload
    def every(self, operation: Literal["listJobs"], *, id: Optional[str] = ..., query: Optional[Query] = ..., body: Optional[Body] = ..., idempotency_key: Optional[str] = ..., if_match: Optional[str] = ..., if_none_match: Optional[str] = ..., timeout: Optional[float] = ...) -> Iterator[t.Job]: ...

    @overload
    def every(self, operation: Literal["listEndpoints"], *, id: Optional[str] = ..., query: Optional[Query] = ..., body: Optional[Body] = ..., idempotency_key: Optional[str] = ..., if_match: Optional[str] = ..., if_none_match: Optional[str] = ..., timeout: Optional[float] = ...) -> Iterator[t.ListedEndpoint]: ...

    @overload
    def every(self, operation: Literal["listKeys"], *, id: Optional[str] = ..., query: Optional[Query] = ..., body: Optional[Body] = ..., idempotency_key: Optional[str] = ..., if_match: Optional[str] = ..., if_none_match: Optional[str] = ..., timeout: Optional[float] = ...) -> Iterator[t.Key]: ...

    @overload
    def every(self, operation: Literal["listAudit"], *, id: Optional[str] = ..., query: Optional[Query] = ..., body: Optional[Body] = ..., idempotency_key: Optional[str] = ..., if_match: Optional[str] = ..., if_none_match: Optional[str] = ..., timeout: Optional[float] = ...) -> Iterator[t.AuditRecord]: ...

    @overload
    def every(self, operation: Literal["listTenants"], *, id: Optional[str] = ..., query: Optional[Query] = ..., body: Optional[Body] = ..., idempotency_key: Optional[str] = ..., if_match: Optional[str] = ..., if_none_match: Optional[str] = ..., timeout: Optional[float] = ...) -> Iterator[t.TenantSummary]: ...

    def every(self, operation: str, **asked: Any) -> Iterator[Any]:
        """Yields the items of a list, page after page, to its end."""
        raise NotImplementedError


class AsyncCalls:
    """The same, to be awaited."""

    @overload
    async def call(self, operation: Literal["publishEvent"], *, id: Optional[str] = ..., query: Optional[Query] = ..., body: Optional[Body] = ..., idempotency_key: Optional[str] = ..., if_match: Optional[str] = ..., if_none_match: Optional[str] = ..., timeout: Optional[float] = ...) -> t.Publication: ...

    @overload
    async def call(self, operation: Literal["listEvents"], *, id: Optional[str] = ..., query: Optional[Query] = ..., body: Optional[Body] = ..., idempotency_key: Optional[str] = ..., if_match: Optional[str] = ..., if_none_match: Optional[str] = ..., timeout: Optional[float] = ...) -> Dict[str, Any]: ...

    @overload
    async def call(self, operation: Literal["publishBatch"], *, id: Optional[str] = ..., query: Optional[Query] = ..., body: Optional[Body] = ..., idempotency_key: Optional[str] = ..., if_match: Optional[str] = ..., if_none_match: Optional[str] = ..., timeout: Optional[float] = ...) -> Dict[str, Any]: ...

    @overload
    async def call(self, operation: Literal["getEvent"], *, id: Optional[str] = ..., query: Optional[Query] = ..., body: Optional[Body] = ..., idempotency_key: Optional[str] = ..., if_match: Optional[str] = ..., if_none_match: Optional[str] = ..., timeout: Optional[float] = ...) -> t.Event: ...

    @overload
    async def call(self, operation: Literal["listEventAttempts"], *, id: Optional[str] = ..., query: Optional[Query] = ..., body: Optional[Body] = ..., idempotency_key: Optional[str] = ..., if_match: Optional[str] = ..., if_none_match: Optional[str] = ..., timeout: Optional[float] = ...) -> Dict[str, Any]: ...

    @overload
    async def call(self, operation: Literal["replayEvent"], *, id: Optional[str] = ..., query: Optional[Query] = ..., body: Optional[Body] = ..., idempotency_key: Optional[str] = ..., if_match: Optional[str] = ..., if_none_match: Optional[str] = ..., timeout: Optional[float] = ...) -> t.ReplayedEvent: ...

    @overload
    async def call(self, operation: Literal["explainEvent"], *, id: Optional[str] = ..., query: Optional[Query] = ..., body: Optional[Body] = ..., idempotency_key: Optional[str] = ..., if_match: Optional[str] = ..., if_none_match: Optional[str] = ..., timeout: Optional[float] = ...) -> t.Explanation: ...

    @overload
    async def call(self, operation: Literal["listEventTypes"], *, id: Optional[str] = ..., query: Optional[Query] = ..., body: Optional[Body] = ..., idempotency_key: Optional[str] = ..., if_match: Optional[str] = ..., if_none_match: Optional[str] = ..., timeout: Optional[float] = ...) -> Dict[str, Any]: ...

    @overload
    async def call(self, operation: Literal["createEventType"], *, id: Optional[str] = ..., query: Optional[Query] = ..., body: Optional[Body] = ..., idempotency_key: Optional[str] = ..., if_match: Optional[str] = ..., if_none_match: Optional[str] = ..., timeout: Optional[float] = ...) -> t.EventType: ...

    @overload
    async def call(self, operation: Literal["getEventType"], *, id: Optional[str] = ..., query: Optional[Query] = ..., body: Optional[Body] = ..., idempotency_key: Optional[str] = ..., if_match: Optional[str] = ..., if_none_match: Optional[str] = ..., timeout: Optional[float] = ...) -> t.EventType: ...

    @overload
    async def call(self, operation: Literal["putEventType"], *, id: Optional[str] = ..., query: Optional[Query] = ..., body: Optional[Body] = ..., idempotency_key: Optional[str] = ..., if_match: Optional[str] = ..., if_none_match: Optional[str] = ..., timeout: Optional[float] = ...) -> t.EventType: ...

    @overload
    async def call(self, operation: Literal["deleteEventType"], *, id: Optional[str] = ..., query: Optional[Query] = ..., body: Optional[Body] = ..., idempotency_key: Optional[str] = ..., if_match: Optional[str] = ..., if_none_match: Optional[str] = ..., timeout: Optional[float] = ...) -> None: ...

    @overload
    async def call(self, operation: Literal["importEventTypes"], *, id: Optional[str] = ..., query: Optional[Query] = ..., body: Optional[Body] = ..., idempotency_key: Optional[str] = ..., if_match: Optional[str] = ..., if_none_match: Optional[str] = ..., timeout: Optional[float] = ...) -> t.EventTypeImported: ...

    @overload
    async def call(self, operation: Literal["cancelEvent"], *, id: Optional[str] = ..., query: Optional[Query] = ..., body: Optional[Body] = ..., idempotency_key: Optional[str] = ..., if_match: Optional[str] = ..., if_none_match: Optional[str] = ..., timeout: Optional[float] = ...) -> t.CancelledEvent: ...

    @overload
    async def call(self, operation: Literal["eraseEvent"], *, id: Optional[str] = ..., query: Optional[Query] = ..., body: Optional[Body] = ..., idempotency_key: Optional[str] = ..., if_match: Optional[str] = ..., if_none_match: Optional[str] = ..., timeout: Optional[float] = ...) -> None: ...

    @overload
    async def call(self, operation: Literal["listDeliveries"], *, id: Optional[str] = ..., query: Optional[Query] = ..., body: Optional[Body] = ..., idempotency_key: Optional[str] = ..., if_match: Optional[str] = ..., if_none_match: Optional[str] = ..., timeout: Optional[float] = ...) -> Dict[str, Any]: ...

    @overload
    async def call(self, operation: Literal["getDelivery"], *, id: Optional[str] = ..., query: Optional[Query] = ..., body: Optional[Body] = ..., idempotency_key: Optional[str] = ..., if_match: Optional[str] = ..., if_none_match: Optional[str] = ..., timeout: Optional[float] = ...) -> t.WholeDelivery: ...

    @overload
    async def call(self, operation: Literal["attemptDelivery"], *, id: Optional[str] = ..., query: Optional[Query] = ..., body: Optional[Body] = ..., idempotency_key: Optional[str] = ..., if_match: Optional[str] = ..., if_none_match: Optional[str] = ..., timeout: Optional[float] = ...) -> t.WholeDelivery: ...

    @overload
    async def call(self, operation: Literal["listDeliveryAttempts"], *, id: Optional[str] = ..., query: Optional[Query] = ..., body: Optional[Body] = ..., idempotency_key: Optional[str] = ..., if_match: Optional[str] = ..., if_none_match: Optional[str] = ..., timeout: Optional[float] = ...) -> Dict[str, Any]: ...

    @overload
    async def call(self, operation: Literal["listEndpointAttempts"], *, id: Optional[str] = ..., query: Optional[Query] = ..., body: Optional[Body] = ..., idempotency_key: Optional[str] = ..., if_match: Optional[str] = ..., if_none_match: Optional[str] = ..., timeout: Optional[float] = ...) -> Dict[str, Any]: ...

    @overload
    async def call(self, operation: Literal["getAttempt"], *, id: Optional[str] = ..., query: Optional[Query] = ..., body: Optional[Body] = ..., idempotency_key: Optional[str] = ..., if_match: Optional[str] = ..., if_none_match: Optional[str] = ..., timeout: Optional[float] = ...) -> t.Attempt: ...

    @overload
    async def call(self, operation: Literal["createJob"], *, id: Optional[str] = ..., query: Optional[Query] = ..., body: Optional[Body] = ..., idempotency_key: Optional[str] = ..., if_match: Optional[str] = ..., if_none_match: Optional[str] = ..., timeout: Optional[float] = ...) -> Union[t.JobPlan, t.Job]: ...

    @overload
    async def call(self, operation: Literal["listJobs"], *, id: Optional[str] = ..., query: Optional[Query] = ..., body: Optional[Body] = ..., idempotency_key: Optional[str] = ..., if_match: Optional[str] = ..., if_none_match: Optional[str] = ..., timeout: Optional[float] = ...) -> Dict[str, Any]: ...

    @overload
    async def call(self, operation: Literal["getJob"], *, id: Optional[str] = ..., query: Optional[Query] = ..., body: Optional[Body] = ..., idempotency_key: Optional[str] = ..., if_match: Optional[str] = ..., if_none_match: Optional[str] = ..., timeout: Optional[float] = ...) -> t.WholeJob: ...

    @overload
    async def call(self, operation: Literal["pauseJob"], *, id: Optional[str] = ..., query: Optional[Query] = ..., body: Optional[Body] = ..., idempotency_key: Optional[str] = ..., if_match: Optional[str] = ..., if_none_match: Optional[str] = ..., timeout: Optional[float] = ...) -> t.Job: ...

    @overload
    async def call(self, operation: Literal["resumeJob"], *, id: Optional[str] = ..., query: Optional[Query] = ..., body: Optional[Body] = ..., idempotency_key: Optional[str] = ..., if_match: Optional[str] = ..., if_none_match: Optional[str] = ..., timeout: Optional[float] = ...) -> t.Job: ...

    @overload
    async def call(self, operation: Literal["cancelJob"], *, id: Optional[str] = ..., query: Optional[Query] = ..., body: Optional[Body] = ..., idempotency_key: Optional[str] = ..., if_match: Optional[str] = ..., if_none_match: Optional[str] = ..., timeout: Optional[float] = ...) -> t.Job: ...

    @overload
    async def call(self, operation: Literal["listFailures"], *, id: Optional[str] = ..., query: Optional[Query] = ..., body: Optional[Body] = ..., idempotency_key: Optional[str] = ..., if_match: Optional[str] = ..., if_none_match: Optional[str] = ..., timeout: Optional[float] = ...) -> t.Failures: ...

    @overload
    async def call(self, operation: Literal["getStatistics"], *, id: Optional[str] = ..., query: Optional[Query] = ..., body: Optional[Body] = ..., idempotency_key: Optional[str] = ..., if_match: Optional[str] = ..., if_none_match: Optional[str] = ..., timeout: Optional[float] = ...) -> t.Statistics: ...

    @overload
    async def call(self, operation: Literal["registerEndpoint"], *, id: Optional[str] = ..., query: Optional[Query] = ..., body: Optional[Body] = ..., idempotency_key: Optional[str] = ..., if_match: Optional[str] = ..., if_none_match: Optional[str] = ..., timeout: Optional[float] = ...) -> t.RegisteredEndpoint: ...

    @overload
    async def call(self, operation: Literal["listEndpoints"], *, id: Optional[str] = ..., query: Optional[Query] = ..., body: Optional[Body] = ..., idempotency_key: Optional[str] = ..., if_match: Optional[str] = ..., if_none_match: Optional[str] = ..., timeout: Optional[float] = ...) -> Dict[str, Any]: ...

    @overload
    async def call(self, operation: Literal["getEndpoint"], *, id: Optional[str] = ..., query: Optional[Query] = ..., body: Optional[Body] = ..., idempotency_key: Optional[str] = ..., if_match: Optional[str] = ..., if_none_match: Optional[str] = ..., timeout: Optional[float] = ...) -> t.EndpointWithHealth: ...

    @overload
    async def call(self, operation: Literal["changeEndpoint"], *, id: Optional[str] = ..., query: Optional[Query] = ..., body: Optional[Body] = ..., idempotency_key: Optional[str] = ..., if_match: Optional[str] = ..., if_none_match: Optional[str] = ..., timeout: Optional[float] = ...) -> t.Endpoint: ...

    @overload
    async def call(self, operation: Literal["deleteEndpoint"], *, id: Optional[str] = ..., query: Optional[Query] = ..., body: Optional[Body] = ..., idempotency_key: Optional[str] = ..., if_match: Optional[str] = ..., if_none_match: Optional[str] = ..., timeout: Optional[float] = ...) -> None: ...

    @overload
    async def call(self, operation: Literal["putEndpoint"], *, id: Optional[str] = ..., query: Optional[Query] = ..., body: Optional[Body] = ..., idempotency_key: Optional[str] = ..., if_match: Optional[str] = ..., if_none_match: Optional[str] = ..., timeout: Optional[float] = ...) -> Union[t.Endpoint, t.RegisteredEndpoint, None]: ...

    @overload
    async def call(self, operation: Literal["getSecret"], *, id: Optional[str] = ..., query: Optional[Query] = ..., body: Optional[Body] = ..., idempotency_key: Optional[str] = ..., if_match: Optional[str] = ..., if_none_match: Optional[str] = ..., timeout: Optional[float] = ...) -> t.SigningSecrets: ...

    @overload
    async def call(self, operation: Literal["rotateSecret"], *, id: Optional[str] = ..., query: Optional[Query] = ..., body: Optional[Body] = ..., idempotency_key: Optional[str] = ..., if_match: Optional[str] = ..., if_none_match: Optional[str] = ..., timeout: Optional[float] = ...) -> t.SigningSecrets: ...

    @overload
    async def call(self, operation: Literal["abandonRotation"], *, id: Optional[str] = ..., query: Optional[Query] = ..., body: Optional[Body] = ..., idempotency_key: Optional[str] = ..., if_match: Optional[str] = ..., if_none_match: Optional[str] = ..., timeout: Optional[float] = ...) -> None: ...

    @overload
    async def call(self, operation: Literal["completeRotation"], *, id: Optional[str] = ..., query: Optional[Query] = ..., body: Optional[Body] = ..., idempotency_key: Optional[str] = ..., if_match: Optional[str] = ..., if_none_match: Optional[str] = ..., timeout: Optional[float] = ...) -> t.SigningSecrets: ...

    @overload
    async def call(self, operation: Literal["getSigningKeys"], *, id: Optional[str] = ..., query: Optional[Query] = ..., body: Optional[Body] = ..., idempotency_key: Optional[str] = ..., if_match: Optional[str] = ..., if_none_match: Optional[str] = ..., timeout: Optional[float] = ...) -> t.SigningKeys: ...

    @overload
    async def call(self, operation: Literal["changeSigningKeys"], *, id: Optional[str] = ..., query: Optional[Query] = ..., body: Optional[Body] = ..., idempotency_key: Optional[str] = ..., if_match: Optional[str] = ..., if_none_match: Optional[str] = ..., timeout: Optional[float] = ...) -> t.SigningKeys: ...

    @overload
    async def call(self, operation: Literal["rotateSigningKey"], *, id: Optional[str] = ..., query: Optional[Query] = ..., body: Optional[Body] = ..., idempotency_key: Optional[str] = ..., if_match: Optional[str] = ..., if_none_match: Optional[str] = ..., timeout: Optional[float] = ...) -> t.SigningKeys: ...

    @overload
    async def call(self, operation: Literal["abandonKeyRotation"], *, id: Optional[str] = ..., query: Optional[Query] = ..., body: Optional[Body] = ..., idempotency_key: Optional[str] = ..., if_match: Optional[str] = ..., if_none_match: Optional[str] = ..., timeout: Optional[float] = ...) -> t.SigningKeys: ...

    @overload
    async def call(self, operation: Literal["completeKeyRotation"], *, id: Optional[str] = ..., query: Optional[Query] = ..., body: Optional[Body] = ..., idempotency_key: Optional[str] = ..., if_match: Optional[str] = ..., if_none_match: Optional[str] = ..., timeout: Optional[float] = ...) -> t.SigningKeys: ...

    @overload
    async def call(self, operation: Literal["getSigningKeySet"], *, id: Optional[str] = ..., query: Optional[Query] = ..., body: Optional[Body] = ..., idempotency_key: Optional[str] = ..., if_match: Optional[str] = ..., if_none_match: Optional[str] = ..., timeout: Optional[float] = ...) -> t.SigningKeySet: ...

    @overload
    async def call(self, operation: Literal["sendTestEvent"], *, id: Optional[str] = ..., query: Optional[Query] = ..., body: Optional[Body] = ..., idempotency_key: Optional[str] = ..., if_match: Optional[str] = ..., if_none_match: Optional[str] = ..., timeout: Optional[float] = ...) -> Union[t.Attempt, t.Publication]: ...

    @overload
    async def call(self, operation: Literal["testFilter"], *, id: Optional[str] = ..., query: Optional[Query] = ..., body: Optional[Body] = ..., idempotency_key: Optional[str] = ..., if_match: Optional[str] = ..., if_none_match: Optional[str] = ..., timeout: Optional[float] = ...) -> t.FilterResult: ...

    @overload
    async def call(self, operation: Literal["listKeys"], *, id: Optional[str] = ..., query: Optional[Query] = ..., body: Optional[Body] = ..., idempotency_key: Optional[str] = ..., if_match: Optional[str] = ..., if_none_match: Optional[str] = ..., timeout: Optional[float] = ...) -> Dict[str, Any]: ...

    @overload
    async def call(self, operation: Literal["createKey"], *, id: Optional[str] = ..., query: Optional[Query] = ..., body: Optional[Body] = ..., idempotency_key: Optional[str] = ..., if_match: Optional[str] = ..., if_none_match: Optional[str] = ..., timeout: Optional[float] = ...) -> t.CreatedKey: ...

    @overload
    async def call(self, operation: Literal["getKey"], *, id: Optional[str] = ..., query: Optional[Query] = ..., body: Optional[Body] = ..., idempotency_key: Optional[str] = ..., if_match: Optional[str] = ..., if_none_match: Optional[str] = ..., timeout: Optional[float] = ...) -> t.Key: ...

    @overload
    async def call(self, operation: Literal["revokeKey"], *, id: Optional[str] = ..., query: Optional[Query] = ..., body: Optional[Body] = ..., idempotency_key: Optional[str] = ..., if_match: Optional[str] = ..., if_none_match: Optional[str] = ..., timeout: Optional[float] = ...) -> Union[t.LastAdminKey, None]: ...

    @overload
    async def call(self, operation: Literal["createPortalLink"], *, id: Optional[str] = ..., query: Optional[Query] = ..., body: Optional[Body] = ..., idempotency_key: Optional[str] = ..., if_match: Optional[str] = ..., if_none_match: Optional[str] = ..., timeout: Optional[float] = ...) -> t.PortalLink: ...

    @overload
    async def call(self, operation: Literal["getPortal"], *, id: Optional[str] = ..., query: Optional[Query] = ..., body: Optional[Body] = ..., idempotency_key: Optional[str] = ..., if_match: Optional[str] = ..., if_none_match: Optional[str] = ..., timeout: Optional[float] = ...) -> t.Portal: ...

    @overload
    async def call(self, operation: Literal["listAudit"], *, id: Optional[str] = ..., query: Optional[Query] = ..., body: Optional[Body] = ..., idempotency_key: Optional[str] = ..., if_match: Optional[str] = ..., if_none_match: Optional[str] = ..., timeout: Optional[float] = ...) -> Dict[str, Any]: ...

    @overload
    async def call(self, operation: Literal["getStatus"], *, id: Optional[str] = ..., query: Optional[Query] = ..., body: Optional[Body] = ..., idempotency_key: Optional[str] = ..., if_match: Optional[str] = ..., if_none_match: Optional[str] = ..., timeout: Optional[float] = ...) -> t.Status: ...

    @overload
    async def call(self, operation: Literal["getConfiguration"], *, id: Optional[str] = ..., query: Optional[Query] = ..., body: Optional[Body] = ..., idempotency_key: Optional[str] = ..., if_match: Optional[str] = ..., if_none_match: Optional[str] = ..., timeout: Optional[float] = ...) -> t.Configuration: ...

    @overload
    async def call(self, operation: Literal["pauseDaemon"], *, id: Optional[str] = ..., query: Optional[Query] = ..., body: Optional[Body] = ..., idempotency_key: Optional[str] = ..., if_match: Optional[str] = ..., if_none_match: Optional[str] = ..., timeout: Optional[float] = ...) -> t.PauseAnswer: ...

    @overload
    async def call(self, operation: Literal["resumeDaemon"], *, id: Optional[str] = ..., query: Optional[Query] = ..., body: Optional[Body] = ..., idempotency_key: Optional[str] = ..., if_match: Optional[str] = ..., if_none_match: Optional[str] = ..., timeout: Optional[float] = ...) -> t.ResumeAnswer: ...

    @overload
    async def call(self, operation: Literal["listNodes"], *, id: Optional[str] = ..., query: Optional[Query] = ..., body: Optional[Body] = ..., idempotency_key: Optional[str] = ..., if_match: Optional[str] = ..., if_none_match: Optional[str] = ..., timeout: Optional[float] = ...) -> t.NodeList: ...

    @overload
    async def call(self, operation: Literal["drainNode"], *, id: Optional[str] = ..., query: Optional[Query] = ..., body: Optional[Body] = ..., idempotency_key: Optional[str] = ..., if_match: Optional[str] = ..., if_none_match: Optional[str] = ..., timeout: Optional[float] = ...) -> t.Node: ...

    @overload
    async def call(self, operation: Literal["resumeNode"], *, id: Optional[str] = ..., query: Optional[Query] = ..., body: Optional[Body] = ..., idempotency_key: Optional[str] = ..., if_match: Optional[str] = ..., if_none_match: Optional[str] = ..., timeout: Optional[float] = ...) -> t.Node: ...

    @overload
    async def call(self, operation: Literal["listOutboxes"], *, id: Optional[str] = ..., query: Optional[Query] = ..., body: Optional[Body] = ..., idempotency_key: Optional[str] = ..., if_match: Optional[str] = ..., if_none_match: Optional[str] = ..., timeout: Optional[float] = ...) -> t.OutboxList: ...

    @overload
    async def call(self, operation: Literal["listSetAsideRows"], *, id: Optional[str] = ..., query: Optional[Query] = ..., body: Optional[Body] = ..., idempotency_key: Optional[str] = ..., if_match: Optional[str] = ..., if_none_match: Optional[str] = ..., timeout: Optional[float] = ...) -> t.SetAsideRows: ...

    @overload
    async def call(self, operation: Literal["retryOutboxRows"], *, id: Optional[str] = ..., query: Optional[Query] = ..., body: Optional[Body] = ..., idempotency_key: Optional[str] = ..., if_match: Optional[str] = ..., if_none_match: Optional[str] = ..., timeout: Optional[float] = ...) -> t.RowsAnswer: ...

    @overload
    async def call(self, operation: Literal["dropOutboxRows"], *, id: Optional[str] = ..., query: Optional[Query] = ..., body: Optional[Body] = ..., idempotency_key: Optional[str] = ..., if_match: Optional[str] = ..., if_none_match: Optional[str] = ..., timeout: Optional[float] = ...) -> t.RowsAnswer: ...

    @overload
    async def call(self, operation: Literal["createBackup"], *, id: Optional[str] = ..., query: Optional[Query] = ..., body: Optional[Body] = ..., idempotency_key: Optional[str] = ..., if_match: Optional[str] = ..., if_none_match: Optional[str] = ..., timeout: Optional[float] = ...) -> t.Backup: ...

    @overload
    async def call(self, operation: Literal["rekey"], *, id: Optional[str] = ..., query: Optional[Query] = ..., body: Optional[Body] = ..., idempotency_key: Optional[str] = ..., if_match: Optional[str] = ..., if_none_match: Optional[str] = ..., timeout: Optional[float] = ...) -> t.Rekeyed: ...

    @overload
    async def call(self, operation: Literal["listTenants"], *, id: Optional[str] = ..., query: Optional[Query] = ..., body: Optional[Body] = ..., idempotency_key: Optional[str] = ..., if_match: Optional[str] = ..., if_none_match: Optional[str] = ..., timeout: Optional[float] = ...) -> Dict[str, Any]: ...

    @overload
    async def call(self, operation: str, *, id: Optional[str] = ..., query: Optional[Query] = ..., body: Optional[Body] = ..., idempotency_key: Optional[str] = ..., if_match: Optional[str] = ..., if_none_match: Optional[str] = ..., timeout: Optional[float] = ...) -> Any: ...

    async def call(self, operation: str, **asked: Any) -> Any:
        """Returns the answer, and None if it has no body. Raises ClientError."""
        raise NotImplementedError

    @overload
    async def call_with_etag(self, operation: Literal["registerEndpoint"], *, id: Optional[str] = ..., query: Optional[Query] = ..., body: Optional[Body] = ..., idempotency_key: Optional[str] = ..., if_match: Optional[str] = ..., if_none_match: Optional[str] = ..., timeout: Optional[float] = ...) -> Tuple[t.RegisteredEndpoint, Optional[str]]: ...

    @overload
    async def call_with_etag(self, operation: Literal["getEndpoint"], *, id: Optional[str] = ..., query: Optional[Query] = ..., body: Optional[Body] = ..., idempotency_key: Optional[str] = ..., if_match: Optional[str] = ..., if_none_match: Optional[str] = ..., timeout: Optional[float] = ...) -> Tuple[t.EndpointWithHealth, Optional[str]]: ...

    @overload
    async def call_with_etag(self, operation: Literal["changeEndpoint"], *, id: Optional[str] = ..., query: Optional[Query] = ..., body: Optional[Body] = ..., idempotency_key: Optional[str] = ..., if_match: Optional[str] = ..., if_none_match: Optional[str] = ..., timeout: Optional[float] = ...) -> Tuple[t.Endpoint, Optional[str]]: ...

    @overload
    async def call_with_etag(self, operation: Literal["putEndpoint"], *, id: Optional[str] = ..., query: Optional[Query] = ..., body: Optional[Body] = ..., idempotency_key: Optional[str] = ..., if_match: Optional[str] = ..., if_none_match: Optional[str] = ..., timeout: Optional[float] = ...) -> Tuple[Union[t.Endpoint, t.RegisteredEndpoint, None], Optional[str]]: ...

    @overload
    async def call_with_etag(self, operation: str, *, id: Optional[str] = ..., query: Optional[Query] = ..., body: Optional[Body] = ..., idempotency_key: Optional[str] = ..., if_match: Optional[str] = ..., if_none_match: Optional[str] = ..., timeout: Optional[float] = ...) -> Tuple[Any, Optional[str]]: ...

    async def call_with_etag(self, operation: str, **asked: Any) -> Any:
        """Returns the answer, and its ETag or None. Raises ClientError."""
        raise NotImplementedError

    @overload
    def every(self, operation: Literal["listEvents"], *, id: Optional[str] = ..., query: Optional[Query] = ..., body: Optional[Body] = ..., idempotency_key: Optional[str] = ..., if_match: Optional[str] = ..., if_none_match: Optional[str] = ..., timeout: Optional[float] = ...) -> AsyncIterator[t.EventSummary]: ...

    @overload
    def every(self, operation: Literal["listEventAttempts"], *, id: Optional[str] = ..., query: Optional[Query] = ..., body: Optional[Body] = ..., idempotency_key: Optional[str] = ..., if_match: Optional[str] = ..., if_none_match: Optional[str] = ..., timeout: Optional[float] = ...) -> AsyncIterator[t.Attempt]: ...

    @overload
    def every(self, operation: Literal["listEventTypes"], *, id: Optional[str] = ..., query: Optional[Query] = ..., body: Optional[Body] = ..., idempotency_key: Optional[str] = ..., if_match: Optional[str] = ..., if_none_match: Optional[str] = ..., timeout: Optional[float] = ...) -> AsyncIterator[t.EventType]: ...

    @overload
    def every(self, operation: Literal["listDeliveries"], *, id: Optional[str] = ..., query: Optional[Query] = ..., body: Optional[Body] = ..., idempotency_key: Optional[str] = ..., if_match: Optional[str] = ..., if_none_match: Optional[str] = ..., timeout: Optional[float] = ...) -> AsyncIterator[t.WholeDelivery]: ...

    @overload
    def every(self, operation: Literal["listDeliveryAttempts"], *, id: Optional[str] = ..., query: Optional[Query] = ..., body: Optional[Body] = ..., idempotency_key: Optional[str] = ..., if_match: Optional[str] = ..., if_none_match: Optional[str] = ..., timeout: Optional[float] = ...) -> AsyncIterator[t.Attempt]: ...

    @overload
    def every(self, operation: Literal["listEndpointAttempts"], *, id: Optional[str] = ..., query: Optional[Query] = ..., body: Optional[Body] = ..., idempotency_key: Optional[str] = ..., if_match: Optional[str] = ..., if_none_match: Optional[str] = ..., timeout: Optional[float] = ...) -> AsyncIterator[t.Attempt]: ...

    @overload
    def every(self, operation: Literal["listJobs"], *, id: Optional[str] = ..., query: Optional[Query] = ..., body: Optional[Body] = ..., idempotency_key: Optional[str] = ..., if_match: Optional[str] = ..., if_none_match: Optional[str] = ..., timeout: Optional[float] = ...) -> AsyncIterator[t.Job]: ...

    @overload
    def every(self, operation: Literal["listEndpoints"], *, id: Optional[str] = ..., query: Optional[Query] = ..., body: Optional[Body] = ..., idempotency_key: Optional[str] = ..., if_match: Optional[str] = ..., if_none_match: Optional[str] = ..., timeout: Optional[float] = ...) -> AsyncIterator[t.ListedEndpoint]: ...

    @overload
    def every(self, operation: Literal["listKeys"], *, id: Optional[str] = ..., query: Optional[Query] = ..., body: Optional[Body] = ..., idempotency_key: Optional[str] = ..., if_match: Optional[str] = ..., if_none_match: Optional[str] = ..., timeout: Optional[float] = ...) -> AsyncIterator[t.Key]: ...

    @overload
    def every(self, operation: Literal["listAudit"], *, id: Optional[str] = ..., query: Optional[Query] = ..., body: Optional[Body] = ..., idempotency_key: Optional[str] = ..., if_match: Optional[str] = ..., if_none_match: Optional[str] = ..., timeout: Optional[float] = ...) -> AsyncIterator[t.AuditRecord]: ...

    @overload
    def every(self, operation: Literal["listTenants"], *, id: Optional[str] = ..., query: Optional[Query] = ..., body: Optional[Body] = ..., idempotency_key: Optional[str] = ..., if_match: Optional[str] = ..., if_none_match: Optional[str] = ..., timeout: Optional[float] = ...) -> AsyncIterator[t.TenantSummary]: ...

    def every(self, operation: str, **asked: Any) -> AsyncIterator[Any]:
        """Yields the items of a list, page after page, to its end."""
        raise NotImplementedError
