import { describe, expect, it } from "vitest";
import { published, replayed, stopping } from "../../src/delivery/core/lifecycle.ts";
import { Memory } from "../../src/delivery/memory/memory.ts";
import { startsAtOnce } from "../../src/domain/events/routing.ts";

const NOW = { wall: 1000, monotonic: 1000 };
const WAITING = [{ endpoint: "ep_1", event: "evt_1", dueAt: 1000 }];
const rules = {
  ladder: [1000],
  maxRetryAfter: 0,
  timeoutMs: 10_000,
  loadedBytes: 1_000_000,
  autoDisable: { onGone: false, afterMs: 0 },
};

describe("a new delivery", () => {
  const starts = (memory: Memory) => startsAtOnce({ id: "ep_1", enabled: true }, false, memory.capacity);

  it("waits behind those that did not start at once, but not behind what is replayed", () => {
    const memory = new Memory(rules, () => 16);
    expect(starts(memory)).toBe(true);
    replayed(memory, WAITING, NOW);
    expect(starts(memory)).toBe(true);
    published(memory, { fresh: [], waiting: WAITING }, NOW);
    expect(starts(memory)).toBe(false);
  });

  it("waits while the daemon stops", () => {
    const memory = new Memory(rules, () => 16);
    stopping(memory, NOW);
    expect(starts(memory)).toBe(false);
  });
});
