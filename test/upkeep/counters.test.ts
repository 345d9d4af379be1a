import { expect, it } from "vitest";
import { WebhookdError } from "../../src/domain/errors.ts";
import { saveCounters } from "../../src/daemon/chores.ts";
import { Retention } from "../../src/upkeep/retention.ts";
import { silentLog } from "../../src/log.ts";
import { publishOne } from "../store/fixtures.ts";
import { openSqlite } from "../store/stores.ts";

const DAY = 86_400_000;

it("a full disk leaves the counters to the next pass, a bug of ours is told", async () => {
  const failing = (fault: Error) => {
    const save = async () => {
      throw fault;
    };
    return saveCounters({ statistics: { save } });
  };
  await failing(new WebhookdError("storage_full", "no"));
  await expect(failing(new Error("a bug"))).rejects.toThrow("a bug");
});

it("counters go when they are older than [retention] statistics, and with 0s never", async () => {
  const { store, clock } = await openSqlite();
  await publishOne(store);
  await saveCounters(store);
  const begun = clock.now();
  const count = async () => {
    const query = { tenant: null, since: begun, until: begun + 60_000, stepMs: 60_000 };
    return (await store.statistics.period(query))!.published.get("budget.exceeded");
  };
  const { signal } = new AbortController();
  const pruneAfter = (statistics: number) => {
    const rules = () => ({ delivered: 0, failed: 0, held: 0, responseBodies: 0, audit: 0, statistics });
    return new Retention({ store, clock, log: silentLog, signal, rules }).pruneCounters();
  };
  clock.advance(8 * DAY);
  // The last minute in which something was counted stays in memory.
  await publishOne(store);
  await pruneAfter(0);
  await pruneAfter(9 * DAY);
  expect(await count()).toBe(1);
  await pruneAfter(7 * DAY);
  expect(await count()).toBeUndefined();
});
