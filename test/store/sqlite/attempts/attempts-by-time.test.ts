import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Attempt, Store } from "../../../../src/store/store.ts";
import { addEndpoint, answered, draft, ended, withCapacity, START } from "../../fixtures.ts";
import { open, temporaryDirectory } from "../../stores.ts";

interface Made {
  readonly event: string;
  readonly number: number;
  readonly startedAt: number;
  readonly outcome: string;
}

/** Returns the attempts of all pages. */
async function listed(store: Store, endpoint: string, more: object, limit: number): Promise<Attempt[]> {
  const found: Attempt[] = [];
  for (let cursor: string | undefined; ;) {
    const page = await store.reads.listEndpointAttempts({
      tenant: null,
      endpoint,
      limit,
      order: "newest",
      ...more,
      ...(cursor && { cursor }),
    });
    found.push(...page!.data);
    if (page!.nextCursor === null) return found;
    cursor = page!.nextCursor;
  }
}

const short = ({ event, number, startedAt, outcome }: Made) => `${startedAt - START} ${event} ${number} ${outcome}`;

describe("an endpoint's attempts", () => {
  it("are listed as they began, whatever their events' order, in pages that leave none out and show none twice", async () => {
    const attempt = fc.record({ after: fc.oneof(fc.nat({ max: 1200 }), fc.nat({ max: 9000 })), ok: fc.boolean() });
    const events = fc.array(fc.record({ at: fc.nat({ max: 6000 }), attempts: fc.array(attempt, { maxLength: 3 }) }), {
      maxLength: 25,
    });
    let lastAt = START;
    const store = await open({ dir: temporaryDirectory() });
    await fc.assert(
      fc.asyncProperty(events, fc.integer({ min: 1, max: 7 }), async (events, limit) => {
        const endpoint = await addEndpoint(store, { tenant: `t${Math.random()}`.replace(".", "") });
        const { tenant } = (await store.endpoints.get(null, endpoint))!;
        const made: Made[] = [];
        for (const { at, attempts } of events.toSorted((a, b) => a.at - b.at)) {
          const [{ id, fresh }] = (await store.events.publish(
            [draft({ tenant })],
            (lastAt += Math.round(at / 10)),
            withCapacity,
          )) as [any];
          let number = 0;
          for (const { after, ok } of attempts) {
            const startedAt = lastAt + after;
            const outcome = answered(ok ? 200 : 500);
            await store.deliveries.record([
              ended(
                { ...fresh[0], number: ++number },
                { status: "pending", retry: 1, dueAt: START },
                { startedAt, outcome },
              ),
            ]);
            made.push({ event: id, number, startedAt, outcome: outcome.outcome });
          }
        }
        const byTime = made.toSorted(
          (a, b) =>
            a.startedAt - b.startedAt || (a.event < b.event ? -1 : 1) * +(a.event !== b.event) || a.number - b.number,
        );
        for (const [order, wanted] of [
          ["oldest", byTime],
          ["newest", byTime.toReversed()],
        ] as const) {
          expect((await listed(store, endpoint, { order }, limit)).map(short)).toEqual(wanted.map(short));
          const failed = wanted.filter(({ outcome }) => outcome === "failed");
          expect((await listed(store, endpoint, { order, outcome: "failed" }, limit)).map(short)).toEqual(
            failed.map(short),
          );
        }
      }),
      { numRuns: 25 },
    );
  });

  it("show the replay of an old event first", async () => {
    const dir = temporaryDirectory();
    const store = await open({ dir });
    const endpoint = await addEndpoint(store);
    const published = await Promise.all(
      [0, 1, 2].map((n) => store.events.publish([draft()], START + n * 60_000, withCapacity)),
    );
    const [old, second, third] = published.map(([publication]) => publication!.fresh[0]!);
    const at = (claim: any, startedAt: number, number = 1) =>
      store.deliveries.record([
        ended({ ...claim, number }, { status: "pending", retry: 1, dueAt: START }, { startedAt }),
      ]);
    await at(old, START + 5);
    await at(second, START + 60_005);
    await at(third, START + 120_005);
    await at(old, START + 3_600_000, 2);
    const numbers = async (store: Store) =>
      (await listed(store, endpoint, {}, 2)).map(({ event, number }) => [event, number]);
    expect(await numbers(store)).toEqual([
      [old!.event, 2],
      [third!.event, 1],
      [second!.event, 1],
      [old!.event, 1],
    ]);
  });
});
