/**
 * Every command there is, by its words: what it does in a line, and the file that has the rest of it. Apart from that
 * file, because the overview names them all, and to load them all takes half a second.
 */
import type { Command } from "./command.ts";

interface Listed {
  readonly summary: string;
  readonly load: () => Promise<Command>;
}

function listed(summary: string, load: () => Promise<Command>): Listed {
  return { summary, load };
}

/** In the order of the help. */
export const COMMANDS = {
  serve: listed("Run the daemon", async () => (await import("./daemon/serve.ts")).serve),
  status: listed(
    "Say how the daemon is, and how deliveries fare: 0 when it takes publishes, else 8",
    async () => (await import("./daemon/status.ts")).status,
  ),
  pause: listed(
    "Stop all attempts, through any restart; publishes go on",
    async () => (await import("./daemon/pause-resume.ts")).pause,
  ),
  resume: listed("Let attempts go on", async () => (await import("./daemon/pause-resume.ts")).resume),
  version: listed("Say which version this is", async () => (await import("./daemon/version.ts")).versionCommand),
  tui: listed(
    "Watch and mend deliveries on a dashboard in this terminal",
    async () => (await import("./tui/tui.ts")).tui,
  ),
  "endpoints add": listed(
    "Register an endpoint; its signing secret is shown once",
    async () => (await import("./endpoints/add.ts")).endpointsAdd,
  ),
  "endpoints list": listed("List endpoints", async () => (await import("./endpoints/list.ts")).endpointsList),
  "endpoints show": listed(
    "Show an endpoint: its settings, how it fares, its latest attempts",
    async () => (await import("./endpoints/show.ts")).endpointsShow,
  ),
  "endpoints update": listed(
    "Change an endpoint, and say what changed; none takes a limit or a name away",
    async () => (await import("./endpoints/update.ts")).endpointsUpdate,
  ),
  "endpoints rm": listed(
    "Delete an endpoint; what waits for it is cancelled, for good",
    async () => (await import("./endpoints/rm.ts")).endpointsRm,
  ),
  "endpoints enable": listed(
    "Send to an endpoint again, what was held for it first and slowly",
    async () => (await import("./endpoints/enable-disable.ts")).endpointsEnable,
  ),
  "endpoints disable": listed(
    "Send nothing to an endpoint until it is enabled; its events are held for it, or skipped",
    async () => (await import("./endpoints/enable-disable.ts")).endpointsDisable,
  ),
  "endpoints test": listed(
    "Send a test event and say what came back: 0 for a 2xx, else 8",
    async () => (await import("./endpoints/test.ts")).endpointsTest,
  ),
  "endpoints rotate-secret": listed(
    "Begin to replace the signing secret, complete that, or abandon it; the next one is shown once",
    async () => (await import("./endpoints/rotate-secret.ts")).endpointsRotateSecret,
  ),
  "endpoints secret": listed(
    "Print the signing secret alone; the key needs scope secrets",
    async () => (await import("./endpoints/secret.ts")).endpointsSecret,
  ),
  "events list": listed("List events", async () => (await import("./events/list.ts")).eventsList),
  "events show": listed(
    "Show one event: its deliveries, every attempt, and what is to come",
    async () => (await import("./events/show.ts")).eventsShow,
  ),
  "events send": listed("Publish an event", async () => (await import("./events/send.ts")).eventsSend),
  "events cancel": listed(
    "Send no more of an event: its open deliveries become cancelled, for good",
    async () => (await import("./events/cancel.ts")).eventsCancel,
  ),
  "events erase": listed(
    "Erase an event's data and what receivers answered, for good; it cannot be sent again",
    async () => (await import("./events/erase.ts")).eventsErase,
  ),
  "events tail": listed(
    "Follow what happens to deliveries, a line for each change",
    async () => (await import("./tail/tail.ts")).eventsTail,
  ),
  "deliveries list": listed(
    "List deliveries: one row for each event and endpoint",
    async () => (await import("./deliveries/list.ts")).deliveriesList,
  ),
  "deliveries show": listed(
    "Show one delivery with its attempts, and what is to come",
    async () => (await import("./deliveries/show.ts")).deliveriesShow,
  ),
  "deliveries attempt": listed(
    "Make one attempt now, outside the ladder, and say what came back",
    async () => (await import("./deliveries/attempt.ts")).deliveriesAttempt,
  ),
  "attempts list": listed(
    "List the attempts made for an event or a delivery, or to an endpoint",
    async () => (await import("./attempts/list.ts")).attemptsList,
  ),
  "attempts show": listed(
    "Show one attempt: its times, and all that is kept of the answer",
    async () => (await import("./attempts/show.ts")).attemptsShow,
  ),
  failures: listed(
    "Show what does not arrive, by endpoint and cause, and what to type about it",
    async () => (await import("./failures/failures.ts")).failures,
  ),
  replay: listed(
    "Send what failed once more: one event, or many by a plan that is shown first",
    async () => (await import("./replay/replay.ts")).replay,
  ),
  "jobs list": listed(
    "List jobs: what was done to many deliveries, and what is being done",
    async () => (await import("./jobs/list.ts")).jobsList,
  ),
  "jobs show": listed(
    "Show how far a job is, and what it came to",
    async () => (await import("./jobs/show.ts")).jobsShow,
  ),
  "jobs pause": listed(
    "Let a job take up nothing more until it is resumed",
    async () => (await import("./jobs/pause-resume-cancel.ts")).jobsPause,
  ),
  "jobs resume": listed(
    "Let a paused job go on",
    async () => (await import("./jobs/pause-resume-cancel.ts")).jobsResume,
  ),
  "jobs cancel": listed(
    "End a job: what it has not taken up stays as it is",
    async () => (await import("./jobs/pause-resume-cancel.ts")).jobsCancel,
  ),
  listen: listed(
    "Receive, verify and show what webhookd sends, on this machine",
    async () => (await import("./receiver/listen.ts")).listen,
  ),
  trigger: listed(
    "Make an event with sample data, and say what came back",
    async () => (await import("./receiver/trigger.ts")).trigger,
  ),
  demo: listed(
    "Show it all in one terminal: a daemon, two receivers and an event a second, in a temporary folder",
    async () => (await import("./receiver/demo.ts")).demo,
  ),
  verify: listed(
    "Check a signature, and say why it does not match: 0 or 8",
    async () => (await import("./receiver/verify.ts")).verify,
  ),
  sign: listed("Print the signature of a body", async () => (await import("./receiver/sign.ts")).sign),
  "keys create": listed("Make an API key; it is shown once", async () => (await import("./keys/create.ts")).keysCreate),
  "keys list": listed("List API keys", async () => (await import("./keys/list.ts")).keysList),
  "keys revoke": listed("End an API key at once", async () => (await import("./keys/revoke.ts")).keysRevoke),
  "config init": listed(
    "Write a configuration file that shows every setting at its default, or a systemd unit",
    async () => (await import("./config/init.ts")).configInit,
  ),
  "config check": listed(
    "Say everything that is wrong with the configuration: 0 when nothing is, else 8",
    async () => (await import("./config/check.ts")).configCheck,
  ),
  "config show": listed("Show every setting as it holds", async () => (await import("./config/show.ts")).configShow),
  doctor: listed(
    "Look for what is wrong: configuration, files, disk, clock, limits, daemon, endpoints; 8 when something is",
    async () => (await import("./doctor/doctor.ts")).doctor,
  ),
  backup: listed(
    "Make a backup on the daemon's host, in its [backup] dir",
    async () => (await import("./upkeep/backup.ts")).backup,
  ),
  restore: listed(
    "Put a backup in the store's place, while no daemon runs; it starts paused",
    async () => (await import("./upkeep/restore.ts")).restore,
  ),
  migrate: listed(
    "Take the store to this version's schema, while no daemon runs; a copy is made before",
    async () => (await import("./upkeep/migrate.ts")).migrate,
  ),
  "secrets reissue": listed(
    "Where secret.key is lost and no copy is left: give every endpoint a new signing secret, while no daemon runs",
    async () => (await import("./upkeep/reissue.ts")).secretsReissue,
  ),
  "secrets rekey": listed(
    "Seal everything with a new secret.key, whether a daemon runs or not; no endpoint's secret changes",
    async () => (await import("./upkeep/rekey.ts")).secretsRekey,
  ),
  completions: listed(
    "Print a script that completes what is typed after webhookd",
    async () => (await import("./completions/completions.ts")).completions,
  ),
} as const;

export type CommandName = keyof typeof COMMANDS;

/** Words that begin the names of several commands. */
export const GROUPS: Readonly<Record<string, string>> = {
  endpoints: "Where events go, and what signs them",
  events: "What happened: publish, look at, take back",
  deliveries: "One event owed to one endpoint",
  attempts: "One request made for a delivery, and what came back",
  jobs: "What is done to many deliveries at a pace",
  keys: "API keys",
  secrets: "secret.key, and what it seals",
  config: "The configuration",
};

/** What each first word is there for, in the order of the overview: the one page that is read before any other. */
export const PURPOSES: readonly { readonly title: string; readonly words: readonly string[] }[] = [
  { title: "THE DAEMON", words: ["serve", "status", "doctor", "pause", "resume"] },
  { title: "WHAT DOES NOT ARRIVE", words: ["tui", "failures", "replay", "jobs"] },
  { title: "WHAT THERE IS", words: ["endpoints", "events", "deliveries", "attempts"] },
  { title: "WRITING A RECEIVER", words: ["demo", "listen", "trigger", "verify", "sign"] },
  {
    title: "KEEPING IT",
    words: ["config", "keys", "backup", "restore", "migrate", "secrets", "completions", "version"],
  },
];

/** From nothing to the first event delivered. */
export const FIRST_RUN = ["webhookd serve --dev", "webhookd listen --register", "webhookd trigger budget.exceeded"];

/** Other names for the last word, which help does not mention. */
export const ALIASES: Readonly<Record<string, string>> = { ls: "list", get: "show", delete: "rm", remove: "rm" };
