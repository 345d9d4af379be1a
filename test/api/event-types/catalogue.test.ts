import { describe, expect, it } from "vitest";
import { Catalogue, withLatestTypes } from "../../../src/api/event-types/catalogue.ts";
import { ConfigError } from "../../../src/config/mistake.ts";
import { WebhookdError } from "../../../src/domain/errors.ts";
import type { StoredType } from "../../../src/domain/events/catalogue.ts";
import { BUILT_IN_TYPES, type EventType } from "../../../src/domain/events/event-type.ts";
import type { EventTypeStore, StoredTypes, TypeInUse, PutTypes, TypeChange } from "../../../src/store/store.ts";
import { ManualClock } from "../../harness/clock.ts";

const PAID: EventType = {
  name: "invoice.paid",
  description: "",
  source: "example",
  schema: { type: "object", required: ["id"] },
  sample: { id: 1 },
};
const off = { eventTypes: [PAID], events: { validate: false } };
const on = { eventTypes: [PAID], events: { validate: true } };

function stored(name: string, more: Partial<StoredType> = {}): StoredType {
  const life = { group: null, validation: null, deprecatedAt: null, sunsetAt: null, archived: false };
  return { name, description: "", schema: { type: "object" }, sample: {}, ...life, ...more };
}

/** The types of a store that other nodes also change. */
class SharedTypes implements EventTypeStore {
  kept: StoredTypes = { revision: 0, types: [], deleted: [] };
  asked = 0;
  revived: string[] = [];

  set(...types: StoredType[]): void {
    this.kept = { ...this.kept, revision: this.kept.revision + 1, types };
  }

  async revision(): Promise<number> {
    this.asked++;
    return this.kept.revision;
  }

  async list(): Promise<StoredTypes> {
    return this.kept;
  }

  async put(names: readonly string[], change: TypeChange): Promise<PutTypes> {
    const types = names.map((name) => {
      const before = this.kept.types.find((one) => one.name === name) ?? null;
      return { before, type: change(before, name) };
    });
    this.set(...this.kept.types.filter(({ name }) => !names.includes(name)), ...types.map(({ type }) => type));
    return { types, revision: this.kept.revision };
  }

  async delete(name: string): Promise<number | null> {
    this.set(...this.kept.types.filter((one) => one.name !== name));
    return this.kept.revision;
  }

  async revive(names: readonly string[]): Promise<void> {
    this.revived.push(...names);
  }
}

function parts(types = new SharedTypes(), ...used: TypeInUse[]) {
  const typesInUse = async (known: readonly string[]) => used.filter(({ type }) => !known.includes(type));
  const clock = new ManualClock();
  return { store: { endpoints: { typesInUse }, types, ownership: { owns: () => true } }, clock };
}

describe("the catalogue of a daemon", () => {
  it("names the endpoints that chose a type which is gone, and what to do", async () => {
    const opened = Catalogue.open(
      off,
      parts(
        undefined,
        { type: "a.b", endpoints: 12, some: ["ep_1", "ep_2", "ep_3"] },
        { type: "c", endpoints: 1, some: ["ep_4"] },
      ),
    );
    await expect(opened).rejects.toThrow(ConfigError);
    await expect(opened).rejects.toThrow(
      /a\.b is no longer configured, but 12 endpoints chose it: ep_1, ep_2, ep_3, 9 more\./,
    );
    await expect(opened).rejects.toThrow(
      /Put it back and start again\. [^]*c is no longer configured, but an endpoint chose it: ep_4\./,
    );
  });

  it("stays as it was when a change is refused", async () => {
    const catalogue = await Catalogue.open(on, parts(undefined, { type: PAID.name, endpoints: 1, some: ["ep_1"] }));
    const { types } = catalogue;
    await expect(catalogue.change({ ...off, eventTypes: [] })).rejects.toThrow(ConfigError);
    await expect(catalogue.change({ ...off, eventTypes: [{ ...PAID, sample: {} }] })).rejects.toThrow(/sample/);
    expect([...types.keys()].at(-1)).toBe(PAID.name);
    expect(catalogue.checkData!(PAID.name, Buffer.from("{}"))).toMatchObject({ pointer: "/id" });
  });

  it("changes under those who hold it, and checks data only while that is on", async () => {
    const catalogue = await Catalogue.open({ ...off, eventTypes: [] }, parts());
    const { types } = catalogue;
    expect(types.size).toBe(BUILT_IN_TYPES.length);
    await catalogue.change(on);
    expect(types.get(PAID.name)).toMatchObject(PAID);
    expect(catalogue.checkData).toBeDefined();
    await catalogue.change(off);
    expect(catalogue.checkData).toBeUndefined();
  });

  it("has the types of the store too, which keep an endpoint's choice", async () => {
    const types = new SharedTypes();
    types.set(stored("order.created"));
    const used = { type: "order.created", endpoints: 1, some: ["ep_1"] };
    const catalogue = await Catalogue.open(off, parts(types, used));
    expect([...catalogue.types.keys()].slice(-2)).toEqual([PAID.name, "order.created"]);
    await catalogue.change({ ...off, eventTypes: [] });
    expect([...catalogue.types.keys()].at(-1)).toBe("order.created");
  });

  it("lets endpoints choose a deleted type again once it is configured", async () => {
    const types = new SharedTypes();
    types.kept = { revision: 2, types: [], deleted: [PAID.name, "other.type"] };
    await Catalogue.open(off, parts(types));
    expect(types.revived).toEqual([PAID.name]);
  });
});

describe("data of a stored type", () => {
  const strict = { schema: { type: "object", required: ["id"] }, sample: { id: 1 } };
  const judged = async (validation: StoredType["validation"], validate: boolean) => {
    const types = new SharedTypes();
    types.set(stored("a.b", { ...strict, validation }));
    const catalogue = await Catalogue.open({ eventTypes: [], events: { validate } }, parts(types));
    return catalogue.checkData?.("a.b", Buffer.from("{}")) ?? null;
  };

  it.each([
    [null, false, null],
    [null, true, { pointer: "/id", isWarning: false }],
    ["off", true, null],
    ["warn", false, { pointer: "/id", isWarning: true }],
    ["warn", true, { pointer: "/id", isWarning: true }],
    ["enforce", false, { pointer: "/id", isWarning: false }],
  ] as const)("with validation %j and [events] validate %j is judged %j", async (validation, validate, expected) => {
    const fault = await judged(validation, validate);
    if (expected === null) expect(fault).toBeNull();
    else expect(fault).toMatchObject(expected);
  });

  it("does not change what is checked of other types", async () => {
    const types = new SharedTypes();
    types.set(stored("a.b", { ...strict, validation: "enforce" }));
    const catalogue = await Catalogue.open(off, parts(types));
    expect(catalogue.checkData!(PAID.name, Buffer.from("{}"))).toBeNull();
    await catalogue.delete("a.b", 0);
    expect(catalogue.checkData).toBeUndefined();
  });

  it("is checked by the schema of now, and two types may have the same $id", async () => {
    const types = new SharedTypes();
    const catalogue = await Catalogue.open({ eventTypes: [], events: { validate: true } }, parts(types));
    const schema = {
      $id: "https://example.com/one",
      type: "object",
      properties: { id: { $ref: "#/$defs/id" } },
      $defs: { id: { type: "string" } },
    };
    for (const name of ["a.b", "a.c"]) {
      await catalogue.sampleFor({ name, schema, sample: {} });
      await catalogue.put([name], () => stored(name, { schema: { ...schema } }));
    }
    expect(catalogue.checkData!("a.b", Buffer.from('{"id":1}'))).toMatchObject({ pointer: "/id" });
    await catalogue.put(["a.b"], () => stored("a.b"));
    expect(catalogue.checkData!("a.b", Buffer.from('{"id":1}'))).toBeNull();
    expect(catalogue.checkData!("a.c", Buffer.from('{"id":1}'))).toMatchObject({ pointer: "/id" });
  });
});

describe("a node that shares its store", () => {
  const unknown = () => {
    const errors = [{ pointer: "/type", code: "unknown_event_type" as const, detail: "" }];
    return new WebhookdError("validation_failed", "", { errors });
  };

  it("refuses an unknown type only once no other node has added it", async () => {
    const types = new SharedTypes();
    const { clock, store } = parts(types);
    const catalogue = await Catalogue.open(off, { clock, store });
    const publish = () => {
      if (!catalogue.types.has("order.created")) throw unknown();
      return "published";
    };
    types.set(stored("order.created"));
    const published = withLatestTypes(catalogue, publish);
    expect(await published).toBe("published");
  });

  it("asks the store once for all who name an unknown type, and no more than 20 times a second", async () => {
    const types = new SharedTypes();
    const { clock, store } = parts(types);
    const catalogue = await Catalogue.open(off, { clock, store });
    const refused: Promise<unknown>[] = [];
    const name = () => withLatestTypes(catalogue, () => Promise.reject(unknown())).catch((error: unknown) => error);
    const turn = () => new Promise((resolve) => void setImmediate(resolve));
    for (let step = 0; step < 100; step++) {
      for (let caller = 0; caller < 20; caller++) refused.push(name());
      // The catalogue may wait for a turn before it asks.
      for (let turns = 0; turns < 3; turns++) await turn();
      clock.advance(10);
    }
    clock.advance(100);
    for (const error of await Promise.all(refused)) expect(error).toMatchObject({ code: "validation_failed" });
    expect(types.asked).toBeGreaterThan(1);
    // 1.1 s have passed.
    expect(types.asked).toBeLessThanOrEqual(23);
  });

  it("asks nothing for any other refusal", async () => {
    const types = new SharedTypes();
    const catalogue = await Catalogue.open(off, parts(types));
    const other = new WebhookdError("validation_failed", "");
    await expect(withLatestTypes(catalogue, () => Promise.reject(other))).rejects.toBe(other);
    expect(types.asked).toBe(0);
  });

  it("reads the whole list when changes of others came between its own", async () => {
    const types = new SharedTypes();
    const catalogue = await Catalogue.open(off, parts(types));
    types.set(stored("of.another"));
    await catalogue.put(["its.own"], () => stored("its.own"));
    expect([...catalogue.types.keys()].slice(-2)).toEqual(["its.own", "of.another"]);
    expect(catalogue.revision).toBe(2);
  });
});
