/** The event that a row becomes, or why it cannot be one. */
import { describe, expect, it } from "vitest";
import type { OutboxRow, OutboxSettings } from "../../src/domain/outbox/outbox.ts";
import { draftOf, RowProblem } from "../../src/outbox/row-draft.ts";

const NOW = Date.parse("2026-11-20T09:55:00Z");
const RULES = { types: new Map([["a.b", null]]), maxEventBytes: 1000, now: NOW, expiresAt: NOW, checkData: undefined };
const ROW: OutboxRow = {
  id: "1",
  type: "a.b",
  data: Buffer.from("{}"),
  dataBytes: 2,
  createdAt: null,
  publisherId: null,
  tags: null,
  orderingKey: null,
  tenant: null,
};
const TO_ACME: Pick<OutboxSettings, "name" | "tenant"> = { name: "shop", tenant: { name: "acme" } };

function of(change: Partial<OutboxRow> | string, outbox = TO_ACME) {
  const more = typeof change === "string" ? { data: Buffer.from(change), dataBytes: change.length } : change;
  return draftOf({ ...ROW, ...more }, outbox, RULES);
}

describe("a row", () => {
  it("is the event of its columns, with its data byte for byte", () => {
    const { tenant, type, data, createdAt, labels, idempotency } = of({
      data: Buffer.from(' {"a" : 1.50}\n'),
      createdAt: "2026-01-02T03:04:05.678Z",
      publisherId: "p",
      tags: '["y","x"]',
    });
    expect({ tenant, type, data: Buffer.from(data).toString(), createdAt, labels }).toEqual({
      tenant: "acme",
      type: "a.b",
      data: '{"a" : 1.50}',
      createdAt: Date.parse("2026-01-02T03:04:05.678Z"),
      labels: { publisherId: "p", tags: ["x", "y"] },
    });
    expect(idempotency!.key).toMatch(/^outbox shop \S{22} 1$/);
  });

  it("cannot say more by its data than its data", () => {
    for (const text of [
      '{}, "tenant":"other"',
      '{}},{"type":"a.b"',
      "{}{}",
      "[]",
      "1",
      "",
      "{",
      '{"a":1,"a":2}',
      "\u0000{}",
    ])
      expect(() => of(text), text).toThrow(RowProblem);
    expect(() => of({ tags: '[],"tenant":"other"' })).toThrow(RowProblem);
    expect(() => of({ data: Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]), dataBytes: 7 })).toThrow(
      RowProblem,
    );
    const quoted = of({ publisherId: 'p","tenant":"other' } as Partial<OutboxRow>, TO_ACME);
    expect(quoted.tenant).toBe("acme");
    expect(quoted.labels!.publisherId).toBe('p","tenant":"other');
  });

  it("has the ordering key of its column", () => {
    expect(of({ orderingKey: "order_1" }).orderingKey).toBe("order_1");
    expect(of({}).orderingKey).toBeUndefined();
    expect(() => of({ orderingKey: "" })).toThrow("/ordering_key");
  });

  it("needs a type, data, and an id of a length that a key can hold", () => {
    expect(() => of({ type: null })).toThrow("type is null");
    expect(() => of({ data: null, dataBytes: null })).toThrow("data is null");
    expect(() => of({ id: "x".repeat(201) })).toThrow("id is longer than 200 characters");
    expect(() => of({ data: null, dataBytes: 5000 })).toThrow(
      "the event is larger than 1000 bytes (5000 bytes of data)",
    );
    expect(() => of({ type: "ä\u2028" })).toThrow("/type is not a known event type");
  });

  it("has another key if anything in it differs", () => {
    const key = (change: Partial<OutboxRow>, outbox = TO_ACME) => of(change, outbox).idempotency!.key;
    const keys = [
      key({}),
      key({ id: "2" }),
      key({ data: Buffer.from("{ }"), dataBytes: 3 }),
      key({ createdAt: "2026-01-02T03:04:05Z" }),
      key({ publisherId: "p" }),
      key({ tags: '["x"]' }),
      key({ orderingKey: "k" }),
      key({}, { ...TO_ACME, name: "other" }),
      key({}, { ...TO_ACME, tenant: { name: "other" } }),
    ];
    expect(new Set(keys).size).toBe(keys.length);
    expect(key({})).toBe(keys[0]);
  });

  it("has a problem that every database can hold", () => {
    const { message } = new RowProblem("/data/a\u0000b is unknown, caf\u00e9 \ud800");
    expect(message).toBe("/data/a\\u0000b is unknown, caf\\u00e9 \\ud800");
  });
});
