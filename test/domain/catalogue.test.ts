import { describe, expect, it } from "vitest";
import {
  archivedFault,
  catalogueOf,
  deletionFault,
  deprecationOf,
  isSameType,
  MAX_STORED_TYPES,
  readOnlyFault,
  capacityFault,
  settledType,
  sunsetFault,
  type StoredType,
} from "../../src/domain/events/catalogue.ts";
import { BUILT_IN_TYPES, type EventType } from "../../src/domain/events/event-type.ts";

const ORDER: EventType = {
  name: "order.created",
  description: "From the file.",
  source: "example",
  schema: { type: "object" },
  sample: {},
};

function stored(name: string, more: Partial<StoredType> = {}): StoredType {
  const life = { group: null, validation: null, deprecatedAt: null, sunsetAt: null, archived: false };
  return { name, description: "From the store.", schema: { type: "object" }, sample: {}, ...life, ...more };
}

const settings = (more: object = {}) => {
  const { name: _, deprecatedAt: __, ...others } = stored("a");
  return { ...others, deprecated: false, ...more };
};

describe("the catalogue", () => {
  it("lists the specification, the configuration, and the store by name", () => {
    const types = catalogueOf({ configured: [ORDER], stored: [stored("b.c"), stored("a.z"), stored("B")] });
    expect([...types.keys()].slice(BUILT_IN_TYPES.length)).toEqual(["order.created", "B", "a.z", "b.c"]);
    const origins = ["transaction.enriched", "order.created", "b.c"].map((name) => types.get(name)!.origin);
    expect(origins).toEqual(["specification", "configuration", "api"]);
  });

  it("takes the first source of a name", () => {
    const hidden = [stored("order.created"), stored("budget.exceeded")];
    const types = catalogueOf({ configured: [ORDER], stored: hidden });
    expect(types.get("order.created")).toMatchObject({ description: "From the file.", origin: "configuration" });
    expect(types.get("budget.exceeded")!.origin).toBe("specification");
    expect(types.size).toBe(BUILT_IN_TYPES.length + 1);
  });

  it.each([
    [false, null, "off"],
    [true, null, "enforce"],
    [true, "off", "off"],
    [false, "warn", "warn"],
    [false, "enforce", "enforce"],
  ] as const)(
    "with [events] validate %j, a type of validation %j is checked as %j",
    (validates, validation, checks) => {
      expect(catalogueOf({ stored: [stored("a", { validation })], validates }).get("a")!.checks).toBe(checks);
    },
  );

  it("lets only stored types change, and says what to do about the others", () => {
    const types = catalogueOf({ configured: [ORDER], stored: [stored("a")] });
    expect(readOnlyFault(types.get("a"))).toBeNull();
    expect(readOnlyFault(undefined)).toBeNull();
    expect(readOnlyFault(types.get("order.created"))).toMatchObject({
      code: "event_type_read_only",
      detail: expect.stringMatching(/configuration.*\[\[event_types\]\].*SIGHUP/) as string,
    });
    expect(readOnlyFault(types.get("goal.achieved"))).toMatchObject({ code: "event_type_read_only" });
  });
});

describe("a stored type", () => {
  it("stays deprecated since the day on which it first was", () => {
    const first = settledType("a", null, settings({ deprecated: true }), 5);
    expect(first.deprecatedAt).toBe(5);
    expect(settledType("a", first, settings({ deprecated: true }), 9).deprecatedAt).toBe(5);
    const back = settledType("a", first, settings(), 9);
    expect(back.deprecatedAt).toBeNull();
    expect(settledType("a", back, settings({ deprecated: true }), 12).deprecatedAt).toBe(12);
  });

  it("has a sunset only after its deprecation", () => {
    expect(sunsetFault(stored("a"))).toBeNull();
    expect(sunsetFault(stored("a", { sunsetAt: 3 }))).toMatch(/only for a deprecated type/);
    expect(sunsetFault(stored("a", { deprecatedAt: 4, sunsetAt: 3 }))).toMatch(/before/);
    expect(sunsetFault(stored("a", { deprecatedAt: 4, sunsetAt: 4 }))).toBeNull();
  });

  it("is the same only if every part is", () => {
    const one = stored("a");
    expect(isSameType(one, stored("a"))).toBe(true);
    const others: Partial<StoredType>[] = [
      { description: "x" },
      { schema: {} },
      { sample: { a: 1 } },
      { group: "x" },
      { validation: "off" },
      { deprecatedAt: 1 },
      { sunsetAt: 1 },
      { archived: true },
    ];
    for (const other of others) expect(isSameType(one, stored("a", other)), JSON.stringify(other)).toBe(false);
  });

  it("may be one of a thousand", () => {
    expect(capacityFault(MAX_STORED_TYPES - 1)).toBeNull();
    expect(capacityFault(MAX_STORED_TYPES)).toMatchObject({ code: "event_type_limit" });
  });

  it("is deleted only when nothing refers to it", () => {
    expect(deletionFault("a", { endpoints: 0, some: [], hasEvents: false })).toBeNull();
    expect(deletionFault("a", { endpoints: 5, some: ["ep_1", "ep_2"], hasEvents: true })).toMatchObject({
      code: "event_type_in_use",
      detail: expect.stringMatching(/5 endpoints chose it \(ep_1, ep_2, 3 more\); archive it/) as string,
    });
    expect(deletionFault("a", { endpoints: 0, some: [], hasEvents: true })).toMatchObject({
      detail: expect.stringMatching(/events of it are kept.*archive it/) as string,
    });
  });

  it("is refused to an endpoint once it is archived, unless the endpoint had chosen it", () => {
    const types = catalogueOf({ stored: [stored("old", { archived: true }), stored("new")] });
    expect(archivedFault(types, ["new"], [])).toBeNull();
    expect(archivedFault(types, ["new", "old"], ["old"])).toBeNull();
    expect(archivedFault(types, ["new", "old"], ["new"])?.errors).toMatchObject([
      { pointer: "/events/1", code: "archived_event_type" },
    ]);
    expect(archivedFault(types, ["*", "old.*"], [])).toBeNull();
  });
});

describe("publishers of deprecated types", () => {
  const types = catalogueOf({
    stored: [
      stored("a", { deprecatedAt: 7000, sunsetAt: 9000 }),
      stored("b", { deprecatedAt: 3000 }),
      stored("c"),
      stored("d", { deprecatedAt: 8000, sunsetAt: 8500 }),
    ],
  });

  it("are told nothing about other types", () => {
    expect(deprecationOf(types, ["c", "goal.achieved", "no.such"])).toBeNull();
  });

  it("are told the earliest days, and each name once", () => {
    expect(deprecationOf(types, ["c", "b", "b"])).toEqual({ since: 3000, sunsetAt: null, names: ["b"] });
    expect(deprecationOf(types, ["a", "b", "d", "a"])).toEqual({ since: 3000, sunsetAt: 8500, names: ["a", "b", "d"] });
  });

  it("are told no more than ten names", () => {
    const many = Array.from({ length: 30 }, (_, at) => stored(`t${at}`, { deprecatedAt: 1 }));
    const told = deprecationOf(
      catalogueOf({ stored: many }),
      many.map(({ name }) => name),
    );
    expect(told!.names).toHaveLength(10);
  });
});
