import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { BUILT_IN_TYPES } from "../../src/domain/events/event-type.ts";
import { dataOf, envelope } from "../../src/domain/events/event.ts";

const ID = "evt_01k8x3v6d2m9qw0123456789ab";
const CREATED = Date.UTC(2026, 10, 20, 9, 55, 0, 123);
const type = fc.constantFrom(...BUILT_IN_TYPES.map(({ name }) => name));
const instant = fc.integer({ min: 0, max: Date.UTC(9999, 11, 31) });

describe("the envelope", () => {
  it("has its four keys in order, compact", () => {
    const body = envelope(ID, "budget.exceeded", CREATED, Buffer.from('{"a":1}'));
    expect(body.toString()).toBe(
      `{"id":"${ID}","type":"budget.exceeded","created_at":"2026-11-20T09:55:00.123Z","data":{"a":1}}`,
    );
  });

  it("alters nothing inside data: key order, digits, escapes and white space stay", () => {
    const data = '{ "b":9007199254740993, "2":1.10, "1":1e400, "n":-0, "s":"\\u00e9\\/é" }';
    const body = envelope(ID, "goal.achieved", CREATED, Buffer.from(data));
    expect(dataOf(body, ID, "goal.achieved")).toEqual(Buffer.from(data));
  });

  it("gives data back byte for byte, for any type and instant", () => {
    fc.assert(
      fc.property(type, instant, fc.object(), (name, createdAt, value) => {
        const data = Buffer.from(JSON.stringify(value));
        const body = envelope(ID, name, createdAt, data);
        expect(JSON.parse(body.toString())).toEqual({
          id: ID,
          type: name,
          created_at: new Date(createdAt).toISOString(),
          data: JSON.parse(data.toString()),
        });
        expect(Buffer.from(dataOf(body, ID, name))).toEqual(data);
      }),
    );
  });
});
