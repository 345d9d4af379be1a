import { describe, expect, it } from "vitest";
import { BodyMemory } from "../../../src/api/server/body-memory.ts";
import { ManualClock } from "../../harness/clock.ts";
import { ApiServer } from "../server.ts";
import { aStore } from "../sqlite.ts";

const KIB = 1024;

describe("the memory of long bodies", () => {
  it("is used again for the next that fits, and for one at a time", () => {
    const memory = new BodyMemory(new ManualClock());
    const first = memory.take(700 * KIB);
    memory.giveBack(first);
    const second = memory.take(600 * KIB);
    expect(second.buffer).toBe(first.buffer);
    expect(second).toHaveLength(600 * KIB);
    expect(memory.take(700 * KIB).buffer).not.toBe(first.buffer);
    memory.giveBack(second);
    expect(memory.take(1100 * KIB).buffer).not.toBe(first.buffer);
  });

  it("is freed once nobody has needed it for a while, though others still come", () => {
    const clock = new ManualClock();
    const memory = new BodyMemory(clock);
    const burst = Array.from({ length: 8 }, () => memory.take(3000 * KIB));
    for (const body of burst) memory.giveBack(body);
    for (let seconds = 0; seconds < 12; seconds++) {
      clock.advance(1000);
      memory.giveBack(memory.take(3000 * KIB));
    }
    expect(burst.filter(({ buffer }) => buffer.byteLength > 0)).toHaveLength(1);
    clock.advance(10_000);
    expect(burst.filter(({ buffer }) => buffer.byteLength > 0)).toHaveLength(0);
  });

  it("is never more than 64 MiB that nobody uses", () => {
    const memory = new BodyMemory(new ManualClock());
    const burst = [200, 400, 800, 1600, 3200].flatMap((size) =>
      Array.from({ length: 20 }, () => memory.take(size * KIB)),
    );
    for (const body of burst) memory.giveBack(body);
    const kept = burst.reduce((sum, { buffer }) => sum + buffer.byteLength, 0);
    expect(kept).toBeGreaterThan(60 * KIB * KIB);
    expect(kept).toBeLessThanOrEqual(64 * KIB * KIB);
  });

  it("is freed at once if it was not taken here", () => {
    const body = Buffer.allocUnsafeSlow(100 * KIB);
    new BodyMemory(new ManualClock()).giveBack(body);
    expect(body).toHaveLength(0);
  });
});

it("keeps what came in it, however many long bodies come after one another and at once", async () => {
  const api = await ApiServer.start(await aStore());
  const publish = async (at: number) => {
    const text = String.fromCharCode(97 + at).repeat(30_000);
    const events = Array.from({ length: 10 + at }, () => ({ type: "goal.achieved", data: { text } }));
    const { body } = await api.post("/v1/webhooks/events/batch", { events });
    return (body as { data: { id: string }[] }).data.map(({ id }) => ({ id, text }));
  };
  const published = [await publish(0), await publish(1), ...(await Promise.all([2, 3, 4].map(publish)))].flat();
  for (const { id, text } of published) {
    const { body } = await api.get(`/v1/webhooks/events/${id}`);
    expect((body as { data: object }).data).toEqual({ text });
  }
});
