import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ALERT_PACE_MS, AlertFolder, NAMED, type Notice, type Why } from "../../src/domain/alert.ts";
import { FAILING_MS } from "../../src/domain/endpoints/streak.ts";
import { NoticeFolder } from "../../src/domain/notice-folder.ts";

const WHY = { error: "http_status", status: 503 } as const;
const at = (ms: number) => ({ wall: 1_800_000_000_000 + ms, monotonic: ms });

function failInARow(folder: AlertFolder, endpoint: string, times: number, now = 0): void {
  for (let count = 0; count < times; count++) folder.attemptFailed(endpoint, WHY, at(now));
}

const named = (notices: readonly Notice[]) =>
  notices.map((notice) => [notice.type, "endpoints" in notice ? notice.endpoints.map((one) => one.endpoint) : null]);

describe("folded alerts", () => {
  it("name an endpoint with a key that is held for long once", () => {
    const folder = new AlertFolder();
    const held = (endpoint: string) => ({ endpoint, count: 2, since: 1, orderingKey: "k", event: "evt" });
    const told = (now: number, ...all: readonly string[]) => {
      folder.keysHeld(all.map(held));
      return named(folder.take(at(now)));
    };
    expect(told(0, "ep_a")).toEqual([["webhookd.keys_held", ["ep_a"]]]);
    expect(told(61_000, "ep_a")).toEqual([]);
    expect(told(62_000, "ep_a", "ep_b")).toEqual([["webhookd.keys_held", ["ep_b"]]]);
    expect(told(130_000)).toEqual([]);
    expect(told(140_000, "ep_a")).toEqual([["webhookd.keys_held", ["ep_a"]]]);
  });

  it("name an endpoint again once another of its keys is the one that is held for longest", () => {
    const folder = new AlertFolder();
    const told = (now: number, orderingKey: string, since: number) => {
      folder.keysHeld([{ endpoint: "ep_a", count: 1, since, orderingKey, event: `evt_${orderingKey}` }]);
      return named(folder.take(at(now))).length;
    };
    expect([told(0, "a", 1), told(61_000, "a", 1)]).toEqual([1, 0]);
    // Both failed in the same millisecond, and the first was freed.
    expect([told(122_000, "b", 1), told(183_000, "b", 1)]).toEqual([1, 0]);
    // It was freed, and is held again.
    expect([told(244_000, "b", 200_000), told(305_000, "b", 200_000)]).toEqual([1, 0]);
  });

  it("make at most ten posts of 40,000 failures in a minute, and count every one of them", () => {
    const faults = fc.record({
      endpoints: fc.integer({ min: 1, max: 3000 }),
      errors: fc.integer({ min: 1, max: 5 }),
      successes: fc.integer({ min: 0, max: 100 }),
    });
    const run = fc.property(faults, ({ endpoints, errors, successes }) => {
      const folder = new AlertFolder();
      const posts: Notice[] = [];
      for (let index = 0; index < 40_000; index++) {
        const now = at((index * 60_000) / 40_000);
        const endpoint = `ep_${index % endpoints}`;
        folder.attemptFailed(endpoint, WHY, now);
        folder.deliveryFailed(
          endpoint,
          { ...WHY, error: (["timeout", "http_status", "tls_error"] as const)[index % errors] ?? null },
          "d",
          now,
        );
        if (index % 400 < successes) folder.attemptSucceeded(endpoint);
        if (index % 667 === 0) posts.push(...folder.take(now));
      }
      expect(posts.length).toBeLessThanOrEqual(10);
      posts.push(...folder.take(at(120_000)));
      const counted = posts.reduce(
        (sum, post) => sum + (post.type === "webhookd.deliveries_failed" ? post.total : 0),
        0,
      );
      expect(counted).toBe(40_000);
      for (const post of posts) {
        if ("groups" in post) expect(post.groups.length).toBeLessThanOrEqual(NAMED);
        if ("endpoints" in post) expect(post.endpoints.length).toBe(Math.min(post.total, NAMED));
      }
    });
    fc.assert(run, { numRuns: 15 });
  });

  it("report the final state of each endpoint, whatever came in between", () => {
    const steps = fc.array(
      fc.record({ endpoint: fc.integer({ min: 0, max: 3 }), well: fc.nat(9), waits: fc.constantFrom(0, 0, 61_000) }),
      { maxLength: 300 },
    );
    const run = fc.property(steps, (all) => {
      const folder = new AlertFolder();
      const told = new Map<string, boolean>();
      const failures = new Map<string, number>();
      let now = 0;
      const take = () => {
        for (const notice of folder.take(at(now))) {
          for (const one of "endpoints" in notice ? notice.endpoints : []) {
            const failing = notice.type === "webhookd.endpoint_failing";
            // No change is reported twice.
            expect(told.get(one.endpoint) ?? false).toBe(!failing);
            told.set(one.endpoint, failing);
          }
        }
      };
      for (const { endpoint: index, well, waits } of all) {
        const endpoint = `ep_${index}`;
        now += waits / 1000;
        if (well === 0) {
          folder.attemptSucceeded(endpoint);
          failures.set(endpoint, 0);
        } else {
          failInARow(folder, endpoint, 7, now);
          failures.set(endpoint, (failures.get(endpoint) ?? 0) + 7);
        }
        now += waits;
        if (waits > 0) take();
      }
      now += ALERT_PACE_MS;
      take();
      for (const [endpoint, count] of failures) {
        if (count === 0) expect(told.get(endpoint) ?? false).toBe(false);
        if (count >= 21) expect(told.get(endpoint)).toBe(true);
      }
    });
    fc.assert(run, { numRuns: 60 });
  });

  it("call an endpoint failing after 20 failures in a row, or after five minutes of them", () => {
    const folder = new AlertFolder();
    failInARow(folder, "ep_row", 19);
    folder.attemptFailed("ep_long", WHY, at(0));
    folder.attemptFailed("ep_long", WHY, at(FAILING_MS - 1));
    failInARow(folder, "ep_mixed", 19);
    folder.attemptSucceeded("ep_mixed");
    failInARow(folder, "ep_mixed", 19);
    expect(folder.take(at(FAILING_MS))).toEqual([]);
    folder.attemptFailed("ep_row", WHY, at(1));
    folder.attemptFailed("ep_long", WHY, at(FAILING_MS));
    const notices = folder.take(at(FAILING_MS));
    expect(named(notices)).toEqual([["webhookd.endpoint_failing", ["ep_row", "ep_long"]]]);
    expect(notices[0]).toMatchObject({ endpoints: [{ consecutiveFailures: 20, failingSince: at(0).wall }, {}] });
  });

  it("of several nodes are one a minute of each kind, which names what all of them named", () => {
    const all = new NoticeFolder();
    const noticesOf = (endpoint: string) => {
      const folder = new AlertFolder();
      failInARow(folder, endpoint, 20);
      for (let count = 0; count < 3; count++) folder.deliveryFailed(endpoint, WHY, `dlv_${endpoint}`, at(0));
      return folder.take(at(0));
    };
    for (const endpoint of ["ep_1", "ep_2"]) for (const notice of noticesOf(endpoint)) all.add(notice);
    const [failing, failed] = all.take(at(0));
    expect(failing).toMatchObject({ total: 2, endpoints: [{ endpoint: "ep_1" }, { endpoint: "ep_2" }] });
    expect(failed).toMatchObject({ total: 6, groups: [{ count: 3 }, { count: 3 }] });
    for (const notice of noticesOf("ep_3")) all.add(notice);
    all.add({ type: "webhookd.storage_fault", detail: "first" });
    all.add({ type: "webhookd.storage_fault", detail: "last" });
    expect(all.take(at(ALERT_PACE_MS - 1))).toEqual([{ type: "webhookd.storage_fault", detail: "last" }]);
    expect(named(all.take(at(ALERT_PACE_MS)))).toEqual([
      ["webhookd.endpoint_failing", ["ep_3"]],
      ["webhookd.deliveries_failed", null],
    ]);
    expect(all.takeAll()).toEqual([]);
  });

  it("of several nodes name an endpoint once for each cause, with the first of its deliveries", () => {
    const all = new NoticeFolder();
    const failedAt = (second: number, endpoint: string, why: Why) => {
      const folder = new AlertFolder();
      folder.deliveryFailed(endpoint, why, `dlv_${second}`, at(second * 1000));
      for (const notice of folder.take(at(second * 1000))) all.add(notice);
    };
    for (let second = 101; second > 0; second--) failedAt(second, "ep_1", WHY);
    failedAt(200, "ep_2", WHY);
    for (const status of [500, 500, 500]) failedAt(300, "ep_1", { ...WHY, status });
    expect(all.takeAll()).toMatchObject([
      {
        total: 105,
        groups: [
          { endpoint: "ep_1", why: WHY, count: 101, firstDelivery: "dlv_1", firstAt: at(1000).wall },
          { endpoint: "ep_1", why: { status: 500 }, count: 3 },
          { endpoint: "ep_2", count: 1 },
        ],
      },
    ]);
  });

  it("of several nodes name and count an endpoint once that came and went within a minute, as it was last", () => {
    const [folder, all] = [new AlertFolder(5000), new NoticeFolder()];
    const takeAt = (ms: number) => {
      for (const notice of folder.take(at(ms))) all.add(notice);
    };
    for (const ms of [0, 10_000]) {
      failInARow(folder, "ep_1", 20, ms);
      takeAt(ms);
      folder.attemptSucceeded("ep_1");
      takeAt(ms + 5000);
    }
    failInARow(folder, "ep_2", 20, 20_000);
    takeAt(20_000);
    expect(all.takeAll()).toMatchObject([
      {
        type: "webhookd.endpoint_recovered",
        total: 1,
        endpoints: [{ endpoint: "ep_1", failingSince: at(10_000).wall }],
      },
      { type: "webhookd.endpoint_failing", total: 1, endpoints: [{ endpoint: "ep_2" }] },
    ]);
  });

  it("say nothing of a recovery that did not last until it was due to be reported", () => {
    const folder = new AlertFolder();
    failInARow(folder, "ep_1", 20);
    expect(folder.take(at(0))).toHaveLength(1);
    folder.attemptSucceeded("ep_1");
    failInARow(folder, "ep_1", 40);
    expect(folder.take(at(ALERT_PACE_MS))).toEqual([]);
    folder.attemptSucceeded("ep_1");
    expect(folder.take(at(ALERT_PACE_MS))).toMatchObject([{ endpoints: [{ failingSince: at(0).wall }] }]);
  });

  it("say once that space is low, and again after there was enough", () => {
    const folder = new AlertFolder();
    const look = (freeBytes: number, ms: number) => {
      folder.space({ freeBytes, floorBytes: 100 });
      return folder.take(at(ms)).length;
    };
    expect([look(200, 0), look(199, 1), look(150, 70_000), look(250, 140_000)]).toEqual([0, 1, 0, 0]);
    expect([look(199, 210_000), look(300, 280_000), look(199, 350_000)]).toEqual([0, 0, 1]);
  });

  it("keep what is not due yet", () => {
    const folder = new AlertFolder();
    folder.backupFailed("no space");
    expect(folder.take(at(0))).toMatchObject([{ detail: "no space", total: 1 }]);
    folder.backupFailed("no space");
    folder.backupFailed("no such folder");
    expect(folder.take(at(ALERT_PACE_MS - 1))).toEqual([]);
    expect(folder.take(at(ALERT_PACE_MS))).toMatchObject([{ detail: "no such folder", total: 2 }]);
  });
});
