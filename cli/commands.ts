/**
 * Lists every command with a one-line summary and the file that implements it. The files load on demand, because the
 * overview names every command, and loading them all takes half a second.
 */
import type { Command } from "./command.ts";

interface Listed {
  readonly summary: string;
  readonly load: () => Promise<Command>;
}

function listed(summary: string, load: () => Promise<Command>): Listed {
  return { summary, load };
}

/** Help shows them in this order. */
export const COMMANDS = {
  serve: listed("Run the daemon", async () => (await import("./daemon/serve.ts")).serve),
  status: listed(
    "Show how the daemon and its deliveries are doing; exits 0 if it accepts events and could send them, else 8",
    async () => (await import("./daemon/status.ts")).status,
  ),
  pause: listed(
    "Pause all sending, even across restarts; events are still accepted",
    async () => (await import("./daemon/pause-resume.ts")).pause,
  ),
  resume: listed("Resume sending", async () => (await import("./daemon/pause-resume.ts")).resume),
  "nodes list": listed(
    "List the nodes that share a store in PostgreSQL, and how they are doing",
    async () => (await import("./nodes/list.ts")).nodesList,
  ),
  "nodes drain": listed(
    "Have a node hand its endpoints to the others; it keeps answering requests",
    async () => (await import("./nodes/drain-resume.ts")).nodesDrain,
  ),
  "nodes resume": listed(
    "Give a drained node its share of the endpoints again",
    async () => (await import("./nodes/drain-resume.ts")).nodesResume,
  ),
  "outbox init": listed(
    "Print the SQL that makes an outbox in your application's database",
    async () => (await import("./outbox/init.ts")).outboxInit,
  ),
  "outbox status": listed(
    "Show the outboxes, and why rows were set aside; exits 0 if all is well, else 8",
    async () => (await import("./outbox/status.ts")).outboxStatus,
  ),
  "outbox retry": listed(
    "Publish rows of an outbox that were set aside, once the cause is gone",
    async () => (await import("./outbox/retry-drop.ts")).outboxRetry,
  ),
  "outbox drop": listed(
    "Delete rows of an outbox that were set aside; this cannot be undone",
    async () => (await import("./outbox/retry-drop.ts")).outboxDrop,
  ),
  version: listed("Print the version", async () => (await import("./daemon/version.ts")).versionCommand),
  tui: listed(
    "Open the dashboard: watch deliveries, and replay or fix what fails",
    async () => (await import("./tui/tui.ts")).tui,
  ),
  "endpoints add": listed(
    "Register an endpoint, and print its signing secret",
    async () => (await import("./endpoints/add.ts")).endpointsAdd,
  ),
  "endpoints list": listed("List endpoints", async () => (await import("./endpoints/list.ts")).endpointsList),
  "endpoints show": listed(
    "Show an endpoint: its settings, its health and its latest attempts",
    async () => (await import("./endpoints/show.ts")).endpointsShow,
  ),
  "endpoints update": listed(
    "Change an endpoint, and show what changed",
    async () => (await import("./endpoints/update.ts")).endpointsUpdate,
  ),
  "endpoints rm": listed(
    "Delete an endpoint and cancel its waiting deliveries; this cannot be undone",
    async () => (await import("./endpoints/rm.ts")).endpointsRm,
  ),
  "endpoints enable": listed(
    "Start sending to an endpoint again, slowly at first, beginning with its held events",
    async () => (await import("./endpoints/enable-disable.ts")).endpointsEnable,
  ),
  "endpoints disable": listed(
    "Stop sending to an endpoint until it is enabled; its events are held or skipped",
    async () => (await import("./endpoints/enable-disable.ts")).endpointsDisable,
  ),
  "endpoints test": listed(
    "Send a test event and show the answer; exits 0 for a 2xx, else 8",
    async () => (await import("./endpoints/test.ts")).endpointsTest,
  ),
  "endpoints filter-test": listed(
    "Say whether a filter accepts an event, and why; exits 0 if it does, else 8",
    async () => (await import("./endpoints/filter-test.ts")).endpointsFilterTest,
  ),
  "endpoints rotate-secret": listed(
    "Replace the signing secret: begin a rotation, complete it or abandon it",
    async () => (await import("./endpoints/rotate-secret.ts")).endpointsRotateSecret,
  ),
  "endpoints secret": listed(
    "Print the signing secret; an API key needs the secrets scope",
    async () => (await import("./endpoints/secret.ts")).endpointsSecret,
  ),
  "events list": listed("List events", async () => (await import("./events/list.ts")).eventsList),
  "events show": listed(
    "Show an event: its deliveries, every attempt and what comes next",
    async () => (await import("./events/show.ts")).eventsShow,
  ),
  "events send": listed("Publish an event", async () => (await import("./events/send.ts")).eventsSend),
  "events cancel": listed(
    "Cancel the open deliveries of an event; this cannot be undone",
    async () => (await import("./events/cancel.ts")).eventsCancel,
  ),
  "events erase": listed(
    "Erase an event's data and the receivers' answers; it can never be sent again",
    async () => (await import("./events/erase.ts")).eventsErase,
  ),
  "events tail": listed(
    "Follow deliveries as they change, one line per change",
    async () => (await import("./tail/tail.ts")).eventsTail,
  ),
  "types list": listed(
    "List the event types: the built-in ones, those of the configuration, and those of the store",
    async () => (await import("./types/list.ts")).typesList,
  ),
  "types show": listed(
    "Show an event type: its schema and its sample",
    async () => (await import("./types/show.ts")).typesShow,
  ),
  "types add": listed(
    "Add an event type, without an edit of the configuration",
    async () => (await import("./types/add.ts")).typesAdd,
  ),
  "types update": listed(
    "Change an event type of the store, and show what changed",
    async () => (await import("./types/update.ts")).typesUpdate,
  ),
  "types import": listed(
    "Add or change the event types that an OpenAPI or AsyncAPI document describes, after you confirm the plan",
    async () => (await import("./types/import.ts")).typesImport,
  ),
  "types archive": listed(
    "Stop offering an event type to endpoints; those that chose it still receive it",
    async () => (await import("./types/archive.ts")).typesArchive,
  ),
  "types rm": listed(
    "Delete an event type that no endpoint chose by name and that has no events left",
    async () => (await import("./types/rm.ts")).typesRm,
  ),
  "deliveries list": listed(
    "List deliveries: one row per event and endpoint",
    async () => (await import("./deliveries/list.ts")).deliveriesList,
  ),
  "deliveries show": listed(
    "Show a delivery: its attempts and what comes next",
    async () => (await import("./deliveries/show.ts")).deliveriesShow,
  ),
  "deliveries cancel": listed(
    "Cancel the open deliveries that a filter selects, after you confirm the plan; this cannot be undone",
    async () => (await import("./deliveries/cancel.ts")).deliveriesCancel,
  ),
  "deliveries attempt": listed(
    "Try one delivery now, or all waiting ones that match a filter; their ladders stay as they are",
    async () => (await import("./deliveries/attempt.ts")).deliveriesAttempt,
  ),
  "attempts list": listed(
    "List the attempts of an event, a delivery or an endpoint",
    async () => (await import("./attempts/list.ts")).attemptsList,
  ),
  "attempts show": listed(
    "Show an attempt: its timing and what the receiver answered",
    async () => (await import("./attempts/show.ts")).attemptsShow,
  ),
  failures: listed(
    "Show what is failing, by endpoint and cause, and what to do about it",
    async () => (await import("./failures/failures.ts")).failures,
  ),
  why: listed(
    "Say in one sentence why an event arrived at an endpoint, or did not; exits 0 if it arrived, else 8",
    async () => (await import("./events/why.ts")).why,
  ),
  stats: listed(
    "Show counts, rates and latencies for the last 5 minutes to 7 days",
    async () => (await import("./stats/stats.ts")).stats,
  ),
  replay: listed(
    "Replay failed events: one right away, or many after you confirm the plan; --missing back-fills an endpoint",
    async () => (await import("./replay/replay.ts")).replay,
  ),
  "jobs list": listed(
    "List jobs: replays and other bulk work, running and done",
    async () => (await import("./jobs/list.ts")).jobsList,
  ),
  "jobs show": listed(
    "Show the progress and the result of a job",
    async () => (await import("./jobs/show.ts")).jobsShow,
  ),
  "jobs pause": listed("Pause a job", async () => (await import("./jobs/pause-resume-cancel.ts")).jobsPause),
  "jobs resume": listed("Resume a paused job", async () => (await import("./jobs/pause-resume-cancel.ts")).jobsResume),
  "jobs cancel": listed(
    "Cancel a job; deliveries that it has not reached stay as they are",
    async () => (await import("./jobs/pause-resume-cancel.ts")).jobsCancel,
  ),
  listen: listed(
    "Receive, verify and print webhooks on this machine",
    async () => (await import("./receiver/listen/listen.ts")).listen,
  ),
  trigger: listed(
    "Send an event with sample data, and show what came back",
    async () => (await import("./receiver/trigger.ts")).trigger,
  ),
  demo: listed(
    "Try webhookd: run a daemon and two receivers in a temporary folder, with one event per second",
    async () => (await import("./receiver/demo.ts")).demo,
  ),
  verify: listed(
    "Check a signature, and explain a mismatch; exits 0 if it matches, else 8",
    async () => (await import("./receiver/signature/verify.ts")).verify,
  ),
  sign: listed("Print the signature of a body", async () => (await import("./receiver/signature/sign.ts")).sign),
  "keys create": listed(
    "Create an API key; it is shown once",
    async () => (await import("./keys/create.ts")).keysCreate,
  ),
  "keys list": listed("List API keys", async () => (await import("./keys/list.ts")).keysList),
  "keys revoke": listed("Revoke an API key at once", async () => (await import("./keys/revoke.ts")).keysRevoke),
  "signing-keys show": listed(
    "Show the public keys of a tenant, which verify v1a signatures",
    async () => (await import("./signing-keys/show.ts")).signingKeysShow,
  ),
  "signing-keys rotate": listed(
    "Replace the private key of a tenant: begin a rotation, complete it or abandon it",
    async () => (await import("./signing-keys/rotate.ts")).signingKeysRotate,
  ),
  "signing-keys publish": listed(
    "Let anyone read the public keys of a tenant as a JSON Web Key Set",
    async () => (await import("./signing-keys/publish.ts")).signingKeysPublish,
  ),
  "portal link": listed(
    "Print a link to the portal: a page where a customer manages endpoints and replays what failed",
    async () => (await import("./portal/link.ts")).portalLink,
  ),
  "tenants list": listed("List tenants", async () => (await import("./tenants/list.ts")).tenantsList),
  "tenants show": listed(
    "Show a tenant: its last 24 hours, its failures and its share",
    async () => (await import("./tenants/show.ts")).tenantsShow,
  ),
  "import svix": listed(
    "Take over the endpoints, event types and signing secrets of Svix, after you confirm the plan",
    async () => (await import("./import/import.ts")).importSvix,
  ),
  "import convoy": listed(
    "Take over the endpoints, subscriptions and signing secrets of a Convoy project, after you confirm the plan",
    async () => (await import("./import/import.ts")).importConvoy,
  ),
  "import outpost": listed(
    "Take over the webhook destinations, topics and signing secrets of Outpost, after you confirm the plan",
    async () => (await import("./import/import.ts")).importOutpost,
  ),
  "import csv": listed(
    "Take over the endpoints and signing secrets that a CSV file lists, after you confirm the plan",
    async () => (await import("./import/import.ts")).importCsv,
  ),
  "import compare": listed(
    "Show what only one of both senders has sent, or would have, to the endpoints that came over",
    async () => (await import("./import/shadow/compare.ts")).importCompare,
  ),
  "import cut-over": listed(
    "Send to a tenant's endpoints that came over, in steps that lose nothing and send nothing twice, or go back",
    async () => (await import("./import/shadow/cut-over.ts")).importCutOver,
  ),
  "audit list": listed(
    "List who changed what and who read a secret, including refused calls",
    async () => (await import("./audit/list.ts")).auditList,
  ),
  "config init": listed(
    "Write a configuration file with every setting at its default, or a systemd unit",
    async () => (await import("./config/init.ts")).configInit,
  ),
  "config check": listed(
    "Check the configuration, and list every mistake; exits 0 if there are none, else 8",
    async () => (await import("./config/check.ts")).configCheck,
  ),
  "config show": listed(
    "Show the effective value of every setting; --running shows what the daemon uses",
    async () => (await import("./config/show.ts")).configShow,
  ),
  doctor: listed(
    "Check configuration, files, disk, clock, limits, daemon and endpoints; exits 8 if something is wrong",
    async () => (await import("./doctor/doctor.ts")).doctor,
  ),
  backup: listed(
    "Make a backup on the daemon's host, in its [backup] dir",
    async () => (await import("./upkeep/backup.ts")).backup,
  ),
  restore: listed(
    "Replace the store with a backup while the daemon is stopped; sending then starts paused",
    async () => (await import("./upkeep/restore.ts")).restore,
  ),
  migrate: listed(
    "While the daemon is stopped: migrate the store to this version's schema, or move it to PostgreSQL or back",
    async () => (await import("./upkeep/migrate.ts")).migrate,
  ),
  compact: listed(
    "Rewrite the database without its free space while the daemon is stopped; needs room for a second copy",
    async () => (await import("./upkeep/compact.ts")).compact,
  ),
  "secrets reissue": listed(
    "Give every endpoint a new signing secret if secret.key is lost for good; stop the daemon first",
    async () => (await import("./upkeep/reissue.ts")).secretsReissue,
  ),
  "secrets rekey": listed(
    "Replace secret.key and seal everything with the new one; no signing secret changes",
    async () => (await import("./upkeep/rekey.ts")).secretsRekey,
  ),
  completions: listed(
    "Print the completion script for a shell",
    async () => (await import("./completions/completions.ts")).completions,
  ),
} as const;

export type CommandName = keyof typeof COMMANDS;

/** Words that begin the names of several commands. */
export const GROUPS: Readonly<Record<string, string>> = {
  endpoints: "Where events are sent, and the secrets that sign them",
  events: "What happened: publish, inspect, cancel and erase",
  types: "The kinds of events, and what their data looks like",
  deliveries: "One event for one endpoint: inspect, attempt, cancel",
  attempts: "One request made for a delivery, and what came back",
  jobs: "Bulk work on many deliveries, at a steady pace",
  outbox: "Tables of applications that events are published from",
  nodes: "The processes that share one store in PostgreSQL",
  keys: "API keys",
  "signing-keys": "The keys of tenants that sign with Ed25519",
  tenants: "Who the endpoints and events belong to",
  audit: "Who did what",
  import: "Take over another sender's endpoints and secrets",
  portal: "The page where customers see their endpoints",
  secrets: "secret.key, and what it seals",
  config: "The configuration",
};

/** Sections of the overview, each with the first words of its commands. */
export const PURPOSES: readonly { readonly title: string; readonly words: readonly string[] }[] = [
  { title: "THE DAEMON", words: ["serve", "status", "stats", "doctor", "pause", "resume", "nodes", "outbox"] },
  { title: "FAILED DELIVERIES", words: ["tui", "failures", "why", "replay", "jobs"] },
  { title: "ENDPOINTS AND EVENTS", words: ["endpoints", "events", "types", "deliveries", "attempts"] },
  { title: "BUILDING A RECEIVER", words: ["demo", "listen", "trigger", "verify", "sign"] },
  {
    title: "SETUP AND MAINTENANCE",
    words: [
      "config",
      "keys",
      "signing-keys",
      "portal",
      "import",
      "tenants",
      "audit",
      "backup",
      "restore",
      "migrate",
      "compact",
      "secrets",
      "completions",
      "version",
    ],
  },
];

/** The commands that take a newcomer from nothing to the first delivered event. */
export const FIRST_RUN = ["webhookd serve --dev", "webhookd listen --register", "webhookd trigger budget.exceeded"];

/** Aliases of a command's last word. Help does not mention them. */
export const ALIASES: Readonly<Record<string, string>> = {
  ls: "list",
  get: "show",
  set: "update",
  delete: "rm",
  remove: "rm",
};
