import { describe, expect, it } from "vitest";
import { mergePatch } from "../../src/domain/json/merge-patch.ts";
import type { Endpoint } from "../../src/client/operations.ts";
import { bodyOf, draftOf, EMPTY } from "../../src/portal/endpoints/draft.ts";
import { metadataFault, metadataPatch, metadataText } from "../../src/portal/endpoints/metadata.ts";

const before = {
  url: "https://example.com/",
  events: ["budget.exceeded"],
  filter: null,
  description: "",
  headers: {},
  signatures: ["hmac"],
  rate_per_second: 5,
  max_in_flight: null,
  uid: "ledger",
  metadata: { team: "billing", floor: 2 },
} as unknown as Endpoint;

describe("the request for an endpoint", () => {
  it("has only what was filled in", () => {
    const draft = { ...EMPTY, url: "https://example.com/", events: ["budget.exceeded"] };
    expect(bodyOf(draft, null)).toEqual({ url: draft.url, events: draft.events });
    expect(bodyOf({ ...draft, rate: "0.5", atOnce: " 3 ", uid: " a ", metadata: '{"a": {}}' }, null)).toEqual({
      url: draft.url,
      events: draft.events,
      rate_per_second: 0.5,
      max_in_flight: 3,
      uid: "a",
      metadata: { a: {} },
    });
  });

  it("has only what was changed, and null for what was emptied", () => {
    const draft = draftOf(before);
    expect(bodyOf(draft, before)).toEqual({});
    expect(bodyOf({ ...draft, rate: "", uid: "", atOnce: "many", metadata: "" }, before)).toEqual({
      rate_per_second: null,
      uid: null,
      // The daemon says what is wrong with it.
      max_in_flight: "many",
      metadata: { team: null, floor: null },
    });
  });
});

describe("metadata", () => {
  it.each([
    [{}, {}],
    [{ a: 1 }, { b: 2 }],
    [{ a: { b: 1, c: { d: 2 } } }, { a: { c: { d: 3 } } }],
    [{ a: { b: 1 } }, { a: [1, null] }],
    [{ a: 1 }, { a: { b: {} } }],
    [{ a: { b: 1 } }, { a: {} }],
    [JSON.parse('{"a": 1}'), JSON.parse('{"__proto__": {"toString": 1}}')],
  ])("is changed by a merge patch: %j to %j", (from: object, to: object) => {
    const patch = metadataPatch(from as Record<string, unknown>, JSON.stringify(to));
    expect(JSON.stringify(mergePatch(from as never, patch as never))).toBe(JSON.stringify(to));
  });

  it.each([
    ["", undefined],
    ['{"a": [null]}', undefined],
    ["{", "This is not JSON. Check the quotes, commas and brackets."],
    ["5", 'This must be a JSON object, such as {"team": "billing"}.'],
    ["[]", 'This must be a JSON object, such as {"team": "billing"}.'],
    ['{"a": {"b": null}}', "A member cannot be null here. Leave it out instead."],
  ])("is refused where it could not be kept: %s", (text, fault) => {
    expect(metadataFault(text)).toBe(fault);
  });

  it("is shown indented, and not at all if there is none", () => {
    expect(metadataText({})).toBe("");
    expect(metadataText({ a: 1 })).toBe('{\n  "a": 1\n}');
  });
});
