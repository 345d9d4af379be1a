import { describe, expect, it } from "vitest";
import { endpointKnown, givenBack, withdrawn } from "../../src/delivery/core/changed.ts";
import { beginRead, endRead, notParked, tried } from "../../src/delivery/core/disk.ts";
import { tick } from "../../src/delivery/core/lifecycle.ts";
import { Memory } from "../../src/delivery/memory/memory.ts";
import type { Claim } from "../../src/domain/deliveries/delivery.ts";
import type { EventDelivery } from "../../src/store/store.ts";
import type { Target } from "../../src/domain/endpoints/endpoint.ts";

function aClaim(event: string, endpoint = "ep_a"): Claim {
  const body = new Uint8Array(1000);
  const delivery = `dlv_${event}_${endpoint}`;
  return { event, delivery, endpoint, body, number: 1, round: 1, retry: 0, trigger: "ladder", dueAt: 5, fresh: true };
}

/** Returns a memory with these claims loaded for an enabled endpoint. */
function aMemory(...claims: readonly Claim[]): Memory {
  const rules = { ladder: [], maxRetryAfter: 0, timeoutMs: 10_000, loadedBytes: 1e9 };
  const memory = new Memory({ ...rules, autoDisable: { onGone: false, afterMs: 0 } }, () => 16);
  endpointKnown(memory, "ep_a", { endpoint: "ep_a", enabled: true } as Target);
  for (const claim of claims) memory.windows.load(claim);
  return memory;
}

describe("withdrawing", () => {
  it("lets go of what was taken back, bytes and all, and sends the others on", () => {
    const [a, b] = [aClaim("1"), aClaim("2")];
    const memory = aMemory(a, b);
    expect([...withdrawn(memory, [a])]).toEqual(["ep_a"]);
    expect(givenBack(memory, [a, b]).send).toEqual([b]);
    expect([memory.windows.loaded, memory.windows.bytes]).toEqual([1, 1000]);
    expect(memory.windows.find("ep_a", a.delivery)).toBeUndefined();
  });

  it("keeps what is on the wire loaded until it has ended, and does not send it again", () => {
    const onWire = aClaim("1");
    const memory = aMemory(onWire);
    withdrawn(memory, [onWire]);
    expect(givenBack(memory, []).send).toEqual([]);
    expect(memory.windows.find("ep_a", onWire.delivery)).toBe(onWire);
    const other = aClaim("2");
    memory.windows.load(other);
    expect(givenBack(memory, [onWire, other]).send).toEqual([other]);
    expect([memory.windows.loaded, memory.windows.bytes]).toEqual([1, 1000]);
  });

  it("forgets a delivery that was released, so that a later claim of it is sent", () => {
    const claim = aClaim("1");
    const memory = aMemory(claim);
    withdrawn(memory, [claim]);
    expect(givenBack(memory, [claim]).send).toEqual([]);
    memory.windows.load(claim);
    expect(givenBack(memory, [claim]).send).toEqual([claim]);
  });

  it("has what waits read again, wherever the horizon is: it may have been replayed meanwhile", () => {
    const claim = aClaim("1");
    const memory = aMemory(claim);
    const window = memory.windows.of("ep_a");
    const read = { window, ahead: false, after: window.beginRead(), until: 10, limit: 100 };
    endRead(memory, read, { claims: [], nextDueAt: null }, 10);
    expect(window.reaches(5)).toBe(true);
    withdrawn(memory, [claim]);
    givenBack(memory, [claim]);
    expect(window.reaches(5)).toBe(false);
    expect(memory.windows.nextDueAt).toBe(0);
  });

  it("keeps a read that is under way from bringing back what was not loaded", () => {
    const claim = aClaim("1");
    const memory = aMemory();
    const window = memory.windows.of("ep_a");
    const read = { window, ahead: false, after: window.beginRead(), until: 10, limit: 100 };
    expect([...withdrawn(memory, [claim])]).toEqual([]);
    expect(endRead(memory, read, { claims: [claim], nextDueAt: null }, 10).send).toEqual([]);
    expect(memory.windows.loaded).toBe(0);
  });
});

it("claims that a full disk does not take back are all handed over again, however often the disk refuses", () => {
  const [a, b, c] = [aClaim("1"), aClaim("2"), aClaim("3")];
  const memory = aMemory(a, b, c);
  notParked(memory, [a]);
  notParked(memory, [b, c]);
  const now = { wall: 10, monotonic: 10 };
  expect(tick(memory, now).send).toEqual([a, b, c]);
  expect(tick(memory, now).send).toEqual([]);
});

it("a requested attempt is taken back with the rest, even if it was loaded to be tried alone", () => {
  const claim: Claim = { ...aClaim("1"), trigger: "manual" };
  const owed = { endpoint: "ep_a", delivery: claim.delivery };
  const memory = aMemory();
  memory.manual.add(owed);
  expect(tried(memory, claim, true).send).toEqual([claim]);
  expect(memory.manual.takenFor("ep_a")).toEqual([owed]);
  withdrawn(memory, [owed as EventDelivery]);
  expect(givenBack(memory, [claim]).send).toEqual([]);
  expect(memory.manual.takenFor("ep_a")).toEqual([]);
});

describe("an endpoint that goes to another node", () => {
  it("and comes back is read when its deliveries at that time are due, whatever was left on the disk before", () => {
    const memory = aMemory();
    const { windows } = memory;
    let isAway = true;
    memory.elsewhere = () => isAway;
    // The delivery was given back unstarted while its endpoint moved.
    windows.noteWaiting({ endpoint: "ep_a", event: "1", dueAt: 5 });
    const window = windows.takeDue(10)!;
    expect(beginRead(memory, window, 10)).toBeNull();
    expect(windows.takeDue(10)).toBeUndefined();
    isAway = false;
    windows.noteWaiting({ endpoint: "ep_a", event: "2", dueAt: 8 });
    expect(windows.takeDue(10)).toBe(window);
  });
});
