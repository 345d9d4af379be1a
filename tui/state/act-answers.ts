/** Describes the result of each act in a few words, and updates what is known until the daemon is asked again. */
import type { Answers, Attempt, Job } from "../../src/client/operations.ts";
import { shortId, tookText } from "../draw/numbers.ts";
import { FATES } from "../draw/status.ts";
import type { Answered } from "../model/call.ts";
import type { Known } from "../model/known.ts";
import type { State, Toast } from "../model/state.ts";
import { withJob } from "./jobs.ts";
import { KEY } from "../keys/names.ts";

type Outcome = Pick<Toast, "text" | "tone">;
type Said<O extends keyof Answers> = (answer: Answers[O], ask: Answered["call"]["ask"]) => string | Outcome;

const SAYS: { readonly [O in keyof Answers]?: Said<O> } = {
  replayEvent: ({ left_alone: left }) =>
    left === undefined || left.length === 0 ? "queued" : `queued; ${left.length} not replayed (endpoint disabled)`,
  registerEndpoint: ({ id }) => `added as ${id}`,
  changeEndpoint: ({ enabled, when_disabled: when }, { body }) => {
    if (!("enabled" in (body as object))) return "changed";
    if (enabled) return "its held deliveries are being sent";
    return `nothing more is sent to it; its new events are ${FATES[when]}`;
  },
  deleteEndpoint: () => "its past deliveries stay listed",
  rotateSecret: ({ switches_at: at }) =>
    at === undefined ? "the new secret is in use from now on" : `the next secret takes over at ${at}`,
  completeRotation: () => "the next secret has taken over",
  abandonRotation: () => "the next secret is discarded; the current one stays in use",
  sendTestEvent: testOutcome,
  attemptDelivery: () => "requested; the result will be shown here",
  cancelEvent: ({ cancelled, status }) => `${cancelled} cancelled; the event is ${status}`,
  pauseDaemon: () => `no attempt starts until you press ${KEY.pauseSending} to resume`,
  resumeDaemon: () => "attempts start again",
  createJob: (job) => ("id" in job ? `running as ${shortId(job.id)}; press 5 to see or stop it` : "planned"),
  pauseJob: () => `paused; press ${KEY.pauseJob} to resume it`,
  resumeJob: () => "resumed",
  cancelJob: ({ done, matched }) => `cancelled; ${done} of ${matched} were done`,
};

export function outcomeOf({ call, answer }: Answered): Outcome {
  const say = SAYS[call.operation] as Said<never> | undefined;
  const said = say?.(answer as never, call.ask) ?? "done";
  return typeof said === "string" ? { text: said, tone: "good" } : said;
}

function testOutcome(answer: Answers["sendTestEvent"]): Outcome {
  // While sending is paused, the event waits.
  if (!("outcome" in answer)) return { text: "no answer yet; is sending paused?", tone: "plain" };
  const result = testResult(answer);
  if (answer.outcome === "succeeded") return { text: result, tone: "good" };
  return { text: [result, answer.detail].filter((part) => part !== "").join(": "), tone: "bad" };
}

/** Returns `503 in 12 ms`. */
export function testResult({ outcome, status_code: status, error, duration_ms: took }: Attempt): string {
  return `${status ?? error ?? outcome} in ${tookText(took)}`;
}

/** Applies what the response says, because the daemon itself is asked only now and then. */
export function knownAfter(known: Known, { call, answer }: Answered, now: number): Known {
  const { id = "" } = call.ask;
  switch (call.operation) {
    case "rotateSecret":
      return withSwitch(known, id, (answer as Answers["rotateSecret"]).switches_at ?? null);
    case "completeRotation":
    case "abandonRotation":
      return withSwitch(known, id, null);
    case "pauseDaemon":
    case "resumeDaemon":
      return withPause(known, (answer as Answers["pauseDaemon" | "resumeDaemon"]).paused);
    case "sendTestEvent":
      if (!("outcome" in (answer as object))) return known;
      return { ...known, tested: new Map(known.tested).set(id, { attempt: answer as Attempt, at: now }) };
    case "createJob":
    case "pauseJob":
    case "resumeJob":
    case "cancelJob":
      return withJob(known, answer as Job, now);
    default:
      return known;
  }
}

function withSwitch(known: Known, id: string, at: string | null): Known {
  return { ...known, switches: new Map(known.switches).set(id, at) };
}

function withPause(known: Known, paused: Answers["pauseDaemon" | "resumeDaemon"]["paused"]): Known {
  if (known.status === null) return known;
  return { ...known, status: { ...known.status, value: { ...known.status.value, paused } } };
}

/** Returns the instant at which the next secret takes over. Null if no rotation is known. */
export function switchesAt({ known, now }: State, id: string): string | null {
  const switches = known.switches.get(id);
  const at = switches === undefined ? (known.endpoints.get(id)?.secret_switches_at ?? null) : switches;
  return at !== null && Date.parse(at) > now ? at : null;
}
