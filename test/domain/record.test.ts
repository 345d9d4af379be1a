import { describe, expect, it } from "vitest";
import { plainSuccess, type Trigger } from "../../src/domain/deliveries/attempt.ts";
import type { StoredStatus, Verdict } from "../../src/domain/deliveries/delivery.ts";
import {
  afterAttempt,
  answersRequest,
  withoutResponse,
  type DeliveryState,
} from "../../src/domain/deliveries/record.ts";

const DELIVERED: Verdict = { status: "delivered" };
const FAILED: Verdict = { status: "failed" };
const UNCHANGED: Verdict = { status: "unchanged" };
const again = (dueAt: number): Verdict => ({ status: "pending", retry: 3, dueAt });

const state = (status: StoredStatus, attempts: number): DeliveryState => ({
  status,
  attempts,
  retry: 2,
  trigger: "ladder",
  dueAt: status === "fresh" || status === "waiting" ? 1000 : null,
});

function attempt(number: number, verdict: Verdict, trigger: Trigger = "ladder", isInterrupted = false) {
  const outcome = isInterrupted ? "interrupted" : verdict.status === "delivered" ? "succeeded" : "failed";
  return { claim: { number, retry: 2, trigger }, outcome: { outcome }, verdict } as const;
}

describe("an attempt that its delivery waited for", () => {
  it.each(["fresh", "waiting"] as const)("moves a delivery that is %s", (status) => {
    const before = state(status, 1);
    const moved = (verdict: Verdict) => afterAttempt(before, attempt(2, verdict, "replay"));
    const rest = { attempts: 2, retry: 2, trigger: "replay", dueAt: null };
    expect(moved(DELIVERED)).toEqual({ result: "applied", state: { status: "delivered", ...rest } });
    expect(moved(FAILED)).toEqual({ result: "applied", state: { status: "failed", ...rest } });
    expect(moved(again(2000.25))).toEqual({
      result: "applied",
      state: { status: "waiting", attempts: 2, retry: 3, trigger: "ladder", dueAt: 2001 },
    });
  });

  it("is made again as what it was if it was interrupted", () => {
    const { state: after } = afterAttempt(state("waiting", 1), attempt(2, again(2000), "replay", true));
    expect(after).toMatchObject({ status: "waiting", trigger: "replay" });
  });

  it("leaves the delivery where it is if it changes nothing, and takes its number", () => {
    const { result, state: after } = afterAttempt(state("waiting", 1), attempt(2, UNCHANGED, "manual"));
    expect([result, after]).toEqual(["applied", { ...state("waiting", 1), attempts: 2 }]);
    expect(afterAttempt(state("fresh", 0), attempt(1, UNCHANGED, "manual")).state.status).toBe("waiting");
  });
});

describe("an attempt that its delivery has moved on from", () => {
  const late: readonly (readonly [StoredStatus, number])[] = [
    ["waiting", 2],
    ["failed", 2],
    ["cancelled", 0],
    ["delivered", 1],
  ];

  it.each(late)("changes nothing of one that is %s, unless it succeeded", (status, attempts) => {
    const before = state(status, attempts);
    for (const verdict of [FAILED, again(9000)]) {
      expect(afterAttempt(before, attempt(1, verdict))).toEqual({
        result: "superseded",
        state: { ...before, attempts: Math.max(attempts, 1) },
      });
    }
  });

  it.each(late)("wins over %s if it succeeded", (status, attempts) => {
    const { result, state: after } = afterAttempt(state(status, attempts), attempt(1, DELIVERED));
    expect(after).toMatchObject({ status: "delivered", attempts: Math.max(attempts, 1), dueAt: null });
    expect(result).toBe(status === "delivered" ? "superseded" : "applied");
  });

  it("does not take a number back", () => {
    for (const verdict of [FAILED, DELIVERED, UNCHANGED]) {
      expect(afterAttempt(state("failed", 5), attempt(2, verdict)).state.attempts).toBe(5);
    }
  });
});

describe("a request for an attempt", () => {
  it.each<[string, boolean, ReturnType<typeof attempt>]>([
    ["ends with any success", true, attempt(1, DELIVERED)],
    ["ends with an attempt by hand that failed", true, attempt(1, UNCHANGED, "manual")],
    ["ends with a test that failed", true, attempt(1, FAILED, "test")],
    ["outlasts one that was interrupted", false, attempt(1, UNCHANGED, "manual", true)],
    ["outlasts a failure on the ladder", false, attempt(1, again(1))],
    ["outlasts a failure of a replay", false, attempt(1, FAILED, "replay")],
  ])("%s", (_, expected, one) => {
    expect(answersRequest(one)).toBe(expected);
  });
});

it("keeps nothing of what the receiver of an erased event said", () => {
  const outcome = plainSuccess(200, 5, { responseHeaders: { server: "x" }, responseBody: Buffer.from("secret") });
  const kept = withoutResponse({ number: 7, outcome });
  expect(kept).toEqual({ number: 7, outcome: { ...outcome, responseHeaders: {}, responseBody: new Uint8Array(0) } });
});
