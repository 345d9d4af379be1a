import { CLIENT, command, LIST, TENANT, YES } from "../command.ts";

const ENDPOINT = { type: "positional", required: true, valueHint: "ep_…", description: "The endpoint" } as const;
const SECRET_FILE = {
  type: "string",
  valueHint: "FILE",
  description: "Write the secret into this new file, for you alone, and print none",
} as const;
const SECRET_FROM = {
  type: "string",
  valueHint: "FILE",
  description: "Bring a secret along, from another provider; - for stdin",
} as const;

/** What may be said of an endpoint beside its URL and types; `none` takes a limit or a name away again. */
const SETTINGS = {
  description: { type: "string", valueHint: "TEXT", description: "What it is, in a line" },
  uid: { type: "string", valueHint: "UID", description: "Your own name for it, unique in the tenant" },
  rate: { type: "string", valueHint: "N", description: "At most so many attempts begin in a second" },
  "max-in-flight": { type: "string", valueHint: "N", description: "At most so many at a time" },
  "when-disabled": {
    type: "enum",
    options: ["hold", "skip"],
    description: "While it is disabled its events are held, or skipped",
  },
  "headers-from": { type: "string", valueHint: "FILE", description: "Headers to send, a JSON object; - for stdin" },
  metadata: { type: "string", valueHint: "JSON", description: "Yours, a JSON object" },
} as const;

const ID = "ep_01m7w8bx02jeyjr53r14y5rmma";

export const ENDPOINTS = {
  "endpoints add": command(
    "add",
    "Register an endpoint; its signing secret is shown once",
    {
      to: { type: "positional", required: true, valueHint: "URL", description: "Where its events go: public https" },
      events: { type: "string", required: true, valueHint: "TYPE,…", description: "Event types, or all" },
      ...SETTINGS,
      disabled: { type: "boolean", description: "Send nothing until it is enabled" },
      tenant: { ...TENANT, description: "Whose events it gets [default]" },
      "secret-file": SECRET_FILE,
      "secret-from": SECRET_FROM,
      ...CLIENT,
    },
    [
      "webhookd endpoints add https://example.com/hook --events budget.exceeded,goal.achieved",
      "webhookd endpoints add https://example.com/hook --events all --secret-file secret.txt",
    ],
  ),
  "endpoints list": command(
    "list",
    "List endpoints",
    {
      state: { type: "enum", options: ["enabled", "disabled"], description: "Only these" },
      type: { type: "string", valueHint: "TYPE", description: "That chose this event type" },
      to: { type: "string", valueHint: "URL", description: "That have exactly this URL" },
      uid: { type: "string", valueHint: "UID", description: "Of this name" },
      tenant: TENANT,
      ...LIST,
    },
    ["webhookd endpoints list", "webhookd endpoints list --state disabled --type budget.exceeded --ids"],
  ),
  "endpoints show": command(
    "show",
    "Show an endpoint: its settings, how it fares, its latest attempts",
    {
      endpoint: ENDPOINT,
      attempts: { type: "string", default: "5", valueHint: "N", description: "So many of the latest attempts" },
      ...CLIENT,
    },
    [`webhookd endpoints show ${ID}`, `webhookd endpoints show ${ID} --attempts 20`],
  ),
  "endpoints update": command(
    "update",
    "Change an endpoint, and say what changed; none takes a limit or a name away",
    {
      endpoint: ENDPOINT,
      to: { type: "string", valueHint: "URL", description: "Where its events go from now on, waiting ones too" },
      events: { type: "string", valueHint: "TYPE,…", description: "These event types and no others, or all" },
      "add-event": { type: "string", multiple: true, valueHint: "TYPE", description: "This event type too" },
      "remove-event": { type: "string", multiple: true, valueHint: "TYPE", description: "This event type no longer" },
      ...SETTINGS,
      ...CLIENT,
    },
    [
      `webhookd endpoints update ${ID} --to https://example.com/new --rate 20`,
      `webhookd endpoints update ${ID} --add-event goal.achieved --remove-event budget.exceeded`,
    ],
  ),
  "endpoints rm": command(
    "rm",
    "Delete an endpoint; what waits for it is cancelled, for good",
    { endpoint: ENDPOINT, ...YES, ...CLIENT },
    [`webhookd endpoints rm ${ID}`],
  ),
  "endpoints enable": command(
    "enable",
    "Send to an endpoint again, what was held for it first and slowly",
    {
      endpoint: ENDPOINT,
      "cancel-held": { type: "boolean", description: "Cancel what was held in place of sending it" },
      ...YES,
      ...CLIENT,
    },
    [`webhookd endpoints enable ${ID}`, `webhookd endpoints enable ${ID} --cancel-held --yes`],
  ),
  "endpoints disable": command(
    "disable",
    "Send nothing to an endpoint until it is enabled; its events are held for it, or skipped",
    {
      endpoint: ENDPOINT,
      hold: { type: "boolean", description: "Hold its events, whatever was said before" },
      skip: { type: "boolean", description: "Skip its events: they are not sent later either" },
      ...CLIENT,
    },
    [`webhookd endpoints disable ${ID}`, `webhookd endpoints disable ${ID} --skip`],
  ),
  "endpoints test": command(
    "test",
    "Send a test event and say what came back: 0 for a 2xx, else 8",
    {
      endpoint: ENDPOINT,
      type: { type: "string", valueHint: "TYPE", description: "A sample of this type [the first it chose]" },
      wait: {
        type: "boolean",
        default: true,
        description: "Wait for the answer",
        negativeDescription: "Return as soon as it is on its way",
      },
      ...CLIENT,
    },
    [`webhookd endpoints test ${ID}`, `webhookd endpoints test ${ID} --type goal.achieved`],
  ),
  "endpoints rotate-secret": command(
    "rotate-secret",
    "Begin to replace the signing secret, complete that, or abandon it; the next one is shown once",
    {
      endpoint: ENDPOINT,
      overlap: { type: "string", valueHint: "DURATION", description: "How long both are in use, at most 7d [24h]" },
      complete: { type: "boolean", description: "Let the next one take over now" },
      abandon: { type: "boolean", description: "Forget the next one" },
      "secret-file": SECRET_FILE,
      "secret-from": SECRET_FROM,
      ...CLIENT,
    },
    [
      `webhookd endpoints rotate-secret ${ID} --overlap 24h`,
      `webhookd endpoints rotate-secret ${ID} --complete`,
      `webhookd endpoints rotate-secret ${ID} --overlap 0s --secret-from old-provider.txt`,
    ],
  ),
  "endpoints secret": command(
    "secret",
    "Print the signing secret alone; the key needs scope secrets",
    {
      endpoint: ENDPOINT,
      next: { type: "boolean", description: "During a rotation: the one that takes over" },
      "secret-file": SECRET_FILE,
      ...CLIENT,
    },
    [`webhookd endpoints secret ${ID}`, `webhookd endpoints secret ${ID} --secret-file secret.txt`],
  ),
} as const;
