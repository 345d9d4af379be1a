import { describe, expect, it } from "vitest";
import { BodyTurns } from "../../../src/api/pipeline/body.ts";
import { unawaited } from "../../../src/domain/unawaited.ts";

/** An event loop whose turns come when the test says so. */
function loop() {
  let next: (() => void)[] = [];
  const bodies = new BodyTurns(new Map(), (run) => void next.push(run));
  const turn = async () => {
    for (const run of next.splice(0)) run();
    await Promise.resolve();
  };
  return { bodies, turn, isResting: () => next.length === 0 };
}

const KIB = 1024;

describe("work on bodies", () => {
  it("begins at once while there is little of it", async () => {
    const { bodies, turn, isResting } = loop();
    for (let at = 0; at < 50; at++) expect(bodies.take("a", KIB)).toBeNull();
    await turn();
    expect(isResting()).toBe(true);
    expect(bodies.take("a", KIB)).toBeNull();
  });

  it("is bounded in each turn, however much is sent, and goes on in the next", async () => {
    const { bodies, turn, isResting } = loop();
    let done = 0;
    for (let at = 0; at < 400; at++) {
      const waited = bodies.take("flood", 64 * KIB);
      if (waited === null) done++;
      else unawaited(waited.then(() => done++));
    }
    const inTurns = [done];
    for (let turns = 0; turns < 110; turns++) {
      const before = done;
      await turn();
      inTurns.push(done - before);
    }
    expect({ done, most: Math.max(...inTurns) }).toEqual({ done: 400, most: 4 });
    await turn();
    await turn();
    expect(isResting()).toBe(true);
  });

  it("is another tenant's in the next turn, however many wait", async () => {
    const { bodies, turn } = loop();
    for (let at = 0; at < 1000; at++) unawaited(bodies.take("flood", 64 * KIB));
    await turn();
    let done = 0;
    for (let at = 0; at < 3; at++) unawaited(bodies.take("victim", 32 * KIB)!.then(() => done++));
    await turn();
    expect(done).toBe(3);
  });

  it("that is short waits for none that is long, and is bounded too", async () => {
    const { bodies, turn } = loop();
    for (let at = 0; at < 1000; at++) unawaited(bodies.take("flood", 64 * KIB));
    await turn();
    for (let at = 0; at < 50; at++) expect(bodies.take("victim", KIB)).toBeNull();
    const waiting = Array.from({ length: 20 }, () => bodies.take("victim", KIB)).filter((each) => each !== null);
    expect(waiting.length).toBeGreaterThan(15);
    let done = 0;
    for (const each of waiting) unawaited(each.then(() => done++));
    await turn();
    expect(done).toBe(waiting.length);
  });
});
