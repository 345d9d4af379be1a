import { describe, expect, it, vi } from "vitest";
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

  it("is not taken from the next body by one that is given back twice", () => {
    const memory = new BodyMemory(new ManualClock());
    // This body takes all the memory, which would be released if the second return were not noticed.
    const first = memory.take(512 * KIB);
    memory.giveBack(first);
    memory.giveBack(first);
    const second = memory.take(512 * KIB);
    expect(second.buffer).toBe(first.buffer);
    memory.giveBack(first);
    expect(memory.take(512 * KIB).buffer).not.toBe(second.buffer);
    expect(second).toHaveLength(512 * KIB);
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

describe("a long batch that is refused for what it says", () => {
  const EVENTS = "/v1/webhooks/events/batch";
  const events = (count: number, text: string, type = "goal.achieved") =>
    Array.from({ length: count }, () => ({ type, data: { text: text.repeat(30_000) } }));

  it.each([
    ["an unknown type", "/events/19/type", [...events(19, "a"), ...events(1, "b", "no.such")]],
    ["no object", "/events/19", [...events(19, "a"), 1]],
  ])("has its memory used again: %s", async (_name, pointer, refused) => {
    const taken = vi.spyOn(BodyMemory.prototype, "take");
    const api = await ApiServer.start(await aStore());
    for (let count = 0; count < 3; count++) {
      const { status, body } = await api.post(EVENTS, { events: refused });
      expect({ status, pointer: body.errors[0].pointer }).toEqual({ status: 422, pointer });
    }
    const memory = taken.mock.results.map(({ value }) => (value as Buffer).buffer);
    expect(memory).toHaveLength(3);
    expect(new Set(memory).size).toBe(1);
  });

  it("has it used again when its JSON is broken", async () => {
    const taken = vi.spyOn(BodyMemory.prototype, "take");
    const api = await ApiServer.start(await aStore());
    for (let count = 0; count < 3; count++) {
      expect((await api.post(EVENTS, `${JSON.stringify({ events: events(20, "a") })}}`)).status).toBe(400);
    }
    expect(new Set(taken.mock.results.map(({ value }) => (value as Buffer).buffer)).size).toBe(1);
  });

  it("has it used again by no other while the store may read it, whatever became of the publish", async () => {
    const given = vi.spyOn(BodyMemory.prototype, "giveBack");
    const store = await aStore();
    const api = await ApiServer.start(store);
    Object.assign(store.events, { publish: () => Promise.reject(new Error("the disk")) });
    expect((await api.post(EVENTS, { events: events(20, "a") })).status).toBe(500);
    expect(given).not.toHaveBeenCalled();
  });

  it("leaves what others publish meanwhile as it was", async () => {
    const api = await ApiServer.start(await aStore());
    const publish = async (at: number) => {
      const text = String.fromCharCode(97 + at);
      const { body } = await api.post(EVENTS, { events: events(20, text) });
      return (body as { data: { id: string }[] }).data.map(({ id }) => ({ id, text: text.repeat(30_000) }));
    };
    const refuse = async (at: number) => {
      const text = String.fromCharCode(65 + at);
      const key = await api.addKey(["publish"], `tenant-${at}`);
      return (await api.post(EVENTS, { events: [...events(19, text), 1] }, { key })).status;
    };
    for (let round = 0; round < 3; round++) {
      const numbers = [0, 1, 2, 3, 4, 5];
      const [published, refused] = await Promise.all([
        Promise.all(numbers.map((at) => publish(at))),
        Promise.all(numbers.map((at) => refuse(round * 10 + at))),
      ]);
      expect(new Set(refused)).toEqual(new Set([422]));
      for (const { id, text } of published.flat()) {
        const { body } = await api.get(`/v1/webhooks/events/${id}`);
        expect((body as { data: object }).data).toEqual({ text });
      }
    }
  });
});

it("answers one key's long batches that are refused at a pace, and its short ones at once", async () => {
  const api = await ApiServer.start(await aStore());
  const [key, other] = [await api.addKey(["publish"], "a"), await api.addKey(["publish"], "b")];
  const long = { events: [{ type: "no.such", data: { text: "x".repeat(200_000) } }, ...longEvents(100)] };
  let answered = 0;
  const flood = Array.from({ length: 12 }, async () => {
    const { status } = await api.post("/v1/webhooks/events/batch", long, { key });
    answered++;
    return status;
  });
  // Each batch costs 23 pieces of 128 KiB, and 64 pieces are answered at once.
  await expect.poll(() => answered).toBe(3);
  for (let count = 0; count < 150; count++) {
    const { status } = await api.post("/v1/webhooks/events", { type: "no.such", data: {} }, { key });
    expect(status).toBe(422);
  }
  expect((await api.post("/v1/webhooks/events/batch", long, { key: other })).status).toBe(422);
  expect(answered).toBe(3);
  await expect
    .poll(() => {
      api.clock.advance(100);
      return answered;
    })
    .toBe(12);
  expect(new Set(await Promise.all(flood))).toEqual(new Set([422]));
});

function longEvents(count: number): object[] {
  return Array.from({ length: count }, () => ({ type: "goal.achieved", data: { text: "x".repeat(28_000) } }));
}
