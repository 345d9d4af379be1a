import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { noResponse, type Outcome } from "../../src/domain/deliveries/attempt.ts";
import { eventStatus, settle, type Claim, type ShownStatus } from "../../src/domain/deliveries/delivery.ts";
import { SPECIFIED_LADDER } from "../harness/ladder.ts";

const NOW = Date.UTC(2026, 10, 20);
const FAILED = noResponse("timeout", "no answer within 10 s", 10_000);
const INTERRUPTED = noResponse("interrupted", "webhookd stopped", 12);
const SUCCEEDED: Outcome = { ...FAILED, outcome: "succeeded", error: null, statusCode: 204 };

function aClaim(fields: Partial<Claim> = {}): Claim {
  return {
    event: "evt_1",
    delivery: "dlv_1",
    endpoint: "ep_1",
    body: Buffer.from("{}"),
    number: 1,
    round: 1,
    retry: 0,
    trigger: "ladder",
    dueAt: NOW,
    fresh: true,
    ...fields,
  };
}

describe("settle", () => {
  it("delivers on success, at any place of the ladder", () => {
    fc.assert(
      fc.property(fc.nat(6), fc.constantFrom("ladder", "replay", "manual", "test"), (retry, trigger) => {
        expect(settle(aClaim({ retry, trigger }), SUCCEEDED, SPECIFIED_LADDER, NOW)).toEqual({ status: "delivered" });
      }),
    );
  });

  it.each([...SPECIFIED_LADDER.entries()])(
    "waits on rung %i for %i ms, counted from the failure's end",
    (retry, delay) => {
      const verdict = settle(aClaim({ retry }), FAILED, SPECIFIED_LADDER, NOW);
      expect(verdict).toEqual({ status: "pending", retry: retry + 1, dueAt: NOW + delay });
    },
  );

  it("fails when the seventh attempt failed", () => {
    expect(settle(aClaim({ retry: 6 }), FAILED, SPECIFIED_LADDER, NOW)).toEqual({ status: "failed" });
  });

  it("leaves everything as it was when a manual attempt fails, at any place of the ladder", () => {
    fc.assert(
      fc.property(fc.nat(6), fc.constantFrom(FAILED, INTERRUPTED), (retry, outcome) => {
        const claim = aClaim({ retry, trigger: "manual" });
        expect(settle(claim, outcome, SPECIFIED_LADDER, NOW)).toEqual({ status: "unchanged" });
      }),
    );
  });

  it("ends a delivery whose payload is corrupt, whoever requested the attempt", () => {
    const outcome = noResponse("payload_corrupt", "the stored payload does not match its checksum", 0);
    for (const trigger of ["ladder", "manual", "test"] as const) {
      expect(settle(aClaim({ trigger }), outcome, SPECIFIED_LADDER, NOW)).toEqual({ status: "failed" });
    }
  });

  it("begins the ladder anew in a replay's round", () => {
    const claim = aClaim({ number: 8, round: 2, retry: 0, trigger: "replay" });
    expect(settle(claim, FAILED, SPECIFIED_LADDER, NOW)).toEqual({ status: "pending", retry: 1, dueAt: NOW + 30_000 });
  });

  it("uses no rung for an attempt that we interrupted", () => {
    expect(settle(aClaim({ retry: 6 }), INTERRUPTED, SPECIFIED_LADDER, NOW)).toMatchObject({
      status: "pending",
      retry: 6,
    });
  });

  it("fails at once what cannot get better: a damaged payload, a test event", () => {
    const corrupt = noResponse("payload_corrupt", "the stored body does not match its hash", 0);
    expect(settle(aClaim(), corrupt, SPECIFIED_LADDER, NOW)).toEqual({ status: "failed" });
    expect(settle(aClaim({ trigger: "test" }), FAILED, SPECIFIED_LADDER, NOW)).toEqual({ status: "failed" });
  });

  it("lengthens a wait by Retry-After, up to the limit, and never shortens one", () => {
    const asks = fc.record({
      statusCode: fc.constantFrom(429, 500, 503),
      seconds: fc.nat(200_000),
      date: fc.boolean(),
    });
    fc.assert(
      fc.property(fc.nat(6), asks, fc.nat(100_000_000), (retry, { statusCode, seconds, date }, max) => {
        const text = date ? new Date(NOW + seconds * 1000).toUTCString() : String(seconds);
        const outcome: Outcome = {
          ...FAILED,
          error: "http_status",
          statusCode,
          responseHeaders: { "retry-after": text },
        };
        const verdict = settle(aClaim({ retry }), outcome, SPECIFIED_LADDER, NOW, max);
        const exact = settle(aClaim({ retry }), outcome, SPECIFIED_LADDER, NOW);
        expect(exact).toEqual(settle(aClaim({ retry }), FAILED, SPECIFIED_LADDER, NOW));
        const asked = statusCode === 500 ? 0 : Math.min(seconds * 1000, max);
        const dueAt = exact.status === "pending" && Math.max(exact.dueAt, NOW + asked);
        expect(verdict).toEqual(exact.status === "pending" ? { ...exact, dueAt } : exact);
      }),
    );
  });

  it("makes at most seven attempts that count, and none too early, for any run of outcomes", () => {
    fc.assert(
      fc.property(fc.array(fc.constantFrom(SUCCEEDED, FAILED, INTERRUPTED), { maxLength: 30 }), (outcomes) => {
        let claim = aClaim();
        let counted = 0;
        for (const outcome of outcomes) {
          const endedAt = claim.dueAt + 5;
          const verdict = settle(claim, outcome, SPECIFIED_LADDER, endedAt);
          if (outcome !== INTERRUPTED) counted++;
          if (verdict.status !== "pending") break;
          const delay = outcome === INTERRUPTED ? 0 : SPECIFIED_LADDER[claim.retry];
          expect(verdict.dueAt).toBe(endedAt + (delay ?? Number.NaN));
          claim = aClaim({ retry: verdict.retry, dueAt: verdict.dueAt });
        }
        expect(counted).toBeLessThanOrEqual(7);
      }),
    );
  });
});

describe("an event's status", () => {
  it.each<[ShownStatus[], string]>([
    [[], "unmatched"],
    [["delivered"], "delivered"],
    [["cancelled"], "cancelled"],
    [["cancelled", "delivered"], "delivered"],
    [["shadowed"], "shadowed"],
    [["shadowed", "cancelled"], "cancelled"],
    [["shadowed", "delivered"], "delivered"],
    [["delivered", "held"], "held"],
    [["held", "pending"], "pending"],
    [["delivered", "pending", "failed"], "failed"],
  ])("of %j is %s", (deliveries, status) => {
    expect(eventStatus(deliveries)).toBe(status);
  });

  it("does not depend on the order of its deliveries", () => {
    const status = fc.constantFrom<ShownStatus[]>("pending", "delivered", "failed", "cancelled", "held", "shadowed");
    fc.assert(
      fc.property(fc.array(status), (deliveries) => eventStatus(deliveries) === eventStatus(deliveries.toReversed())),
    );
  });
});
