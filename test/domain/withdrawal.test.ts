import { describe, expect, it } from "vitest";
import type { StoredStatus } from "../../src/domain/deliveries/delivery.ts";
import {
  mayReceive,
  replayOf,
  replayTrigger,
  requestOf,
  whoIsNotified,
  type Receiving,
} from "../../src/domain/deliveries/withdrawal.ts";

const OPEN: Receiving = { enabled: true, deleted: false, cancelTo: null };
const DISABLED = { ...OPEN, enabled: false };
const DELETED = { ...OPEN, deleted: true, cancelTo: Number.MAX_SAFE_INTEGER };
const SWEPT = { ...OPEN, cancelTo: 100 };
const STATUSES: readonly StoredStatus[] = ["fresh", "waiting", "delivered", "failed", "cancelled", "shadowed"];

describe("a replay", () => {
  it("begins a new round of what failed, and with force also of what was delivered", () => {
    expect(STATUSES.map((status) => replayOf(status, OPEN, false))).toEqual([null, null, null, "restart", null, null]);
    expect(STATUSES.map((status) => replayOf(status, OPEN, true))).toEqual([
      null,
      null,
      "restart",
      "restart",
      null,
      null,
    ]);
  });

  it("leaves alone what would not be sent, or would be cancelled by a sweep, and says why", () => {
    expect(replayOf("failed", DISABLED, false)).toBe("endpoint_disabled");
    expect(replayOf("failed", SWEPT, false)).toBe("endpoint_disabled");
    expect(replayOf("failed", DELETED, false)).toBe("endpoint_deleted");
    expect(replayOf("waiting", DELETED, true)).toBeNull();
    expect([OPEN, DISABLED, SWEPT, DELETED].map(mayReceive)).toEqual([true, false, false, false]);
  });

  it("keeps a test a test", () => {
    expect([replayTrigger(true), replayTrigger(false)]).toEqual(["test", "replay"]);
  });
});

describe("a request for one attempt", () => {
  type Facts = Partial<Parameters<typeof requestOf>[0]>;
  const request = (status: StoredStatus, endpoint = OPEN, more: Facts = {}) =>
    requestOf({ event: 50, status, isErased: false, isBehind: false, ...more }, endpoint);

  it("is refused for what waits behind another delivery of its ordering key", () => {
    expect(request("waiting", OPEN, { isBehind: true })).toBe("behind");
  });

  it("is taken for what is open or failed, also while the endpoint is disabled", () => {
    const results = STATUSES.map((status) => request(status, DISABLED));
    expect(results).toEqual(["requested", "requested", "settled", "requested", "settled", "settled"]);
  });

  it("is refused for what is erased, or belongs to a deleted endpoint", () => {
    expect(request("failed", OPEN, { isErased: true })).toBe("gone");
    expect(request("failed", DELETED)).toBe("endpoint_deleted");
    expect(request("waiting", DELETED)).toBe("settled");
  });

  it("is refused for what a sweep has not reached yet, and taken for what came after the sweep began", () => {
    expect(request("waiting", SWEPT)).toBe("settled");
    expect(request("fresh", SWEPT, { event: 100 })).toBe("settled");
    expect(request("waiting", SWEPT, { event: 101 })).toBe("requested");
    expect(request("failed", SWEPT)).toBe("requested");
  });
});

describe("a cancel", () => {
  it("notifies everyone of what it cancels, and the dispatcher again of what was cancelled before", () => {
    const notified = STATUSES.map((status) => whoIsNotified(status, false, false));
    expect(notified).toEqual(["all", "all", null, null, "all", null]);
  });

  it("notifies only the dispatcher of a test, and of a delivery that lost only a request", () => {
    expect(whoIsNotified("waiting", false, true)).toBe("dispatcher");
    expect(whoIsNotified("failed", true, false)).toBe("dispatcher");
    expect(whoIsNotified("failed", false, true)).toBeNull();
  });
});
