import { cpSync, existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Database from "better-sqlite3";
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from "vitest";
import { openStore } from "../../../src/store/opening/open.ts";
import { GroupCommit } from "../../../src/store/sqlite/engine/group-commit.ts";
import type { Claim } from "../../../src/domain/deliveries/delivery.ts";
import type { Store } from "../../../src/store/store.ts";
import { ManualClock } from "../../harness/clock.ts";
import { overwrite, pagesOf, type PageOf } from "../../harness/pages.ts";
import { addEndpoint, BEGINNING, again, delivered, draft, failed, withoutCapacity, START } from "../fixtures.ts";
import { optionsOf, temporaryDirectory } from "../stores.ts";

const ENDPOINTS = 4;
const EVENTS = 400;

interface Site {
  readonly dir: string;
  readonly file: string;
  readonly endpoints: readonly string[];
  /** Deliveries by their state before the damage, as `event endpoint`. */
  readonly owed: ReadonlySet<string>;
  readonly done: ReadonlySet<string>;
  readonly delivered: ReadonlySet<string>;
}

const nameOf = ({ event, endpoint }: Pick<Claim, "event" | "endpoint">) => `${event} ${endpoint}`;

/** Makes a store with deliveries of every kind, and closes it. */
async function aStore(dir: string): Promise<Site> {
  const { store } = await openStore(optionsOf({ dir }));
  const endpoints: string[] = [];
  for (let n = 0; n < ENDPOINTS; n++) endpoints.push(await addEndpoint(store, { url: `https://r${n}.example/` }));
  for (let n = 0; n < EVENTS; n += 100) {
    const drafts = Array.from({ length: 100 }, () => draft({ data: Buffer.from(`{"text":"${"x".repeat(300)}"}`) }));
    await store.events.publish(drafts, START, withoutCapacity);
  }
  const owed = new Set<string>();
  const done = new Set<string>();
  const sent = new Set<string>();
  for (const endpoint of endpoints) {
    for (const [at, claim] of (await dueOf(store, endpoint)).entries()) {
      const late = { ...failed(claim), startedAt: START + 5000 };
      const result = [delivered(claim), late, again(claim, START + 1000), null][at % 4]!;
      if (result !== null) await store.deliveries.record([result]);
      (at % 4 < 2 ? done : owed).add(nameOf(claim));
      if (at % 4 === 0) sent.add(nameOf(claim));
    }
  }
  await store.close();
  return { dir, file: join(dir, "webhookd.db"), endpoints, owed, done, delivered: sent };
}

async function dueOf(store: Store, endpoint: string): Promise<readonly Claim[]> {
  return (await store.deliveries.due(endpoint, BEGINNING, Number.MAX_SAFE_INTEGER, 10_000)).claims;
}

function copyOf(site: Site): Site {
  const dir = temporaryDirectory();
  cpSync(site.dir, dir, { recursive: true });
  return { ...site, dir, file: join(dir, "webhookd.db") };
}

/** Leaves a write-ahead log, as a kill does. */
function kill({ file }: Site): void {
  writeFileSync(`${file}-wal`, "not a frame of it");
}

function leaves(site: Site, tree: string): PageOf[] {
  return pagesOf(site.file).filter((page) => page.tree === tree && page.kind === "leaf");
}

async function opened(site: Site, more: object = {}) {
  const lines: { fields: Record<string, unknown>; message: string }[] = [];
  const say = (fields: object, message: string) => void lines.push({ fields: { ...fields }, message });
  const { store } = await openStore(optionsOf({ dir: site.dir, log: { info: say, warn: say, error: say }, ...more }));
  return { store, lines };
}

let whole: Site;

beforeAll(async () => {
  whole = await aStore(mkdtempSync(join(tmpdir(), "webhookd-store-")));
});
afterAll(() => rmSync(whole.dir, { recursive: true, force: true }));

async function owedNow(store: Store): Promise<Set<string>> {
  const all = await Promise.all(whole.endpoints.map((endpoint) => dueOf(store, endpoint)));
  return new Set(all.flat().map(nameOf));
}

async function listedNow(store: Store): Promise<Set<string>> {
  const listed = new Set<string>();
  for (const endpoint of whole.endpoints) {
    const page = await store.reads.listDeliveries({ tenant: null, endpoint, limit: 1000, order: "oldest" });
    for (const delivery of page.data) listed.add(nameOf(delivery));
  }
  return listed;
}

function requireSound(file: string): void {
  const db = new Database(file, { readonly: true });
  expect(db.pragma("integrity_check", { simple: true })).toBe("ok");
  db.close();
}

describe("a start after a kill, on a database with a damaged page,", () => {
  it.each(["leaf", "internal"])(
    "loses nothing that is owed of a %s page of delivery: its indexes know it",
    async (kind) => {
      const all = pagesOf(whole.file).filter((page) => page.tree === "delivery" && page.kind === kind);
      expect(all.length).toBeGreaterThan(0);
      for (const { page } of [all[0]!, all.at(-1)!]) {
        const site = copyOf(whole);
        overwrite(site.file, page);
        kill(site);
        const { store, lines } = await opened(site);
        expect(await owedNow(store)).toEqual(whole.owed);
        // Only its row knows a delivery that succeeded at its first attempt.
        const listed = await listedNow(store);
        const lost = [...whole.owed, ...whole.done].filter((name) => !listed.has(name));
        expect(lost.filter((name) => !whole.delivered.has(name))).toEqual([]);
        expect(await store.operations.damage()).toMatchObject({
          pages: [{ name: "delivery", pages: [page] }],
          lost: lost.length === 0 ? [] : [{ table: "delivery", rows: lost.length }],
        });
        expect(lines.some(({ message }) => message.includes("the database was damaged"))).toBe(true);
        await store.close();
        requireSound(site.file);
      }
    },
  );

  it("delivers what can be read of a damaged page of event, and says how much cannot", async () => {
    const pages = leaves(whole, "event");
    for (const { page } of [pages[0]!, pages[5]!, pages.at(-1)!]) {
      const site = copyOf(whole);
      overwrite(site.file, page);
      kill(site);
      const { store } = await opened(site);
      const { data } = await store.reads.listEvents({ tenant: null, limit: 1000, order: "oldest" });
      const readable = new Set(data.map(({ id }) => id));
      expect(readable.size).toBeGreaterThan(EVENTS - 40);
      expect(readable.size).toBeLessThan(EVENTS);
      expect(await owedNow(store)).toEqual(
        new Set([...whole.owed].filter((name) => readable.has(name.split(" ")[0]!))),
      );
      const { lost } = (await store.operations.damage())!;
      expect(lost).toMatchObject([{ table: "event", rows: EVENTS - readable.size }]);
      await store.close();
      requireSound(site.file);
    }
  });

  it("gives up the events whose data was on a damaged page of large_data, and keeps the rest of their batch", async () => {
    const site = copyOf(whole);
    const { store: before } = await opened(site);
    const texts = Array.from({ length: 40 }, (_, at) => `{"at":${at},"text":"${"x".repeat(20_000)}"}`);
    const large = texts.map((text) => draft({ data: Buffer.from(text) }));
    const published = await before.events.publish(large, START, withoutCapacity);
    await before.close();
    overwrite(site.file, leaves(site, "large_data")[5]!.page);
    kill(site);
    const { store } = await opened(site);
    const shown = await Promise.all(published.map(({ id }) => store.reads.getEvent(null, id)));
    const kept = new Set(shown.flatMap((event) => (event === null ? [] : [event.id])));
    expect(kept.size).toBeGreaterThan(texts.length / 2);
    expect(kept.size).toBeLessThan(texts.length);
    for (const [at, event] of shown.entries()) {
      if (event !== null) expect(Buffer.from(event.data!).toString()).toBe(texts[at]);
    }
    const lost = texts.length - kept.size;
    expect((await store.operations.damage())!.lost).toMatchObject([{ table: "large_data", rows: lost }]);
    const owed = await owedNow(store);
    for (const name of owed) expect(whole.owed.has(name) || kept.has(name.split(" ")[0]!), name).toBe(true);
    expect(owed.size).toBe(whole.owed.size + kept.size * whole.endpoints.length);
    await store.close();
    requireSound(site.file);
  });

  it("sends nothing again of a damaged page of attempt, whose deliveries know what became of them", async () => {
    const site = copyOf(whole);
    overwrite(site.file, leaves(site, "attempt")[1]!.page);
    kill(site);
    const { store } = await opened(site);
    expect(await owedNow(store)).toEqual(whole.owed);
    const { lost } = (await store.operations.damage())!;
    expect(lost).toMatchObject([{ table: "attempt" }]);
    expect(lost[0]!.rows).toBeGreaterThan(10);
    await store.close();
    requireSound(site.file);
  });

  it.each(["delivery_waiting", "delivery_endpoint", "delivery_failed", "event_tenant_type", "attempt_failed"])(
    "loses nothing of a damaged page of the index %s",
    async (tree) => {
      const site = copyOf(whole);
      overwrite(site.file, leaves(site, tree)[0]!.page);
      kill(site);
      const { store } = await opened(site);
      expect(await owedNow(store)).toEqual(whole.owed);
      expect((await store.operations.damage())!.lost).toEqual([]);
      await store.close();
      requireSound(site.file);
    },
  );

  it.each(["late_attempt", "attempt", "event"])(
    "finds late attempts by their time after a damaged page of %s, as far as there are such attempts",
    async (tree) => {
      const late = (file: string) => {
        const db = new Database(file, { readonly: true });
        const rows = db
          .prepare(
            "SELECT l.* FROM late_attempt l JOIN attempt a USING (event, endpoint, number) JOIN event e ON e.key = l.event",
          )
          .all();
        const all = db.prepare<[], number>("SELECT count(*) FROM late_attempt").pluck().get();
        db.close();
        return { rows, all };
      };
      const site = copyOf(whole);
      overwrite(site.file, leaves(site, tree)[0]!.page);
      kill(site);
      const { store } = await opened(site);
      expect(await store.operations.damage()).toMatchObject({ lost: tree === "late_attempt" ? [] : [{ table: tree }] });
      await store.close();
      requireSound(site.file);
      const { rows, all } = late(site.file);
      expect(rows).toHaveLength(all!);
      if (tree === "late_attempt") expect(rows).toEqual(late(whole.file).rows);
      else expect(rows.length).toBeGreaterThan(10);
    },
  );

  it.each(["endpoint", "meta", "api_key", "sqlite_schema"])(
    "does not go on without a row of %s: 65, with the advice to restore, and nothing is changed",
    async (tree) => {
      const site = copyOf(whole);
      overwrite(site.file, pagesOf(site.file).find((page) => page.tree === tree)!.page);
      kill(site);
      const before = readdirSync(site.dir)
        .filter((name) => !name.startsWith("webhookd.db-"))
        .sort();
      await expect(opened(site)).rejects.toMatchObject({
        exitCode: 65,
        hint: expect.stringContaining("webhookd restore"),
      });
      expect(
        readdirSync(site.dir)
          .filter((name) => !name.startsWith("webhookd.db-"))
          .sort(),
      ).toEqual(before);
    },
  );

  it("keeps the damaged file, and the report until that is removed", async () => {
    const site = copyOf(whole);
    overwrite(site.file, leaves(site, "delivery")[0]!.page);
    kill(site);
    const { store } = await opened(site);
    const { file } = (await store.operations.damage())!;
    expect(existsSync(file)).toBe(true);
    rmSync(file);
    expect(await store.operations.damage()).toBeNull();
    await store.close();
  });

  it("trusts no disk that damages the mended one too", async () => {
    const site = copyOf(whole);
    const clock = new ManualClock();
    for (const expected of ["mended", "refused"]) {
      overwrite(site.file, leaves(site, "delivery")[0]!.page);
      kill(site);
      clock.advance(60_000);
      const start = opened(site, { clock });
      if (expected === "refused") await expect(start).rejects.toMatchObject({ exitCode: 65 });
      else await (await start).store.close();
    }
  });

  it("looks no longer than a second, and says how far it came", async () => {
    const site = copyOf(whole);
    kill(site);
    const clock = new ManualClock();
    let now = 0;
    clock.monotonic = () => (now += 1001);
    const { store, lines } = await opened(site, { clock });
    const { pages, of } = lines.find(({ message }) => message.includes("did not stop cleanly"))!.fields;
    expect(pages).toBe(64);
    expect(of).toBeGreaterThan(64);
    await store.close();
  });
});

/**
 * Makes a store that met damage and kept the results that it could not record. `owed` is what is then still pending.
 */
async function afterDamage(): Promise<{ site: Site; owed: Set<string> }> {
  const site = copyOf(whole);
  const onFault = () => {};
  const first = await opened(site);
  const claims = await dueOf(first.store, whole.endpoints[0]!);
  await first.store.close();
  overwrite(site.file, leaves(site, "delivery")[0]!.page);
  const { store } = await opened(site, { onFault });
  await store.deliveries.record(claims.map(delivered));
  await store.close();
  const sent = new Set(claims.map(nameOf));
  return { site, owed: new Set([...whole.owed].filter((name) => !sent.has(name))) };
}

describe("damage that is met while the store is open", () => {
  it("loses no result to a start that cannot record it", async () => {
    const { site, owed } = await afterDamage();
    const recording = vi.spyOn(GroupCommit.prototype, "run").mockRejectedValueOnce(new Error("the disk is full"));
    onTestFinished(() => recording.mockRestore());
    const clock = new ManualClock();
    await expect(opened(site, { clock })).rejects.toThrow("the disk is full");
    // A start repairs nothing twice within a short time, because the disk may damage it again.
    clock.advance("1h");
    const { store } = await opened(site, { clock });
    expect(await owedNow(store)).toEqual(owed);
    await store.close();
  });

  it("loses no result to a start that meets damage again", async () => {
    const { site, owed } = await afterDamage();
    const clock = new ManualClock();
    const again = (_fields: object, message: string) => {
      if (message.includes("the database was damaged")) overwrite(site.file, leaves(site, "delivery")[0]!.page);
    };
    const onFault = () => {};
    await expect(
      openStore(optionsOf({ dir: site.dir, clock, onFault, log: { warn() {}, error: again } })),
    ).rejects.toMatchObject({ exitCode: 65 });
    // Only a disk that damages the file again and again is given up.
    clock.advance("1h");
    const { store } = await opened(site, { clock });
    expect(await owedNow(store)).toEqual(owed);
    await store.close();
  });

  it("is mended by the next start, which records what this one could not", async () => {
    const site = copyOf(whole);
    const faults: Error[] = [];
    const first = await opened(site, { onFault: (error: Error) => faults.push(error) });
    const claims = await dueOf(first.store, whole.endpoints[0]!);
    await first.store.close();
    overwrite(site.file, leaves(site, "delivery")[0]!.page);

    const { store } = await opened(site, { onFault: (error: Error) => faults.push(error) });
    const results = await store.deliveries.record(claims.map(delivered));
    expect(results).toEqual(claims.map(() => ({ result: "applied", waiting: null })));
    expect(faults).toMatchObject([{ name: "StoreDamaged" }]);
    await store.close();

    const { store: next } = await opened(site);
    // The lost rows are those of deliveries that succeeded at their first attempt.
    expect((await next.operations.damage())!.lost).toMatchObject([{ table: "delivery" }]);
    const sent = new Set(claims.map(nameOf));
    expect(await owedNow(next)).toEqual(new Set([...whole.owed].filter((name) => !sent.has(name))));
    const [attempt] = (await next.reads.listAttempts({
      tenant: null,
      event: claims[0]!.event,
      limit: 10,
      order: "newest",
    }))!.data;
    expect(attempt).toMatchObject({ statusCode: 200, number: claims[0]!.number });
    expect(Buffer.from(attempt!.responseBody).toString()).toBe("answer");
    await next.close();
    requireSound(site.file);
  });
});
