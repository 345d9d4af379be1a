import { describe, expect, it } from "vitest";
import { violations } from "../../scripts/crash/run.ts";
import { Story } from "./story.ts";

/** Returns the names of the lists of findings that are not empty. */
function faultsOf(story: Story): string[] {
  const { lost, falseDelivered, duplicates, wrong } = story.verdict();
  const lists = { lost, falseDelivered, unexplained: duplicates.unexplained, wrong };
  return Object.entries(lists).flatMap(([name, list]) => (list.length > 0 ? name : []));
}

describe("the crash oracle", () => {
  it("finds nothing wrong with a story in which nothing is wrong", () => {
    const findings = new Story().verdict();
    expect(findings).toMatchObject({ acked: 1, deliveries: 3, requests: 3 });
    expect(violations({ failedOpens: [], findings })).toBe(0);
  });

  it("misses an acked event, also when only the status of its answer was seen", () => {
    const story = new Story();
    story.driver[1] = { kind: "ack", batch: 1, answered: null, generation: 1, sentAt: 980, ackedAt: 990 };
    story.shown.events.length = 0;
    story.receivers.length = 0;
    expect(faultsOf(story)).toEqual(["lost"]);
  });

  it("wants a publish that is sent again to be answered as before", () => {
    const story = new Story();
    story.driver.push({ ...story.driver[1]!, kind: "ack" } as never);
    expect(faultsOf(story)).toEqual([]);
    const answered = [{ id: "evt_2", created_at: "2026-11-20T09:55:00.123Z", delivery_count: 3 }];
    story.driver.push({ ...story.driver[1]!, answered } as never);
    expect(faultsOf(story)).toEqual(["wrong"]);
  });

  it("misses nothing that was never acked, as long as a batch is there as a whole or not at all", () => {
    const story = new Story();
    const items = [
      { marker: "m2", data: "{}" },
      { marker: "m3", data: "{}" },
    ];
    story.driver.push({ kind: "intent", batch: 2, type: "goal.achieved", items });
    expect(faultsOf(story)).toEqual([]);
    story.shown.events.push({ ...story.shown.events[0]!, id: "evt_2", data: { marker: "m2" }, deliveries: [] });
    expect(faultsOf(story)).toContain("wrong");
  });

  it("notices a delivery that is missing", () => {
    const story = new Story();
    story.deliveries.pop();
    expect(faultsOf(story)).toContain("lost");
  });

  it("does not believe delivered without a receiver's 2xx", () => {
    const story = new Story();
    story.receivers.splice(0, 3, { ...story.receivers[0]!, kind: "request" } as never);
    expect(faultsOf(story)).toEqual(["falseDelivered"]);
  });

  it("does not believe a recorded answer that no receiver gave", () => {
    const story = new Story();
    story.recorded({ status_code: 503 }, { outcome: "succeeded", status_code: 200 });
    expect(faultsOf(story)).toEqual(["falseDelivered", "wrong"]);
  });

  it("does not believe that more attempts killed the process than deaths can tell apart", () => {
    const story = new Story();
    const blamed = { error: "interrupted", status_code: null };
    story.recorded(blamed);
    expect(faultsOf(story)).toEqual(["wrong"]);
    story.killed(5000);
    story.killed(6000, 2);
    expect(faultsOf(story)).toEqual([]);
  });

  it("wants exactly seven counted attempts of a failed delivery", () => {
    const story = new Story();
    story.deliveries[0]!.status = "failed";
    story.recorded({}, {}, {}, {}, {}, {});
    expect(faultsOf(story)).toEqual(["wrong"]);
    story.recorded({}, {}, {}, {}, {}, {}, { outcome: "interrupted" }, {});
    expect(faultsOf(story)).toEqual([]);
  });

  it("wants a pending delivery to be due some time that has not long passed", () => {
    const story = new Story();
    Object.assign(story.deliveries[0]!, { status: "pending", next_attempt_at: new Date(10_500).toISOString() });
    expect(faultsOf(story)).toEqual([]);
    story.deliveries[0]!.next_attempt_at = new Date(1000).toISOString();
    expect(faultsOf(story)).toEqual(["lost"]);
    story.deliveries[0]!.next_attempt_at = null;
    expect(faultsOf(story)).toEqual(["wrong"]);
  });

  it("misses a replay that was acked", () => {
    const story = new Story();
    story.deliveries[0]!.status = "failed";
    story.recorded({}, {}, {}, {}, {}, {}, {});
    story.driver.push({ kind: "replay-intent", event: "evt_1" }, { kind: "replay-ack", event: "evt_1" });
    expect(faultsOf(story)).toEqual(["lost"]);
  });

  it("notices a status that was taken back", () => {
    const story = new Story();
    const settled = { delivery: "dlv_1", event: "evt_1", status: "failed" } as const;
    story.driver.push({ kind: "settled", generation: 1, at: 2000, deliveries: [settled] });
    expect(faultsOf(story)).toEqual(["lost"]);
  });

  it("notices other bytes, a signature that does not verify, and what is sent but not stored", () => {
    for (const change of [{ body: "00" }, { verified: false }, { delivery: "dlv_9" }]) {
      const story = new Story();
      Object.assign(story.receivers[0]!, change);
      expect(faultsOf(story), JSON.stringify(change)).toContain("wrong");
    }
  });

  it("notices a retry before its time", () => {
    const story = new Story();
    story.receivers.splice(0, 3);
    story.request({ at: 1000 }, 500);
    story.request({ at: 1051, attempt: 2 }, 200);
    story.recorded({ status_code: 500 }, { outcome: "succeeded", status_code: 200 });
    expect(faultsOf(story)).toEqual([]);
    Object.assign(story.receivers.at(-3)!, { at: 1040 });
    expect(faultsOf(story)).toEqual(["wrong"]);
  });

  it("holds no retry for early when the receiver alone was slow to go on after its answer", () => {
    const story = new Story();
    story.receivers.splice(0, 3);
    story.request({ at: 1000 }, 500, 30);
    story.request({ at: 1051, attempt: 2 }, 200);
    story.recorded({ status_code: 500, error: "status" }, { outcome: "succeeded", status_code: 200 });
    expect(story.verdict().wrong).toEqual([]);
  });
});

describe("a duplicate", () => {
  it("is explained by a kill in the moments after its answer", () => {
    const story = new Story();
    story.killed(1040);
    story.request({ at: 1500, generation: 2 }, 200);
    expect(faultsOf(story)).toEqual([]);
    expect(story.verdict().duplicates).toMatchObject({ explained: 1, resent: 0, longestMs: 40 });
  });

  it("is not explained by a clean stop", () => {
    const story = new Story();
    story.stopped(1040);
    story.request({ at: 1500, generation: 2 }, 200);
    expect(faultsOf(story)).toEqual(["unexplained"]);
  });

  it("is explained by a kill while it was in flight, and not when it had ended long before", () => {
    for (const [killedAt, faults] of [
      [1010, []],
      [5000, ["unexplained"]],
    ] as const) {
      const story = new Story();
      story.receivers.splice(0, 3);
      story.request({ at: 1000 });
      story.killed(killedAt);
      story.request({ at: 6000, generation: 2 }, 200);
      expect(faultsOf(story), `killed at ${killedAt}`).toEqual(faults);
    }
  });

  it("is not explained when publishes went on being committed after its answer", () => {
    for (const [commits, faults] of [
      [20, []],
      [21, ["unexplained"]],
    ] as const) {
      const story = new Story();
      for (let commit = 0; commit < commits; commit++) {
        const sentAt = 1000 + 4 * commit;
        const ack = {
          kind: "ack",
          batch: 2 + commit,
          answered: null,
          generation: 1,
          sentAt,
          ackedAt: sentAt + 3,
        } as const;
        story.driver.push({ kind: "intent", batch: ack.batch, type: "goal.achieved", items: [] }, ack);
      }
      story.killed(1100);
      story.request({ at: 1500, generation: 2 }, 200);
      expect(faultsOf(story), `${commits} commits`).toEqual(faults);
    }
  });

  it("is not explained by time that the process had, but by what a publish lost beyond a second", () => {
    for (const [what, trips, killedAt, faults] of [
      ["nobody publishes", [], 4010, ["unexplained"]],
      ["every publish takes a second", [1000, 2000, 3000].map((at) => [at, at + 1000]), 4010, ["unexplained"]],
      ["one took two seconds", [[1000, 3000]], 4900, []],
      [
        "two took two seconds at once",
        [
          [1000, 3000],
          [1000, 3000],
        ],
        5010,
        ["unexplained"],
      ],
      ["one took two seconds before the answer", [[-1000, 1000]], 4010, ["unexplained"]],
      ["one took long, and there was time enough after it", [[1000, 9000]], 13_100, ["unexplained"]],
    ] as const) {
      const story = new Story();
      for (const [index, [sentAt, ackedAt]] of trips.entries()) {
        const batch = 2 + index;
        story.driver.push(
          { kind: "intent", batch, type: "goal.achieved", items: [] },
          { kind: "ack", batch, answered: null, generation: 1, sentAt: sentAt!, ackedAt: ackedAt! },
        );
      }
      story.killed(killedAt);
      story.request({ at: killedAt + 500, generation: 2 }, 200);
      expect(faultsOf(story), what).toEqual(faults);
    }
  });

  it("is not explained without a kill, except once where a kept connection was reset", () => {
    const story = new Story();
    story.receivers.splice(0, 3);
    story.request({ at: 1000, reused: true }, "reset");
    story.request({ at: 1001 }, 200);
    expect(faultsOf(story)).toEqual([]);
    expect(story.verdict().duplicates).toMatchObject({ explained: 0, resent: 1 });
    story.request({ at: 1002 }, 200);
    expect(faultsOf(story)).toEqual(["unexplained"]);
  });

  it("is not explained once the API has shown the delivery as delivered", () => {
    const story = new Story();
    const settled = { delivery: "dlv_1", event: "evt_1", status: "delivered" } as const;
    story.driver.push({ kind: "settled", generation: 1, at: 1020, deliveries: [settled] });
    story.killed(1040);
    story.request({ at: 1500, generation: 2 }, 200);
    expect(faultsOf(story)).toEqual(["unexplained"]);
  });

  it("is not explained when a later attempt was made before", () => {
    const story = new Story();
    story.receivers.splice(0, 3);
    story.request({ at: 1000 }, 500);
    story.request({ at: 1060, attempt: 2 }, 500);
    story.killed(1070);
    story.request({ at: 1500, generation: 2 }, 200);
    expect(faultsOf(story)).toEqual(["unexplained"]);
  });

  it("is none when a receiver reads late what has timed out", () => {
    const story = new Story();
    story.receivers.splice(0, 3);
    story.request({ at: 1600, attempt: 2 }, 200);
    story.request({ at: 1700, attempt: 1 }, 200);
    const settled = { delivery: "dlv_1", event: "evt_1", status: "delivered" } as const;
    story.driver.push({ kind: "settled", generation: 1, at: 1650, deliveries: [settled] });
    story.recorded({ error: "timeout", duration_ms: 501 }, { outcome: "succeeded", status_code: 200 });
    expect(faultsOf(story)).toEqual([]);
  });

  it("is explained by kills when careful mode gave the attempt up", () => {
    const story = new Story();
    story.killed(1040);
    story.killed(1900, 2);
    story.request({ at: 2000, generation: 3, attempt: 2 }, 200);
    story.recorded({ error: "interrupted" }, { outcome: "succeeded", status_code: 200 });
    expect(faultsOf(story)).toEqual([]);
    expect(story.verdict().duplicates).toMatchObject({ explained: 1 });
  });

  it("is an attempt after a 2xx too, unless that came after the time limit", () => {
    const story = new Story();
    story.request({ at: 2000, attempt: 2 }, 200);
    story.recorded({}, { outcome: "succeeded", status_code: 200 });
    expect(faultsOf(story)).toEqual(["unexplained"]);
    story.recorded({ error: "timeout", duration_ms: 501 }, { outcome: "succeeded", status_code: 200 });
    expect(faultsOf(story)).toEqual([]);
  });
});

/** Two events of one key at an endpoint. The first is done at 1000, and the second is sent at 1100. */
function twoInOrder(plan: "steady" | "flaky" = "steady"): Story {
  const story = new Story();
  const [first, second] = story.inLine(plan);
  story.request({ ...first, at: 1000 }, 200);
  story.request({ ...second, at: 1100 }, 200);
  return story;
}

const wrongOf = (story: Story) => story.verdict().wrong.filter((text) => /ahead|number|comes after/.test(text));

describe("order by key", () => {
  it("is kept if the second event is sent once the first was delivered", () => {
    expect(wrongOf(twoInOrder())).toEqual([]);
    expect(twoInOrder().verdict().inOrder).toBe(1);
  });

  it("is kept if the first event is only repeated later", () => {
    const story = twoInOrder();
    story.killed(1010);
    story.request({ ...story.lined[0]!, at: 1500, generation: 2 }, 200);
    expect(wrongOf(story)).toEqual([]);
  });

  it("is broken if the second event is sent before the first was answered 2xx", () => {
    const story = new Story();
    const [first, second] = story.inLine("steady");
    story.request({ ...first, at: 1000 }, 500);
    story.request({ ...second, at: 1010 }, 200);
    story.request({ ...first, at: 1060, attempt: 2 }, 200);
    expect(wrongOf(story)).toEqual([expect.stringContaining("was sent before")]);
  });

  it.each([
    ["steady", null, 0],
    ["flaky", null, 1],
    ["flaky", 1050, 0],
    ["flaky", 1150, 1],
  ] as const)("may go on after a failure unless the key is held: %s, freed at %s", (plan, freedAt, faults) => {
    const story = new Story();
    const [first, second] = story.inLine(plan);
    if (freedAt !== null) story.driver.push({ kind: "freed", at: freedAt });
    for (let attempt = 1; attempt <= 7; attempt++) story.request({ ...first, at: 1000 + attempt, attempt }, 500);
    story.request({ ...second, at: 1100 }, 200);
    story.recorded(...Array.from({ length: 7 }, () => ({ delivery: first!.delivery, status_code: 500 })));
    expect(wrongOf(story)).toHaveLength(faults);
  });

  it("is that of acknowledgements, without a gap in the numbers", () => {
    const swapped = twoInOrder();
    [swapped.shown.events[1]!.deliveries, swapped.shown.events[2]!.deliveries].forEach(([one], at) =>
      Object.assign(one!, { sequence: 2 - at }),
    );
    expect(wrongOf(swapped).join()).toContain("was acked before");
    const gap = twoInOrder();
    Object.assign(gap.shown.events[2]!.deliveries[0]!, { sequence: 3 });
    expect(wrongOf(gap)).toEqual([expect.stringContaining("has number 3")]);
  });
});
