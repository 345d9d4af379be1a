import type { ErrorCode, FieldCode } from "../src/domain/errors.ts";

/** Hints about what to type when the daemon refuses a request, by the code of the error. */
export const HINTS: { readonly [C in ErrorCode]?: string } = {
  event_not_failed:
    "To see what became of each: `webhookd events show evt_…`. What waits for a retry is tried now by `webhookd deliveries attempt --filter event:evt_…`. What was delivered is sent again by: webhookd replay evt_… --force",
  delivery_settled: "To send its event again anyway: webhookd replay evt_… --force",
  endpoint_disabled: "Enable it first: webhookd endpoints enable ep_…",
  endpoint_damaged: "To see what cannot be read and how to fix it: webhookd doctor",
  endpoint_limit: "Delete one with `webhookd endpoints rm`, or raise [endpoints] max_per_tenant.",
  rotation_in_progress:
    "Finish it first: webhookd endpoints rotate-secret ep_… --complete. To discard the next secret: webhookd endpoints rotate-secret ep_… --abandon",
  not_rotating: "To begin one: webhookd endpoints rotate-secret ep_…",
  already_created: "See what exists: `webhookd endpoints list`, `webhookd keys list`, `webhookd types list`.",
  event_type_read_only: "To see where each type comes from: webhookd types list",
  event_type_in_use: "To take it out of what endpoints may choose: webhookd types archive TYPE",
  event_type_limit: "To see which there are: webhookd types list",
  canary_failed:
    "To try one more: webhookd jobs resume job_… --canary. To send the rest: webhookd jobs resume job_… --send-all",
  job_ended: "See how it ended: webhookd jobs show job_…",
  backup_running: "See when it is done: webhookd status",
  plan_changed: "Look at the plan again with --dry-run, and pass its count to --expect.",
  storage_full: "Free space on the daemon's disk; `webhookd status` shows how much is left.",
  // The key may lack a scope, or belong to another tenant.
  forbidden: "To create a key that may: webhookd keys create --name NAME --scope SCOPE,… --tenant TENANT",
};

/** The text must also be true for a daemon that is already running with --dev. */
const DEV =
  "A daemon started with --dev allows endpoints on its own machine (127.0.0.0/8, ::1, localhost), but no other non-public addresses.";

/** Hints by the code of a field's error. */
export const FIELD_HINTS: { readonly [C in FieldCode]?: string } = {
  url_scheme: DEV,
  port_not_allowed: `${DEV} Otherwise see [egress] ports.`,
  host_special_use: `${DEV} Otherwise see [egress] allow_hosts.`,
  host_single_label: "If the name is one of your private network, see [egress] allow_hosts.",
  address_not_public: `${DEV} Otherwise see [egress] allow_cidrs.`,
  address_self: DEV,
};
