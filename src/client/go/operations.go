// Code generated from the daemon's OpenAPI description by scripts/clients/go.ts. DO NOT EDIT.

package webhookd

import "encoding/json"

// Nothing is the answer of operations that answer without a body.
type Nothing struct{}

// Text operations answer with text instead of JSON.
var (
	PublishEvent = Operation[Publication]{"publishEvent"}
	PublishBatch = Operation[PublishBatchAnswer]{"publishBatch"}
	ListEvents = Operation[Page[EventSummary]]{"listEvents"}
	GetEvent = Operation[Event]{"getEvent"}
	ExplainEvent = Operation[Explanation]{"explainEvent"}
	ListEventAttempts = Operation[Page[Attempt]]{"listEventAttempts"}
	ReplayEvent = Operation[ReplayedEvent]{"replayEvent"}
	CancelEvent = Operation[CancelledEvent]{"cancelEvent"}
	EraseEvent = Operation[Nothing]{"eraseEvent"}
	ListEventTypes = Operation[Page[EventType]]{"listEventTypes"}
	CreateEventType = Operation[EventType]{"createEventType"}
	ImportEventTypes = Operation[EventTypeImported]{"importEventTypes"}
	GetEventType = Operation[EventType]{"getEventType"}
	PutEventType = Operation[json.RawMessage]{"putEventType"}
	DeleteEventType = Operation[Nothing]{"deleteEventType"}
	RegisterEndpoint = Operation[RegisteredEndpoint]{"registerEndpoint"}
	ListEndpoints = Operation[Page[ListedEndpoint]]{"listEndpoints"}
	GetEndpoint = Operation[EndpointWithHealth]{"getEndpoint"}
	ChangeEndpoint = Operation[Endpoint]{"changeEndpoint"}
	PutEndpoint = Operation[json.RawMessage]{"putEndpoint"}
	DeleteEndpoint = Operation[Nothing]{"deleteEndpoint"}
	ListEndpointAttempts = Operation[Page[Attempt]]{"listEndpointAttempts"}
	SendTestEvent = Operation[json.RawMessage]{"sendTestEvent"}
	TestFilter = Operation[FilterResult]{"testFilter"}
	GetSecret = Operation[SigningSecrets]{"getSecret"}
	RotateSecret = Operation[SigningSecrets]{"rotateSecret"}
	CompleteRotation = Operation[SigningSecrets]{"completeRotation"}
	AbandonRotation = Operation[Nothing]{"abandonRotation"}
	GetSigningKeys = Operation[SigningKeys]{"getSigningKeys"}
	ChangeSigningKeys = Operation[SigningKeys]{"changeSigningKeys"}
	RotateSigningKey = Operation[SigningKeys]{"rotateSigningKey"}
	CompleteKeyRotation = Operation[SigningKeys]{"completeKeyRotation"}
	AbandonKeyRotation = Operation[SigningKeys]{"abandonKeyRotation"}
	GetSigningKeySet = Operation[SigningKeySet]{"getSigningKeySet"}
	ListDeliveries = Operation[Page[WholeDelivery]]{"listDeliveries"}
	GetDelivery = Operation[WholeDelivery]{"getDelivery"}
	AttemptDelivery = Operation[WholeDelivery]{"attemptDelivery"}
	ListDeliveryAttempts = Operation[Page[Attempt]]{"listDeliveryAttempts"}
	GetAttempt = Operation[Attempt]{"getAttempt"}
	CreateJob = Operation[json.RawMessage]{"createJob"}
	ListJobs = Operation[Page[Job]]{"listJobs"}
	GetJob = Operation[WholeJob]{"getJob"}
	PauseJob = Operation[Job]{"pauseJob"}
	ResumeJob = Operation[Job]{"resumeJob"}
	CancelJob = Operation[Job]{"cancelJob"}
	ListFailures = Operation[Failures]{"listFailures"}
	GetStatistics = Operation[Statistics]{"getStatistics"}
	StreamChanges = Operation[string]{"streamChanges"}
	ListKeys = Operation[Page[Key]]{"listKeys"}
	CreateKey = Operation[CreatedKey]{"createKey"}
	GetKey = Operation[Key]{"getKey"}
	RevokeKey = Operation[json.RawMessage]{"revokeKey"}
	CreatePortalLink = Operation[PortalLink]{"createPortalLink"}
	GetPortal = Operation[Portal]{"getPortal"}
	ListAudit = Operation[Page[AuditRecord]]{"listAudit"}
	ListTenants = Operation[Page[TenantSummary]]{"listTenants"}
	GetStatus = Operation[Status]{"getStatus"}
	GetConfiguration = Operation[Configuration]{"getConfiguration"}
	PauseDaemon = Operation[PauseAnswer]{"pauseDaemon"}
	ResumeDaemon = Operation[ResumeAnswer]{"resumeDaemon"}
	ListNodes = Operation[NodeList]{"listNodes"}
	DrainNode = Operation[Node]{"drainNode"}
	ResumeNode = Operation[Node]{"resumeNode"}
	ListOutboxes = Operation[OutboxList]{"listOutboxes"}
	ListSetAsideRows = Operation[SetAsideRows]{"listSetAsideRows"}
	RetryOutboxRows = Operation[RowsAnswer]{"retryOutboxRows"}
	DropOutboxRows = Operation[RowsAnswer]{"dropOutboxRows"}
	CreateBackup = Operation[Backup]{"createBackup"}
	Rekey = Operation[Rekeyed]{"rekey"}
	GetHealth = Operation[string]{"getHealth"}
	GetReadiness = Operation[string]{"getReadiness"}
	GetMetrics = Operation[string]{"getMetrics"}
	GetDescription = Operation[string]{"getDescription"}
)

var routes = map[string]route{
	"publishEvent": {"POST", "/v1/webhooks/events"},
	"publishBatch": {"POST", "/v1/webhooks/events/batch"},
	"listEvents": {"GET", "/v1/webhooks/events"},
	"getEvent": {"GET", "/v1/webhooks/events/{id}"},
	"explainEvent": {"GET", "/v1/webhooks/events/{id}/why"},
	"listEventAttempts": {"GET", "/v1/webhooks/events/{id}/attempts"},
	"replayEvent": {"POST", "/v1/webhooks/events/{id}/retry"},
	"cancelEvent": {"POST", "/v1/webhooks/events/{id}/cancel"},
	"eraseEvent": {"DELETE", "/v1/webhooks/events/{id}/data"},
	"listEventTypes": {"GET", "/v1/webhooks/event-types"},
	"createEventType": {"POST", "/v1/webhooks/event-types"},
	"importEventTypes": {"POST", "/v1/webhooks/event-types/import"},
	"getEventType": {"GET", "/v1/webhooks/event-types/{id}"},
	"putEventType": {"PUT", "/v1/webhooks/event-types/{id}"},
	"deleteEventType": {"DELETE", "/v1/webhooks/event-types/{id}"},
	"registerEndpoint": {"POST", "/v1/webhooks"},
	"listEndpoints": {"GET", "/v1/webhooks"},
	"getEndpoint": {"GET", "/v1/webhooks/{id}"},
	"changeEndpoint": {"PATCH", "/v1/webhooks/{id}"},
	"putEndpoint": {"PUT", "/v1/webhooks/{id}"},
	"deleteEndpoint": {"DELETE", "/v1/webhooks/{id}"},
	"listEndpointAttempts": {"GET", "/v1/webhooks/{id}/attempts"},
	"sendTestEvent": {"POST", "/v1/webhooks/{id}/test"},
	"testFilter": {"POST", "/v1/webhooks/{id}/filter/test"},
	"getSecret": {"GET", "/v1/webhooks/{id}/secret"},
	"rotateSecret": {"POST", "/v1/webhooks/{id}/rotate-secret"},
	"completeRotation": {"POST", "/v1/webhooks/{id}/rotate-secret/complete"},
	"abandonRotation": {"DELETE", "/v1/webhooks/{id}/rotate-secret"},
	"getSigningKeys": {"GET", "/v1/webhooks/keys"},
	"changeSigningKeys": {"PATCH", "/v1/webhooks/keys"},
	"rotateSigningKey": {"POST", "/v1/webhooks/keys/rotate"},
	"completeKeyRotation": {"POST", "/v1/webhooks/keys/rotate/complete"},
	"abandonKeyRotation": {"DELETE", "/v1/webhooks/keys/rotate"},
	"getSigningKeySet": {"GET", "/v1/webhooks/keys/jwks.json"},
	"listDeliveries": {"GET", "/v1/webhooks/deliveries"},
	"getDelivery": {"GET", "/v1/webhooks/deliveries/{id}"},
	"attemptDelivery": {"POST", "/v1/webhooks/deliveries/{id}/attempt"},
	"listDeliveryAttempts": {"GET", "/v1/webhooks/deliveries/{id}/attempts"},
	"getAttempt": {"GET", "/v1/webhooks/attempts/{id}"},
	"createJob": {"POST", "/v1/webhooks/jobs"},
	"listJobs": {"GET", "/v1/webhooks/jobs"},
	"getJob": {"GET", "/v1/webhooks/jobs/{id}"},
	"pauseJob": {"POST", "/v1/webhooks/jobs/{id}/pause"},
	"resumeJob": {"POST", "/v1/webhooks/jobs/{id}/resume"},
	"cancelJob": {"POST", "/v1/webhooks/jobs/{id}/cancel"},
	"listFailures": {"GET", "/v1/webhooks/failures"},
	"getStatistics": {"GET", "/v1/webhooks/stats"},
	"streamChanges": {"GET", "/v1/webhooks/stream"},
	"listKeys": {"GET", "/v1/keys"},
	"createKey": {"POST", "/v1/keys"},
	"getKey": {"GET", "/v1/keys/{id}"},
	"revokeKey": {"DELETE", "/v1/keys/{id}"},
	"createPortalLink": {"POST", "/v1/portal-links"},
	"getPortal": {"GET", "/v1/portal"},
	"listAudit": {"GET", "/v1/audit"},
	"listTenants": {"GET", "/v1/tenants"},
	"getStatus": {"GET", "/v1/status"},
	"getConfiguration": {"GET", "/v1/config"},
	"pauseDaemon": {"POST", "/v1/pause"},
	"resumeDaemon": {"POST", "/v1/resume"},
	"listNodes": {"GET", "/v1/nodes"},
	"drainNode": {"POST", "/v1/nodes/{id}/drain"},
	"resumeNode": {"POST", "/v1/nodes/{id}/resume"},
	"listOutboxes": {"GET", "/v1/outboxes"},
	"listSetAsideRows": {"GET", "/v1/outboxes/{id}/set-aside"},
	"retryOutboxRows": {"POST", "/v1/outboxes/{id}/retry"},
	"dropOutboxRows": {"POST", "/v1/outboxes/{id}/drop"},
	"createBackup": {"POST", "/v1/backups"},
	"rekey": {"POST", "/v1/secret-key/rekey"},
	"getHealth": {"GET", "/healthz"},
	"getReadiness": {"GET", "/readyz"},
	"getMetrics": {"GET", "/metrics"},
	"getDescription": {"GET", "/openapi.json"},
}

// PublishBatchAnswer is the answer of PublishBatch.
type PublishBatchAnswer struct {
	// In the same order as in the request.
	Data []BatchedPublication `json:"data"`
	// Data that does not match the schema of a type whose `validation` is `warn`, at most 20. The events were accepted anyway.
	Warnings []DataWarning `json:"warnings,omitempty"`
}
