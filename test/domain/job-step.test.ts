import { describe, expect, it } from "vitest";
import type { Trigger } from "../../src/domain/deliveries/attempt.ts";
import type { ShownStatus, StoredStatus } from "../../src/domain/deliveries/delivery.ts";
import { failsCanary, isAwaited, qualifies, resultOf } from "../../src/domain/deliveries/job-step.ts";

const OPEN = { enabled: true, deleted: false, cancelTo: null };
const DISABLED = { ...OPEN, enabled: false };
const SWEPT = { ...OPEN, cancelTo: 100 };
const ANY = { missing: false };
const MISSING = { missing: true };

const seen = (status: StoredStatus, shown: ShownStatus) => ({ status, shown });
const FAILED = seen("failed", "failed");
const WAITING = seen("waiting", "pending");
const HELD = seen("waiting", "held");
const FRESH = seen("fresh", "pending");
const DELIVERED = seen("delivered", "delivered");

describe("the turn of a delivery", () => {
  it("replays what has failed, or the status that the filter names, and only what would be sent", () => {
    expect(qualifies("replay", ANY, OPEN, FAILED, false)).toBe(true);
    expect(qualifies("replay", ANY, OPEN, DELIVERED, false)).toBe(false);
    expect(qualifies("replay", { ...ANY, status: "delivered" }, OPEN, DELIVERED, false)).toBe(true);
    expect(qualifies("replay", ANY, OPEN, FAILED, true)).toBe(false);
    for (const endpoint of [DISABLED, SWEPT]) expect(qualifies("replay", ANY, endpoint, FAILED, false)).toBe(false);
    expect(qualifies("replay", ANY, OPEN, null, false)).toBe(false);
  });

  it("fills in what is missing, unless it has come meanwhile", () => {
    expect(qualifies("replay", MISSING, OPEN, null, false)).toBe(true);
    expect(qualifies("replay", MISSING, OPEN, FAILED, false)).toBe(false);
    expect(qualifies("replay", MISSING, OPEN, null, true)).toBe(false);
    expect(qualifies("replay", MISSING, SWEPT, null, false)).toBe(false);
  });

  it("attempts what waits, and leaves to memory what is fresh", () => {
    expect(qualifies("attempt_now", ANY, OPEN, WAITING, false)).toBe(true);
    expect(qualifies("attempt_now", ANY, OPEN, WAITING, true)).toBe(false);
    expect(qualifies("attempt_now", ANY, OPEN, FRESH, false)).toBe(false);
    expect(qualifies("attempt_now", ANY, OPEN, FAILED, false)).toBe(false);
    expect(qualifies("attempt_now", ANY, DISABLED, HELD, false)).toBe(false);
  });

  it("cancels what is open, wherever it would go, also what is erased", () => {
    for (const endpoint of [OPEN, DISABLED, SWEPT]) {
      expect(qualifies("cancel", ANY, endpoint, HELD, true)).toBe(true);
      expect(qualifies("cancel", ANY, endpoint, FRESH, false)).toBe(true);
      expect(qualifies("cancel", ANY, endpoint, FAILED, false)).toBe(false);
    }
  });
});

describe("what was released", () => {
  it("is awaited while it waits for its replay, or for the attempt that was requested", () => {
    expect(isAwaited("replay", OPEN, { status: "waiting", isRequested: false })).toBe(true);
    expect(isAwaited("replay", OPEN, { status: "cancelled", isRequested: true })).toBe(false);
    expect(isAwaited("attempt_now", OPEN, { status: "waiting", isRequested: false })).toBe(false);
    expect(isAwaited("attempt_now", OPEN, { status: "failed", isRequested: true })).toBe(true);
    expect(isAwaited("replay", DISABLED, { status: "waiting", isRequested: false })).toBe(false);
    expect(isAwaited("replay", OPEN, { status: null, isRequested: false })).toBe(false);
  });

  const attempt = (trigger: Trigger, status: "delivered" | "failed" | "unchanged", outcome = "failed") => ({
    claim: { trigger },
    outcome: { outcome: outcome as "failed" | "interrupted" },
    verdict: { status },
  });

  it("is delivered by any success, also one that comes late", () => {
    expect(resultOf("replay", attempt("ladder", "delivered"), "superseded")).toBe("delivered");
    expect(resultOf("attempt_now", attempt("replay", "delivered"), "applied")).toBe("delivered");
  });

  it("fails by the job's own attempt alone", () => {
    expect(resultOf("replay", attempt("replay", "failed"), "applied")).toBe("failed");
    expect(resultOf("replay", attempt("manual", "unchanged"), "applied")).toBeNull();
    expect(resultOf("attempt_now", attempt("manual", "unchanged"), "applied")).toBe("failed");
    expect(resultOf("attempt_now", attempt("ladder", "failed"), "applied")).toBeNull();
    expect(resultOf("replay", attempt("test", "failed"), "applied")).toBe("failed");
    expect(resultOf("replay", attempt("replay", "failed"), "superseded")).toBeNull();
    expect(resultOf("replay", attempt("replay", "failed", "interrupted"), "applied")).toBeNull();
  });

  it("stops a job with a canary if it fails before anything was delivered", () => {
    expect(failsCanary(true, "failed", 0)).toBe(true);
    expect(failsCanary(true, "failed", 1)).toBe(false);
    expect(failsCanary(true, "delivered", 0)).toBe(false);
    expect(failsCanary(false, "failed", 0)).toBe(false);
  });
});
