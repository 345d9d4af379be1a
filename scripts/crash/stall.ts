/**
 * Stops PostgreSQL for half a minute: publishers get an error in time, the nodes need little more memory and recover by
 * themselves, and nothing is lost. Before that, one commit takes long: its event must be sent once it is committed,
 * even though its due time comes after that of others.
 */
import { readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { withClient } from "../../test/harness/postgres.ts";
import type { ShownEvent } from "./api.ts";
import { monotonic } from "./journal.ts";
import type { Findings } from "./judge.ts";
import { resumedMs, untilQuiet, type NodeLife, type NodeLifeOptions } from "./node-life.ts";
import { onPrimaries, type Primaries } from "./primaries.ts";

export interface Stalls {
  readonly rounds: number;
  readonly findings: Findings;
  /** The number of publishes that got a 503 during the stalls. */
  readonly refused: number;
  /** The times from the end of each stall until each node acknowledged again. */
  readonly resumedMs: readonly number[];
  /** The memory by which a node grew in a stall, in MiB. */
  readonly grownMiB: readonly number[];
  /** The times from a slow commit until its event had been sent to all endpoints. */
  readonly lateMs: readonly number[];
}

const STALL_MS = 30_000;
const AFTER_MS = 15_000;
const LOADS = 8;
const LATE_MS = 3000;
const POLL_MS = 20;
/** The limits for these figures. */
export const RESUMED_AFTER_STALL_MS = 12_000;
export const GROWN_MIB = 100;
export const LATE_LIMIT_MS = 6000;

export function runStalls(options: NodeLifeOptions): Promise<Stalls> {
  return onPrimaries(options, (life, servers, primaryUrl) => rounds(options, life, servers, primaryUrl()));
}

async function rounds(
  { onProgress, rounds: count }: NodeLifeOptions,
  life: NodeLife,
  servers: Primaries,
  url: string,
): Promise<Stalls> {
  const { cluster } = life;
  const stalls: { readonly from: number; readonly until: number }[] = [];
  const grownMiB: number[] = [];
  const lateMs: number[] = [];
  await cluster.divided(url);
  for (let round = 1; round <= count; round++) {
    // The event would have to wait behind the backlog of the last stall.
    await untilQuiet(cluster.living[0]!.api);
    lateMs.push(await slowCommit(life, url, round));
    const loads = cluster.living.flatMap((node) => Array.from({ length: LOADS }, () => life.load(node)));
    await sleep(LATE_MS);
    const before = cluster.living.map(({ process }) => residentMiB(process.pid));
    const from = monotonic();
    servers.suspend();
    await sleep(STALL_MS);
    grownMiB.push(...cluster.living.map(({ process }, at) => residentMiB(process.pid) - before[at]!));
    servers.resume();
    stalls.push({ from, until: monotonic() });
    await sleep(AFTER_MS);
    await Promise.all(loads.map((load) => load.stop()));
    if (await life.noteEnded(round)) break;
    onProgress(round);
  }
  const generations = cluster.living.map(({ generation }) => generation);
  const { driver, findings } = await life.verdict();
  const refused = driver.flatMap((entry) => (entry.kind === "refused" ? entry : []));
  for (const { status, retryAfter } of refused) {
    if (status === 503 && retryAfter === null) findings.wrong.push("a 503 said nothing of when to come back");
  }
  return {
    rounds: stalls.length,
    findings,
    refused: refused.filter(({ at }) => stalls.some(({ from, until }) => at >= from && at <= until)).length,
    resumedMs: stalls.flatMap(({ until }) => generations.map((generation) => resumedMs(driver, generation, until))),
    grownMiB,
    lateMs,
  };
}

/** Publishes an event whose commit waits for another transaction, while other nodes commit. */
async function slowCommit(life: NodeLife, url: string, round: number): Promise<number> {
  const [first, second] = life.cluster.living;
  const key = `slow-${round}`;
  const publish = async (marker: string, idempotencyKey: string | null, through = first!) => {
    const [batch, type, data] = [life.next(), "budget.exceeded", `{"marker":"${marker}"}`];
    await life.journal.append({ kind: "intent", batch, type, items: [{ marker, data }] });
    const sentAt = monotonic();
    const body = `{"type":"${type}","data":${data}}`;
    const response = await through.api.post("/v1/webhooks/events", body, idempotencyKey);
    const answered = (await response.json()) as { id: string; created_at: string; delivery_count: number };
    const { generation } = through;
    await life.journal.append({ kind: "ack", batch, answered: [answered], generation, sentAt, ackedAt: monotonic() });
    return answered.id;
  };
  const slow = await withClient(url, async (client) => {
    await publish(`m-before-${round}`, null);
    await client.query("BEGIN");
    const { rowCount } = await client.query(
      `INSERT INTO idempotency (tenant, key, fingerprint, expires_at, answer)
       SELECT name, $1, '\\x00', 0, '' FROM tenant LIMIT 1`,
      [key],
    );
    if (rowCount !== 1) throw new Error("there is no tenant whose key could be held");
    const publishing = publish(`m-slow-${round}`, key);
    await sleep(LATE_MS);
    await publish(`m-after-${round}`, null, second!);
    await client.query("ROLLBACK");
    return publishing;
  });
  const committedAt = monotonic();
  for (;;) {
    const { deliveries } = await first!.api.get<ShownEvent>(`/v1/webhooks/events/${slow}`);
    if (deliveries.every(({ attempts }) => attempts > 0)) return monotonic() - committedAt;
    await sleep(POLL_MS);
  }
}

function residentMiB(pid: number): number {
  const pages = Number(readFileSync(`/proc/${pid}/statm`, "utf8").split(" ")[1]);
  return (pages * 4096) / 1024 / 1024;
}
