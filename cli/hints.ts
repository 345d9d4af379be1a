import type { ErrorCode, FieldCode } from "../src/domain/errors.ts";

/** What to type after the daemon refused, by the code of its answer. */
export const HINTS: { readonly [C in ErrorCode]?: string } = {
  event_not_failed:
    "What was delivered goes out again by: webhookd replay evt_… --force; what is pending, at once: webhookd deliveries attempt dlv_…",
  delivery_settled: "To send its event again all the same: webhookd replay evt_… --force",
  endpoint_disabled: "Let it be sent to again first: webhookd endpoints enable ep_…",
  endpoint_damaged: "What cannot be read, and what to type about it: webhookd doctor",
  endpoint_limit: "Take one away with `webhookd endpoints rm`, or raise [endpoints] max_per_tenant.",
  rotation_in_progress: "End it first: webhookd endpoints rotate-secret ep_… --complete, or --abandon",
  not_rotating: "To begin one: webhookd endpoints rotate-secret ep_…",
  already_created: "See what is there: `webhookd endpoints list`, `webhookd keys list`.",
  canary_failed:
    "Try one more: webhookd jobs resume job_… --canary. Send all that is left: webhookd jobs resume job_… --send-all",
  job_ended: "See how it ended: webhookd jobs show job_…",
  backup_running: "See when it is done: webhookd status",
  plan_changed: "Look at the plan again with --dry-run, and give --expect its count.",
  storage_full: "Make room on the daemon's disk: `webhookd status` says how much is free.",
  forbidden: "Make a key with the scope: webhookd keys create --name NAME --scope SCOPE,…",
};

/** Also true of a daemon that runs with it already. */
const DEV =
  "A daemon started with --dev lets endpoints be on its own machine (127.0.0.0/8, ::1, localhost) and nowhere else.";

/** The same by the code of a field's fault. */
export const FIELD_HINTS: { readonly [C in FieldCode]?: string } = {
  url_scheme: DEV,
  port_not_allowed: `${DEV} Else see [egress] ports.`,
  host_special_use: DEV,
  address_not_public: `${DEV} Else see [egress] allow_cidrs.`,
  address_self: DEV,
};
