/** Asks why an event did not arrive, where one node changes an endpoint while another one publishes. */
import { afterAll, describe, expect, it } from "vitest";
import type { FilterDocument } from "../../../src/domain/events/filter/filter.ts";
import { reasonOf } from "../../../src/domain/events/why.ts";
import type { Store } from "../../../src/store/store.ts";
import { ManualClock } from "../../harness/clock.ts";
import { startServer, withClient } from "../../harness/postgres.ts";
import { addEndpoint, draft, withoutCapacity, START } from "../fixtures.ts";
import { createDatabase, openPostgresDatabase, temporaryDirectory } from "../stores.ts";

const server = await startServer();
if (server === null) console.warn("SKIPPED: there is no PostgreSQL for this platform to run nodes on");
afterAll(() => server?.stop());

const SMALL: FilterDocument = { data: { n: { $lt: 0 } } };

async function nodes() {
  const url = server!.urlOf(await createDatabase(server!));
  const [dir, clock] = [temporaryDirectory(), new ManualClock()];
  const start = () => openPostgresDatabase(url, { dir, clock, leaseMs: 60_000 });
  const [a, b] = [await start(), await start()];
  await a.ownership.renew();
  await b.ownership.renew();
  return { url, a, b };
}

async function whyOf(store: Store, event: string, endpoint: string) {
  const facts = await store.reads.whyFacts(null, event, endpoint);
  return typeof facts === "string" ? facts : reasonOf(facts, { now: START, halted: null });
}

describe.skipIf(server === null)("two nodes", () => {
  it("name the change that a publish had to wait for", async () => {
    const { url, a, b } = await nodes();
    const endpoint = await addEndpoint(a);
    const waiting = (count: number) => async () => (await lockWaits(url)) === count;
    await withClient(url, async (client) => {
      await client.query("BEGIN; SELECT 1 FROM meta WHERE name = 'last_choice' FOR UPDATE");
      const changing = b.endpoints.update(null, endpoint, (all) => ({ ...all, filter: SMALL }), START);
      await expect.poll(waiting(1), { interval: 10 }).toBe(true);
      // It has looked for its recipients before the change is committed, and waits for that one.
      const publishing = a.events.publish([draft()], START, withoutCapacity);
      await expect.poll(waiting(2), { interval: 10 }).toBe(true);
      await client.query("COMMIT");
      await changing;
      const [publication] = await publishing;
      expect(publication!.deliveries).toBe(0);
      expect(await whyOf(b, publication!.id, endpoint)).toMatchObject({ code: "filtered", choice: { filter: SMALL } });
    });
  });

  it("know the reason for each event, however publishes and changes meet", async () => {
    const { a, b } = await nodes();
    const endpoint = await addEndpoint(a);
    const publishing = { isOver: false };
    const changing = (async () => {
      for (let at = 0; !publishing.isOver; at++) {
        const change = [
          { filter: at % 3 === 0 ? SMALL : null },
          { events: [at % 3 === 0 ? "goal.achieved" : "budget.*"] },
          { enabled: at % 3 !== 0, whenDisabled: "skip" as const },
        ][at % 2 === 0 ? 0 : 1 + ((at >> 1) % 2)]!;
        await b.endpoints.update(null, endpoint, (all) => ({ ...all, ...change }), START);
      }
    })();
    const ids: string[] = [];
    for (let at = 0; at < 150; at++) ids.push((await a.events.publish([draft()], START, withoutCapacity))[0]!.id);
    publishing.isOver = true;
    await changing;
    const reasons = await Promise.all(ids.map((id) => whyOf(a, id, endpoint)));
    const codes = new Set(reasons.map((reason) => (typeof reason === "string" ? reason : reason.code)));
    expect([...codes].filter((code) => !/^(?:waiting|held|filtered|not_subscribed|skipped)$/.test(code))).toEqual([]);
    expect(codes.size).toBeGreaterThan(2);
  });
});

function lockWaits(url: string): Promise<number> {
  const sql = `SELECT count(*)::integer AS n FROM pg_stat_activity
    WHERE wait_event_type = 'Lock' AND datname = current_database()`;
  return withClient(url, async (client) => (await client.query<{ n: number }>(sql)).rows[0]!.n);
}
