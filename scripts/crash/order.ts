/**
 * Checks order by key from outside, with duplicates removed: each receiver saw the events of a key in the order in
 * which they were acknowledged, and where a failure holds the key, nothing passed it.
 */
import type { Api, ShownAttempt } from "./api.ts";
import { isSuccess, type Batch, type History, type Request } from "./history.ts";
import { setTimeout as sleep } from "node:timers/promises";
import { monotonic, type Journal } from "./journal.ts";
import type { Shown } from "./shown.ts";
import { COUNTED, ENDPOINTS, planOf } from "./site.ts";

/** A delivery in a line. */
interface Lined {
  readonly delivery: string;
  readonly sequence: number;
  readonly batch: Batch;
  /** The place in the batch. */
  readonly at: number;
  readonly requests: readonly Request[];
  readonly attempts: readonly ShownAttempt[];
}

const HELD_LIMIT_MS = 60_000;
const POLL_MS = 100;

/**
 * Waits until nothing is due any more except behind held keys. Then frees these, because nobody replays what fails
 * twice, and keeps endpoints from holding any more.
 */
export async function freeKeys(api: Api, journal: Journal): Promise<void> {
  for (const until = monotonic() + HELD_LIMIT_MS; monotonic() < until && (await api.hasDue()); await sleep(POLL_MS));
  await journal.append({ kind: "freed", at: monotonic() });
  for await (const { id } of api.all<{ readonly id: string }>("/v1/webhooks?limit=100")) {
    const response = await api.send("PATCH", `/v1/webhooks/${id}`, `{"after_failure":"continue"}`);
    await response.arrayBuffer();
    if (response.status !== 200) throw new Error(`a change of an endpoint was answered ${response.status}`);
  }
}

/** Returns what is wrong, and how many pairs of neighbours in lines were compared. */
export function judgeOrder(history: History, shown: Shown): { readonly pairs: number; readonly wrong: string[] } {
  const wrong: string[] = [];
  let pairs = 0;
  for (const [line, all] of linesOf(history, shown)) {
    const [endpoint] = line.split(" ") as [string];
    const plan = ENDPOINTS.find(({ name }) => name === planOf(history.endpoints.get(endpoint) ?? ""));
    const freedAt = plan?.order === "hold" ? history.freedAt : -Infinity;
    all.sort((one, other) => one.sequence - other.sequence);
    for (const [index, next] of all.entries()) {
      if (next.sequence !== index + 1) wrong.push(`${next.delivery} has number ${next.sequence} in ${line}`);
      // A publish that began after this one's acknowledgement must have a later number.
      const late = all.slice(index + 1).find(({ batch }) => batch.ackedAt < next.batch.intendedAt);
      if (late !== undefined) wrong.push(`${late.delivery} was acked before ${next.delivery}, and comes after it`);
      const ahead = all[index - 1];
      if (ahead === undefined) continue;
      pairs++;
      const fault = faultOfPair(ahead, next, freedAt);
      if (fault !== null) wrong.push(fault);
    }
  }
  return { pairs, wrong };
}

/** Groups the deliveries that have a number by their endpoints and keys. */
function linesOf({ batches, requests }: History, { events, attempts }: Shown): Map<string, Lined[]> {
  const items = new Map(
    batches.flatMap((batch) => batch.items.map((item, at) => [item.marker, { batch, at, item }] as const)),
  );
  const lines = new Map<string, Lined[]>();
  for (const { data, deliveries } of events) {
    const published = items.get(data.marker);
    for (const { id: delivery, endpoint, sequence } of deliveries) {
      if (sequence === null || published === undefined) continue;
      const line = `${endpoint} ${published.item.orderingKey}`;
      const some = lines.get(line) ?? [];
      const { batch, at } = published;
      const own = { requests: requests.get(delivery) ?? [], attempts: attempts.get(delivery) ?? [] };
      some.push({ delivery, sequence, batch, at, ...own });
      lines.set(line, some);
    }
  }
  return lines;
}

/** `freedAt` is the time from which an event that has failed may be passed. */
function faultOfPair(ahead: Lined, next: Lined, freedAt: number): string | null {
  if (ahead.batch === next.batch && ahead.at > next.at) {
    return `${next.delivery} was published before ${ahead.delivery} in one batch, and comes after it`;
  }
  const first = Math.min(...next.requests.map(({ at }) => at));
  if (first === Infinity) return null;
  const isDelivered = ahead.requests.some(({ at, answer }) => at < first && isSuccess(answer));
  if (isDelivered || (first >= freedAt && hadFailedBy(ahead, first))) return null;
  return `${next.delivery} was sent before ${ahead.delivery}, which is ahead of it, was over`;
}

/** True if all attempts of the first round were made before that time, and failed. */
function hadFailedBy({ requests, attempts }: Lined, time: number): boolean {
  const last = attempts.filter(({ round, outcome }) => round === 1 && outcome === "failed")[COUNTED - 1];
  if (last === undefined) return false;
  // A slow receiver may read a request that timed out after the requests that followed it.
  if (last.error === "timeout") return true;
  const made = requests.filter(({ attempt }) => attempt === last.number);
  return made.length === 0 || made.some(({ at }) => at < time);
}
