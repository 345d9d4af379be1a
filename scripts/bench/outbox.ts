/**
 * Measures an outbox in a PostgreSQL on the same machine: how fast a backlog of rows is drained, and how long a row
 * takes from its COMMIT until the receiver has the request.
 */
import { writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { withClient } from "../../test/harness/postgres.ts";
import { postgresSql } from "../../src/domain/outbox/init-sql.ts";
import { DEFAULT_TABLE } from "../../src/domain/outbox/outbox.ts";
import { Primaries } from "../crash/primaries.ts";
import { DaemonUnderTest } from "./daemon.ts";
import { monotonic } from "./ledger.ts";
import { atLeast, atMost, Measures, none, percentile, type Measure } from "./measure.ts";
import type { BenchOptions } from "./options.ts";
import { EVENT_TYPE } from "./payload.ts";
import { remove, scratch } from "./scratch.ts";

const ROWS = 30_000;
const PER_SECOND = 100;
const SECONDS = 20;
const ROUNDS = 3;
const POLL_MS = 20;

export async function outbox({ note, threads, ...given }: BenchOptions): Promise<Measure[]> {
  const [rounds, seconds] = [given.rounds ?? ROUNDS, given.seconds ?? SECONDS];
  const servers = await Primaries.start({ standby: false });
  if (servers === null) {
    note("skipped: there is no PostgreSQL for this platform");
    return [];
  }
  const arrived = new Map<number, number>();
  const receiver = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request
      .on("data", (chunk: Buffer) => chunks.push(chunk))
      .on("end", () => {
        const at = monotonic();
        response.end();
        const { data } = JSON.parse(Buffer.concat(chunks).toString()) as { data: { n: number } };
        if (!arrived.has(data.n)) arrived.set(data.n, at);
      });
  });
  await new Promise<void>((resolve) => receiver.listen(0, "127.0.0.1", resolve));
  const dir = scratch();
  const url = servers.primaryUrl("postgres");
  const settings = { WEBHOOKD_RETRY_TIMEOUT: "1m" };
  try {
    await withClient(url, async (client) => {
      await client.query("CREATE ROLE webhookd LOGIN");
      await client.query(postgresSql({ table: DEFAULT_TABLE, tenantColumn: null, role: "webhookd" }));
    });
    const own = url.replace("test@", "webhookd@");
    writeFileSync(join(dir, "webhookd.toml"), `[[outbox]]\nname = "bench"\nurl = "${own}"\n`);
    const daemon = await DaemonUnderTest.start({ dir, threads, settings });
    try {
      const { port } = receiver.address() as AddressInfo;
      await daemon.register(`http://127.0.0.1:${port}/`);
      const [drained, delivering]: [number[], number[]] = [[], []];
      for (let round = 1; round <= rounds; round++) {
        // While sending is paused, nothing but the outbox uses the machine.
        await call(daemon, "pause");
        drained.push(await drain(url));
        await call(daemon, "resume");
        await until(() => arrived.size >= ROWS);
        arrived.clear();
        delivering.push(await drain(url));
        await until(() => arrived.size >= ROWS);
        arrived.clear();
        note(`round ${round}: ${drained.at(-1)!.toFixed(0)} rows/s, ${delivering.at(-1)!.toFixed(0)} while delivering`);
      }
      const [p50, p99, lost]: [number[], number[], number[]] = [[], [], []];
      for (let round = 1; round <= rounds; round++) {
        arrived.clear();
        const committed = await commits(url, seconds);
        await until(() => arrived.size >= committed.size).catch(() => {});
        const delays = [...committed].flatMap(([n, at]) => (arrived.has(n) ? [arrived.get(n)! - at] : []));
        p50.push(percentile(delays, 0.5));
        p99.push(percentile(delays, 0.99));
        lost.push(committed.size - delays.length);
        note(`round ${round}: p50 ${p50.at(-1)!.toFixed(1)} ms, p99 ${p99.at(-1)!.toFixed(1)} ms`);
      }
      const measures = new Measures("outbox");
      measures.add("drained", "rows/s", drained, atLeast("", 5000));
      measures.add("drained while delivering", "rows/s", delivering);
      measures.add("commit to request, p50", "ms", p50, atMost("", 15, " ms"));
      measures.add("commit to request, p99", "ms", p99, atMost("", 50, " ms"));
      measures.add("lost", "", lost, none(""));
      return measures.all;
    } finally {
      await daemon.stop();
    }
  } finally {
    receiver.closeAllConnections();
    receiver.close();
    await servers.stop();
    remove(dir);
  }
}

async function call({ port, key }: DaemonUnderTest, what: "pause" | "resume"): Promise<void> {
  const response = await fetch(`http://127.0.0.1:${port}/v1/${what}`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    ...(what === "pause" && { body: JSON.stringify({ reason: "to measure" }) }),
  });
  if (response.status !== 200) throw new Error(`${what} was answered ${response.status}`);
}

/** Inserts a backlog in one transaction, and returns the rows per second that are published and deleted. */
async function drain(url: string): Promise<number> {
  return withClient(url, async (client) => {
    await client.query(
      `INSERT INTO ${DEFAULT_TABLE} (type, data)
       SELECT '${EVENT_TYPE}', json_build_object('n', n, 'text', repeat('x', 200)) FROM generate_series(1, ${ROWS}) AS n`,
    );
    const begun = monotonic();
    for (;;) {
      const { rows } = await client.query<{ left: boolean }>(
        `SELECT EXISTS (SELECT 1 FROM ${DEFAULT_TABLE} WHERE problem IS NULL) AS left`,
      );
      if (!rows[0]!.left) return (ROWS / (monotonic() - begun)) * 1000;
      await sleep(POLL_MS);
    }
  });
}

/** Commits rows at a constant pace. Returns when each COMMIT was sent. */
async function commits(url: string, seconds: number): Promise<ReadonlyMap<number, number>> {
  return withClient(url, async (client) => {
    const sent = new Map<number, number>();
    const begun = monotonic();
    for (let n = 0; n < seconds * PER_SECOND; n++) {
      await sleep(Math.max(0, begun + (n / PER_SECOND) * 1000 - monotonic()));
      const id = 1_000_000 + n;
      await client.query("BEGIN");
      await client.query(`INSERT INTO ${DEFAULT_TABLE} (type, data) VALUES ($1, $2)`, [
        EVENT_TYPE,
        JSON.stringify({ n: id }),
      ]);
      sent.set(id, monotonic());
      await client.query("COMMIT");
    }
    return sent;
  });
}

async function until(done: () => boolean, withinMs = 120_000): Promise<void> {
  const end = monotonic() + withinMs;
  while (!done()) {
    if (monotonic() > end) throw new Error("it took too long");
    await sleep(POLL_MS);
  }
}
