/** Every command there is, by its words. Each noun's folder holds what its commands take, and a file for each to run. */
import type { ArgsOf } from "./command.ts";
import { ATTEMPTS } from "./attempts/commands.ts";
import { COMPLETIONS } from "./completions/commands.ts";
import { CONFIGURATION } from "./config/commands.ts";
import { DOCTOR } from "./doctor/commands.ts";
import { DAEMON } from "./daemon/commands.ts";
import { DELIVERIES } from "./deliveries/commands.ts";
import { ENDPOINTS } from "./endpoints/commands.ts";
import { EVENTS } from "./events/commands.ts";
import { FAILURES } from "./failures/commands.ts";
import { JOBS } from "./jobs/commands.ts";
import { KEYS } from "./keys/commands.ts";
import { RECEIVER } from "./receiver/commands.ts";
import { REPLAY } from "./replay/commands.ts";
import { TUI } from "./tui/commands.ts";
import { TAIL } from "./tail/commands.ts";
import { UPKEEP } from "./upkeep/commands.ts";

/** In the order of the help. */
export const COMMANDS = {
  ...DAEMON,
  ...TUI,
  ...ENDPOINTS,
  ...EVENTS,
  ...TAIL,
  ...DELIVERIES,
  ...ATTEMPTS,
  ...FAILURES,
  ...REPLAY,
  ...JOBS,
  ...RECEIVER,
  ...KEYS,
  ...CONFIGURATION,
  ...DOCTOR,
  ...UPKEEP,
  ...COMPLETIONS,
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

export type Args<N extends CommandName> = ArgsOf<(typeof COMMANDS)[N]["args"]>;
