/** What to do about a delivery that does not arrive, by what its latest attempt came to and for how long. */
import type { AttemptError, Phases } from "../deliveries/attempt.ts";
import { BY_STATUS, OTHER_STATUS } from "./answered.ts";
import { type Blame, type CommandKey, COMMANDS, type Row, type Subject } from "./row.ts";
import { BY_ERROR, BY_MISSED_STEP, BY_TLS_CODE } from "./unanswered.ts";

/** A failure, as far as it is known. */
export interface Trouble {
  readonly error: AttemptError | null;
  readonly status: number | null;
  /** For how long attempts have failed like this, in milliseconds. */
  readonly lastsMs: number;
  /** The latest attempt, where it has been read. Its sentence names the code of a TLS fault. */
  readonly sample?: {
    readonly url: string;
    readonly detail: string;
    readonly remoteAddress: string | null;
    readonly phases: Phases;
  };
}

export interface Advice {
  readonly meaning: string;
  readonly blame: Blame;
  /** What waiting will do. */
  readonly outlook: string;
  /** What the people who run the receiver must do. */
  readonly receiver: string;
  readonly commands: readonly { readonly purpose: string; readonly line: string }[];
  /** What to tell the customer. */
  readonly customer: string;
}

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

export function adviceOn(trouble: Trouble, subject: Subject): Advice {
  const { kind, type, ...row } = rowOf(trouble);
  const holds = trouble.lastsMs >= DAY_MS && row.blame !== "this host" && !type.includes("skip");
  const keys: readonly CommandKey[] = holds ? [...type, "hold"] : type;
  const commands = keys.map((key) => ({ purpose: COMMANDS[key][0], line: COMMANDS[key][1](subject) }));
  return { ...row, outlook: outlookOf(kind, trouble.lastsMs), commands };
}

function outlookOf(kind: Row["kind"], lastsMs: number): string {
  if (kind === "standing") return "Waiting does not help.";
  if (lastsMs < HOUR_MS) return "It may pass: retries continue.";
  return lastsMs < DAY_MS ? "It has lasted for hours: tell them." : "It has lasted for more than a day: tell them.";
}

function rowOf({ error, status, sample }: Trouble): Row {
  switch (error) {
    case null:
    case "http_status":
      return BY_STATUS.find(([matches]) => matches(status ?? 0))?.[1] ?? OTHER_STATUS;
    case "timeout":
      return BY_MISSED_STEP[sample === undefined ? "answer" : missedStep(sample)];
    case "tls_error":
      return BY_TLS_CODE.find(([code]) => code.test(sample?.detail ?? ""))![1];
    default:
      return BY_ERROR[error];
  }
}

/** An attempt on a kept connection has no step before the answer, but an address. */
function missedStep({ url, remoteAddress, phases }: NonNullable<Trouble["sample"]>): keyof typeof BY_MISSED_STEP {
  const { dnsMs, connectMs, tlsMs } = phases;
  if (connectMs !== null) return tlsMs === null && url.startsWith("https:") ? "tls" : "answer";
  if (dnsMs !== null) return "connect";
  return remoteAddress === null ? "dns" : "answer";
}
