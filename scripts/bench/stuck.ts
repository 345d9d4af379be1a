/**
 * Measures one ordering key whose first event keeps failing while 100,000 wait behind it: the memory of the daemon, and
 * how long the events of other keys of the same endpoint take.
 */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { DaemonUnderTest } from "./daemon.ts";
import { monotonic } from "./ledger.ts";
import { atMost, Measures, none, percentile, ratios, type Measure } from "./measure.ts";
import type { BenchOptions } from "./options.ts";
import { EVENT_TYPE } from "./payload.ts";
import { remove, scratch } from "./scratch.ts";
import { warmUp } from "./run.ts";
import { rssMiB } from "./usage.ts";

const WAITING = 100_000;
const BATCH = 100;
const OTHER_KEYS = 1000;
/** The pause between two events of other keys. */
const PACE_MS = 10;
const SECONDS = 15;
const ROUNDS = 2;
const SETTLE_MS = 10_000;
const POLL_MS = 20;

interface Sample {
  readonly grownMiB: number;
  readonly before: number;
  readonly after: number;
  readonly lost: number;
}

export async function stuck(options: BenchOptions): Promise<Measure[]> {
  const samples: Sample[] = [];
  for (let round = 1; round <= (options.rounds ?? ROUNDS); round++) samples.push(await run(options));
  const measures = new Measures("stuck");
  const each = (name: keyof Sample) => samples.map((sample) => sample[name]);
  measures.add(`memory with ${WAITING} waiting`, "MiB more", each("grownMiB"), atMost("stuck", 5, " MiB"));
  measures.add("other keys before: publish to arrival, p99", "ms", each("before"));
  measures.add("other keys after: publish to arrival, p99", "ms", each("after"));
  measures.add("after ÷ before", "×", ratios(each("after"), each("before")), atMost("stuck", 1.5));
  measures.add("other keys: lost", "", each("lost"), none("stuck"));
  return measures.all;
}

async function run({ threads, seconds, note }: BenchOptions): Promise<Sample> {
  const arrived = new Map<number, number>();
  const receiver = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request
      .on("data", (chunk: Buffer) => chunks.push(chunk))
      .on("end", () => {
        const { data } = JSON.parse(Buffer.concat(chunks).toString()) as { data: { n: number | null } };
        response.writeHead(data.n === null ? 500 : 200).end();
        if (data.n !== null && !arrived.has(data.n)) arrived.set(data.n, monotonic());
      });
  });
  await new Promise<void>((resolve) => receiver.listen(0, "127.0.0.1", resolve));
  const dir = scratch();
  // The retry of the stuck event is not due while this runs.
  const daemon = await DaemonUnderTest.start({ dir, threads, settings: { WEBHOOKD_RETRY_DELAYS: "1h" } });
  const call = async (path: string, body: object) => {
    const response = await fetch(`http://127.0.0.1:${daemon.port}/v1/webhooks${path}`, {
      method: "POST",
      headers: { authorization: `Bearer ${daemon.key}`, "content-type": "application/json" },
      body: JSON.stringify(body),
    });
    if (!response.ok) throw new Error(`${path} was answered ${response.status}: ${await response.text()}`);
    await response.arrayBuffer();
  };
  let numbers = 0;
  let lost = 0;
  /** Publishes events of other keys for a while. Returns the p99 from publish to arrival, and the memory at the end. */
  const others = async (length: number) => {
    const sent: (readonly [n: number, at: number])[] = [];
    const answered: Promise<void>[] = [];
    for (const until = monotonic() + length * 1000; monotonic() < until; await sleep(PACE_MS)) {
      const n = numbers++;
      sent.push([n, monotonic()]);
      answered.push(call("/events", { type: EVENT_TYPE, data: { n }, ordering_key: `key-${n % OTHER_KEYS}` }));
    }
    await Promise.all(answered);
    const isMissing = () => sent.some(([n]) => !arrived.has(n));
    for (const until = monotonic() + SETTLE_MS; monotonic() < until && isMissing(); await sleep(POLL_MS));
    const times = sent.map(([n, at]) => (arrived.get(n) ?? Number.POSITIVE_INFINITY) - at);
    lost += times.filter((time) => time === Number.POSITIVE_INFINITY).length;
    return { p99: percentile(times, 0.99), memory: rssMiB(daemon.pid) };
  };
  try {
    const { port } = receiver.address() as AddressInfo;
    await call("", { url: `http://127.0.0.1:${port}/`, events: [EVENT_TYPE], ordering: "by_key" });
    const length = seconds ?? SECONDS;
    const waits = { type: EVENT_TYPE, data: { n: null }, ordering_key: "stuck" };
    const warming = warmUp(daemon.pid, length);
    await others(length);
    await warming;
    const before = await others(length);
    for (let count = 0; count <= WAITING; count += BATCH) {
      await call("/events/batch", { events: Array.from({ length: BATCH }, () => waits) });
    }
    await others(length);
    const after = await others(length);
    note(`p99 ${before.p99.toFixed(1)} ms, and ${after.p99.toFixed(1)} ms with ${WAITING} waiting`);
    return { grownMiB: after.memory - before.memory, before: before.p99, after: after.p99, lost };
  } finally {
    await daemon.kill();
    receiver.close();
    receiver.closeAllConnections();
    remove(dir);
  }
}
