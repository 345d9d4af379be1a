/** A row of the table for each command. The files beside this one hold the rows. */
import type { CommandName } from "../../../cli/commands.ts";
import type { Case, CaseElsewhere } from "./case.ts";
import { COMPLETIONS_CASES } from "./completions.ts";
import { CONFIG_CASES } from "./config.ts";
import { DAEMON_CASES } from "./daemon.ts";
import { ATTEMPTS_CASES, DELIVERIES_CASES } from "./deliveries.ts";
import { DOCTOR_CASES } from "./doctor.ts";
import { ENDPOINTS_CASES } from "./endpoints.ts";
import { EVENTS_CASES } from "./events.ts";
import { FAILURES_CASES, STATS_CASES } from "./failures.ts";
import { IMPORT_CASES } from "./import.ts";
import { JOBS_CASES } from "./jobs.ts";
import { AUDIT_CASES, KEYS_CASES, PORTAL_CASES, SIGNING_KEYS_CASES, TENANTS_CASES } from "./keys.ts";
import { NODES_CASES } from "./nodes.ts";
import { OUTBOX_CASES } from "./outbox.ts";
import { RECEIVER_CASES } from "./receiver.ts";
import { REPLAY_CASES } from "./replay.ts";
import { TYPES_CASES } from "./types.ts";
import { TUI_CASES } from "./tui.ts";
import { TAIL_CASES } from "./tail.ts";
import { UPKEEP_CASES } from "./upkeep.ts";

export const CASES: { readonly [N in CommandName]: Case | CaseElsewhere } = {
  ...DAEMON_CASES,
  ...TUI_CASES,
  ...ENDPOINTS_CASES,
  ...EVENTS_CASES,
  ...TYPES_CASES,
  ...TAIL_CASES,
  ...DELIVERIES_CASES,
  ...ATTEMPTS_CASES,
  ...FAILURES_CASES,
  ...STATS_CASES,
  ...REPLAY_CASES,
  ...JOBS_CASES,
  ...RECEIVER_CASES,
  ...NODES_CASES,
  ...OUTBOX_CASES,
  ...KEYS_CASES,
  ...SIGNING_KEYS_CASES,
  ...PORTAL_CASES,
  ...TENANTS_CASES,
  ...IMPORT_CASES,
  ...AUDIT_CASES,
  ...CONFIG_CASES,
  ...DOCTOR_CASES,
  ...COMPLETIONS_CASES,
  ...UPKEEP_CASES,
};
