import { describe, expect, it } from "vitest";
import { Catalogue } from "../../../src/api/event-types/catalogue.ts";
import { ConfigError } from "../../../src/config/mistake.ts";
import { BUILT_IN_TYPES, type EventType } from "../../../src/domain/events/event-type.ts";
import type { TypeInUse } from "../../../src/store/store.ts";

const PAID: EventType = {
  name: "invoice.paid",
  description: "",
  source: "example",
  schema: { type: "object", required: ["id"] },
  sample: { id: 1 },
};
const off = { eventTypes: [PAID], events: { validate: false } };
const on = { eventTypes: [PAID], events: { validate: true } };

function inUse(...types: TypeInUse[]) {
  const typesInUse = async (known: readonly string[]) => types.filter(({ type }) => !known.includes(type));
  return { endpoints: { typesInUse } };
}

describe("the catalogue of a daemon", () => {
  it("names the endpoints that chose a type which is gone, and what to do", async () => {
    const store = inUse(
      { type: "a.b", endpoints: 12, some: ["ep_1", "ep_2", "ep_3"] },
      { type: "c", endpoints: 1, some: ["ep_4"] },
    );
    const opened = Catalogue.open(off, store);
    await expect(opened).rejects.toThrow(ConfigError);
    await expect(opened).rejects.toThrow(
      /a\.b is no longer configured, but 12 endpoints chose it: ep_1, ep_2, ep_3, 9 more\./,
    );
    await expect(opened).rejects.toThrow(
      /Put it back and start again\. [^]*c is no longer configured, but an endpoint chose it: ep_4\./,
    );
  });

  it("stays as it was when a change is refused", async () => {
    const catalogue = await Catalogue.open(on, inUse({ type: PAID.name, endpoints: 1, some: ["ep_1"] }));
    const { types } = catalogue;
    await expect(catalogue.change({ ...off, eventTypes: [] })).rejects.toThrow(ConfigError);
    await expect(catalogue.change({ ...off, eventTypes: [{ ...PAID, sample: {} }] })).rejects.toThrow(/sample/);
    expect([...types.keys()].at(-1)).toBe(PAID.name);
    expect(catalogue.checkData!(PAID.name, Buffer.from("{}"))).toMatchObject({ pointer: "/id" });
  });

  it("changes under those who hold it, and checks data only while that is on", async () => {
    const catalogue = await Catalogue.open({ ...off, eventTypes: [] }, inUse());
    const { types } = catalogue;
    expect(types.size).toBe(BUILT_IN_TYPES.length);
    await catalogue.change(on);
    expect(types.get(PAID.name)).toBe(PAID);
    expect(catalogue.checkData).toBeDefined();
    await catalogue.change(off);
    expect(catalogue.checkData).toBeUndefined();
  });
});
