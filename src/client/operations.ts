/** Every operation of the daemon's HTTP interface by its name in `docs/openapi.json`, as method and path. */
export const OPERATIONS = {
  publishEvent: "POST /v1/webhooks/events",
  publishBatch: "POST /v1/webhooks/events/batch",
  listEvents: "GET /v1/webhooks/events",
  getEvent: "GET /v1/webhooks/events/{id}",
  listEventAttempts: "GET /v1/webhooks/events/{id}/attempts",
  replayEvent: "POST /v1/webhooks/events/{id}/retry",
  cancelEvent: "POST /v1/webhooks/events/{id}/cancel",
  eraseEvent: "DELETE /v1/webhooks/events/{id}/data",
  listEventTypes: "GET /v1/webhooks/event-types",

  registerEndpoint: "POST /v1/webhooks",
  listEndpoints: "GET /v1/webhooks",
  getEndpoint: "GET /v1/webhooks/{id}",
  changeEndpoint: "PATCH /v1/webhooks/{id}",
  putEndpoint: "PUT /v1/webhooks/{id}",
  deleteEndpoint: "DELETE /v1/webhooks/{id}",
  listEndpointAttempts: "GET /v1/webhooks/{id}/attempts",
  sendTestEvent: "POST /v1/webhooks/{id}/test",
  getSecret: "GET /v1/webhooks/{id}/secret",
  rotateSecret: "POST /v1/webhooks/{id}/rotate-secret",
  completeRotation: "POST /v1/webhooks/{id}/rotate-secret/complete",
  abandonRotation: "DELETE /v1/webhooks/{id}/rotate-secret",

  listDeliveries: "GET /v1/webhooks/deliveries",
  getDelivery: "GET /v1/webhooks/deliveries/{id}",
  attemptDelivery: "POST /v1/webhooks/deliveries/{id}/attempt",
  listDeliveryAttempts: "GET /v1/webhooks/deliveries/{id}/attempts",
  getAttempt: "GET /v1/webhooks/attempts/{id}",

  createJob: "POST /v1/webhooks/jobs",
  listJobs: "GET /v1/webhooks/jobs",
  getJob: "GET /v1/webhooks/jobs/{id}",
  pauseJob: "POST /v1/webhooks/jobs/{id}/pause",
  resumeJob: "POST /v1/webhooks/jobs/{id}/resume",
  cancelJob: "POST /v1/webhooks/jobs/{id}/cancel",

  listFailures: "GET /v1/webhooks/failures",
  getStatistics: "GET /v1/webhooks/stats",
  streamChanges: "GET /v1/webhooks/stream",

  listKeys: "GET /v1/keys",
  createKey: "POST /v1/keys",
  getKey: "GET /v1/keys/{id}",
  revokeKey: "DELETE /v1/keys/{id}",
  listAudit: "GET /v1/audit",
  listTenants: "GET /v1/tenants",

  getStatus: "GET /v1/status",
  pauseDaemon: "POST /v1/pause",
  resumeDaemon: "POST /v1/resume",
  createBackup: "POST /v1/backups",
  rekey: "POST /v1/secret-key/rekey",

  getHealth: "GET /healthz",
  getReadiness: "GET /readyz",
  getMetrics: "GET /metrics",
  getDescription: "GET /openapi.json",
  readDocs: "GET /docs",
} as const;

export type OperationName = keyof typeof OPERATIONS;
