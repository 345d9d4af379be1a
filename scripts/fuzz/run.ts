/** Sends the requests to one process, and judges the responses. */
import { Patience, play } from "./connection.ts";
import { type Mode, Victim } from "./modes.ts";
import { planOf } from "./requests.ts";
import { readResponses } from "./responses.ts";

export interface Round {
  readonly mode: Mode;
  readonly home: string;
  readonly seed: number;
  /** The minimum number of requests to write. */
  readonly requests: number;
  /** Only this connection of the round. Null for all. */
  readonly only: number | null;
}

export interface Outcome {
  readonly mode: Mode;
  readonly connections: number;
  readonly requests: number;
  readonly responses: number;
  /** The number of responses with each status. */
  readonly statuses: Readonly<Record<string, number>>;
  /** The memory in MiB, after a quarter of the requests and at the end. Null on a system without /proc. */
  readonly rssMib: readonly [quarter: number | null, end: number | null];
  readonly seconds: number;
  /** All violations. Each names the connection that repeats it. */
  readonly faults: readonly string[];
}

/** The number of concurrent connections. */
const CONNECTIONS = 24;
/** The codes of 5xx responses that are intended, because there is no capacity at the moment. */
export const DELIBERATE: ReadonlySet<string | null> = new Set(["overloaded"]);
/**
 * The maximum growth between a quarter of the requests and all of them. Node's memory varies by half of this when idle.
 */
export const RSS_BOUND_MIB = 64;
const MOST_FAULTS = 20;

export async function runRound({ mode, home, seed, requests: wanted, only }: Round): Promise<Outcome> {
  const victim = await Victim.start(mode, home);
  const statuses: Record<string, number> = {};
  const faults: string[] = [];
  const fault = (text: string) => faults.length < MOST_FAULTS && faults.push(text);
  const begun = performance.now();
  let [requests, responses, next, quarter] = [0, 0, only ?? 0, null as number | null];
  const patience = new Patience();
  const underWay = new Set<number>();
  const playSome = async () => {
    while (requests < wanted && victim.end === null && faults.length < MOST_FAULTS) {
      const index = next++;
      underWay.add(index);
      const plan = planOf(seed, index, victim.kind);
      const { text, sent, isCut } = await play(victim.place, plan, patience);
      // Keep the connections that ended with the process, because one of them ended it.
      if (victim.end === null) underWay.delete(index);
      requests += sent;
      const read = readResponses(text, { hasHead: plan.hasHead, isCut });
      if (read.fault !== null) fault(`connection ${index}: ${read.fault}`);
      for (const { status, code } of read.responses) {
        responses++;
        statuses[status] = (statuses[status] ?? 0) + 1;
        if (status >= 500 && !DELIBERATE.has(code)) fault(`connection ${index}: was answered ${status} ${code ?? ""}`);
      }
      if (quarter === null && requests >= wanted / 4) quarter = victim.rss();
      if (only !== null) return;
    }
  };
  await Promise.all(Array.from({ length: only === null ? CONNECTIONS : 1 }, playSome));
  const end = victim.rss();
  const seconds = (performance.now() - begun) / 1000;
  if (victim.end === null) {
    const status = await victim.goodRequest().catch((error: Error) => error.message);
    if (typeof status === "string" || status > 299) fault(`a good request was answered ${status}`);
    const stopped = await victim.stop();
    if (stopped !== "exit code 0") fault(`it was told to stop, and ended with ${stopped}`);
  } else fault(`the process ended with ${victim.end}; one of these did it: ${[...underWay].join(", ")}`);
  for (const line of victim.errors) fault(`it logged an error: ${line}`);
  const grown = quarter === null || end === null ? 0 : end - quarter;
  if (grown > RSS_BOUND_MIB) fault(`it grew by ${grown.toFixed(0)} MiB, and ${RSS_BOUND_MIB} are allowed`);
  return { mode, connections: next, requests, responses, statuses, rssMib: [quarter, end], seconds, faults };
}
