import { describe, expect, it } from "vitest";
import { catalogueOf } from "../../src/domain/events/catalogue.ts";
import { BUILT_IN_TYPES, nameFault, type EventType } from "../../src/domain/events/event-type.ts";

const ORDER: EventType = {
  name: "order.created",
  description: "An order.",
  source: "example",
  schema: { type: "object" },
  sample: { id: 1 },
};

describe("event types", () => {
  it("are the six of the specification", () => {
    expect(BUILT_IN_TYPES.map((type) => type.name)).toEqual([
      "transaction.enriched",
      "transaction.refund_matched",
      "subscription.detected",
      "budget.exceeded",
      "goal.achieved",
      "carbon.threshold",
    ]);
  });

  it("claim specified data for transaction.enriched alone", () => {
    const specified = BUILT_IN_TYPES.filter((type) => type.source === "specified");
    expect(specified.map((type) => type.name)).toEqual(["transaction.enriched"]);
    expect(specified[0]?.sample).toMatchObject({
      transaction_id: expect.stringMatching(/^txn_/) as string,
      merchant: expect.any(Object) as object,
      category: expect.stringMatching(/^[a-z_]+(\.[a-z_]+)+$/) as string,
    });
  });

  it("have samples that JSON carries unchanged", () => {
    for (const { sample } of BUILT_IN_TYPES) expect(JSON.parse(JSON.stringify(sample))).toEqual(sample);
  });

  it("can be added to, under new names", () => {
    expect(catalogueOf().size).toBe(BUILT_IN_TYPES.length);
    expect(catalogueOf({ configured: [ORDER] }).get("order.created")).toMatchObject(ORDER);
  });

  it("are found by own names only", () => {
    expect(catalogueOf().has("__proto__")).toBe(false);
    expect(catalogueOf().has("constructor")).toBe(false);
  });

  it.each([
    "",
    "budget.exceeded",
    "webhookd.endpoint_failing",
    "a b",
    'a"b',
    "a\\b",
    "a.",
    ".a",
    "a..b",
    "é",
    "a\n",
    "a*",
    "x".repeat(129),
  ])("cannot be added as %j", (name) => {
    expect(nameFault(name)).not.toBeNull();
    expect(() => catalogueOf({ configured: [{ ...ORDER, name }] })).toThrow(RangeError);
  });

  it("cannot be added twice", () => {
    expect(() => catalogueOf({ configured: [ORDER, ORDER] })).toThrow(RangeError);
  });
});
