/**
 * Measures searches among the events of an hour at 1,000 per second, or among `--events`: by a field of their data,
 * page by page to the end, and by a tag and the publisher's id, which have an index.
 */
import { hash, randomBytes } from "node:crypto";
import { existsSync, renameSync } from "node:fs";
import { join } from "node:path";
import Database from "better-sqlite3";
import { envelope } from "../../src/domain/events/event.ts";
import { MIGRATIONS } from "../../src/store/sqlite/engine/schema.ts";
import { DaemonUnderTest } from "./daemon.ts";
import { monotonic } from "./ledger.ts";
import { get } from "./lists.ts";
import { atMost, Measures, percentile, type Measure } from "./measure.ts";
import type { BenchOptions } from "./options.ts";
import { EVENT_TYPE } from "./payload.ts";
import { CACHE, scratch } from "./scratch.ts";
import { copyStore } from "./seed.ts";
import { Trial } from "./trial.ts";
import { cpuMs } from "./usage.ts";
import { DELIVERED, eventId, firstKeyAt, RandomChars, triggerCode } from "../../src/store/rows/codes.ts";

const EVENTS = 3_600_000;
const HOUR_MS = 3_600_000;
const CUSTOMERS = 50_000;
const TAGS = 5000;
const NOWHERE = "http://127.0.0.1:61999/nowhere";
const DATA_MS = 2000;
const LABEL_MS = 20;
const ROUNDS = 5;
const LOOKS = 50;
/** The number of events per commit while seeding. */
const STEP = 100_000;

interface Page {
  readonly data: readonly unknown[];
  readonly next_cursor: string | null;
  readonly searched?: { readonly events: number };
}

export async function search(options: BenchOptions): Promise<Measure[]> {
  const events = options.events ?? EVENTS;
  const kept = await searchStore(events, options.note);
  const trial = await Trial.start({ threads: options.threads, prepare: (dir) => copyStore(kept, dir) });
  const { daemon } = trial;
  const measures = new Measures("search");
  const [wall, cpu, first, pages]: number[][] = [[], [], [], []];
  for (let round = 0; round < (options.rounds ?? ROUNDS); round++) {
    const [begun, used] = [monotonic(), cpuMs(daemon.pid)];
    const seen = { events: 0, found: 0, pages: 0 };
    for (let cursor: string | null = ""; cursor !== null; seen.pages++) {
      const from: string = cursor === "" ? "" : `&cursor=${encodeURIComponent(cursor)}`;
      const path = `/v1/webhooks/events?limit=100&data=customer_id:${customerOf(round)}${from}`;
      const page = JSON.parse(await get(daemon, path)) as Page;
      if (seen.pages === 0) first!.push(monotonic() - begun);
      seen.found += page.data.length;
      seen.events += page.searched!.events;
      cursor = page.next_cursor;
    }
    wall!.push(monotonic() - begun);
    cpu!.push(cpuMs(daemon.pid) - used);
    pages!.push(seen.pages);
    const expected = Math.floor((events - round - 1) / CUSTOMERS) + 1;
    if (seen.found !== expected) throw new Error(`found ${seen.found} events of ${expected}`);
  }
  measures.add(`by a field, ${events} events: to the end`, "ms", wall!, atMost("search", DATA_MS));
  measures.add("by a field: CPU", "ms", cpu!);
  measures.add("by a field: until the first report of progress", "ms", first!);
  measures.add("by a field: pages", "", pages!);
  for (const [name, query] of [
    ["publisher's id", (n: number) => `publisher_id=${orderOf(n * 7)}`],
    ["tag", (n: number) => `tag=${tagOf(n)}`],
    ["either", (n: number) => `label=${tagOf(n)}`],
  ] as const) {
    const times: number[] = [];
    for (let n = 0; n < LOOKS; n++) {
      const begun = monotonic();
      await get(daemon, `/v1/webhooks/events?limit=100&${query(n)}`);
      times.push(monotonic() - begun);
    }
    measures.add(`by ${name}: p99`, "ms", [percentile(times, 0.99)], atMost("search", LABEL_MS));
    measures.add(`by ${name}: p50`, "ms", [percentile(times, 0.5)]);
  }
  await trial.end("kill");
  return measures.all;
}

const customerOf = (n: number) => `cus_${String(n % CUSTOMERS).padStart(6, "0")}`;
const orderOf = (n: number) => `order-${String(n).padStart(8, "0")}`;
const tagOf = (n: number) => `batch-${String(n).padStart(5, "0")}`;

/** Returns the directory of the store, which is created if it does not exist. */
async function searchStore(events: number, note: (text: string) => void): Promise<string> {
  const made = JSON.stringify([events, CUSTOMERS, TAGS, MIGRATIONS]);
  const kept = join(CACHE, `search-${hash("sha256", made).slice(0, 12)}`);
  if (existsSync(kept)) return kept;
  note(`seeding a store: ${events} events of an hour`);
  const dir = scratch();
  const daemon = await DaemonUnderTest.start({ dir, threads: null });
  await daemon.register(NOWHERE, "default");
  await daemon.stop();
  fill(join(dir, "data/webhookd.db"), events);
  renameSync(dir, kept);
  return kept;
}

/** Returns about 300 bytes, with a customer and an order that look like those of other events. */
function bodyOf(id: string, at: number, index: number): Buffer {
  const data = {
    customer_id: customerOf(index),
    order: orderOf(index),
    amount: { value: `${index % 9999}.${index % 100}`, currency: "EUR" },
    note: "The parcel is on its way and will be there tomorrow.",
    lines: [{ sku: `sku-${index % 777}`, count: index % 9 }],
  };
  return envelope(id, EVENT_TYPE, at, Buffer.from(JSON.stringify(data)));
}

function fill(file: string, events: number): void {
  const db = new Database(file);
  db.pragma("synchronous = OFF");
  db.pragma("cache_size = -400000");
  const endpoint = db.prepare("SELECT number FROM endpoint").pluck().get();
  const tenant = db.prepare("SELECT num FROM tenant WHERE name = 'default'").pluck().get();
  const type = db.prepare("SELECT num FROM event_type WHERE name = ?").pluck().get(EVENT_TYPE);
  const event = db.prepare(
    `INSERT INTO event (key, random, tenant, type, created_at, test, unmatched, body_hash, body)
     VALUES (?, ?, ?, ?, ?, 0, 0, ?, ?)`,
  );
  const delivery = db.prepare(
    `INSERT INTO delivery (event, endpoint, status, attempts, round, retry, trigger, due_at)
     VALUES (?, ?, ?, 0, 1, 0, ?, NULL)`,
  );
  const label = db.prepare("INSERT INTO event_label (kind, label, tenant, event) VALUES (?, ?, ?, ?)");
  const random = new RandomChars(randomBytes);
  const begun = Date.now() - HOUR_MS;
  const keys: number[] = [];
  for (let from = 0; from < events; from += STEP) {
    db.transaction(() => {
      for (let index = from; index < Math.min(from + STEP, events); index++) {
        const at = begun + Math.floor((index * HOUR_MS) / events);
        const key = firstKeyAt(at) + (index % 16);
        const chars = random.next();
        const body = bodyOf(eventId(key, chars), at, index);
        event.run(key, chars, tenant, type, at, hash("sha256", body, "buffer"), body);
        delivery.run(key, endpoint, DELIVERED, triggerCode("ladder"));
        keys.push(key);
      }
    })();
  }
  // Insert in the order of the index, because that is fast.
  db.transaction(() => {
    for (const [index, key] of keys.entries()) label.run(0, orderOf(index), tenant, key);
    for (let tag = 0; tag < TAGS; tag++) {
      for (let index = tag; index < events; index += TAGS) label.run(1, tagOf(tag), tenant, keys[index]);
    }
  })();
  db.pragma("wal_checkpoint(TRUNCATE)");
  db.close();
}
