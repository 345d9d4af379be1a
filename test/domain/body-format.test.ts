import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { BODY_FORMATS, bodyIn, shapeOf } from "../../src/domain/endpoints/body-format.ts";
import { envelope, readEnvelope } from "../../src/domain/events/event.ts";

const HEAD = { id: "evt_1", type: "budget.exceeded", createdAt: "2026-11-20T09:55:00.123Z", tenant: "acme" };
const DATA = Buffer.from('{ "amount":1.10,"name":"café"}');

describe("the body of a request", () => {
  it.each([
    [
      "envelope",
      "application/json",
      `{"id":"evt_1","type":"budget.exceeded","created_at":"2026-11-20T09:55:00.123Z","data":${DATA.toString()}}`,
    ],
    [
      "cloudevents",
      "application/cloudevents+json",
      `{"specversion":"1.0","id":"evt_1","source":"/tenants/acme","type":"budget.exceeded","time":"2026-11-20T09:55:00.123Z","datacontenttype":"application/json","data":${DATA.toString()}}`,
    ],
    ["cloudevents_binary", "application/json", DATA.toString()],
    ["data", "application/json", DATA.toString()],
  ] as const)("has the data unchanged, as %s", (format, contentType, text) => {
    const shape = shapeOf(format, HEAD);
    expect([shape.contentType, Buffer.from(bodyIn(shape, DATA)).toString()]).toEqual([contentType, text]);
  });

  it("has its attributes in headers only in the binary mode", () => {
    expect(shapeOf("cloudevents_binary", HEAD).headers).toEqual([
      ["ce-specversion", "1.0"],
      ["ce-id", "evt_1"],
      ["ce-source", "/tenants/acme"],
      ["ce-type", "budget.exceeded"],
      ["ce-time", "2026-11-20T09:55:00.123Z"],
    ]);
    const others = BODY_FORMATS.filter((format) => format !== "cloudevents_binary");
    expect(others.flatMap((format) => shapeOf(format, HEAD).headers)).toEqual([]);
  });
});

const Type = fc.stringMatching(/^[a-z][a-z0-9_]{0,20}(\.[a-z0-9_]{1,10}){0,3}$/);
const Time = fc.integer({ min: 0, max: 253_402_300_799_999 });

it("an envelope is read as it was written", () => {
  const id = "evt_06fbqxw6v8s2d4f6g8h0j2k4n0";
  fc.assert(
    fc.property(Type, Time, fc.json(), (type, createdAt, json) => {
      const data = Buffer.from(json);
      const body = envelope(id, type, createdAt, data);
      const read = readEnvelope(body, id);
      const time = new Date(createdAt).toISOString();
      expect({ ...read, data: Buffer.from(read.data) }).toEqual({ type, createdAt: time, data });
      const again = bodyIn(shapeOf("envelope", { id, ...read, tenant: "acme" }), read.data);
      expect(Buffer.from(again)).toEqual(body);
    }),
  );
});
