import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { FILTER_WORDS, printFilter, queryOf, readFilter, readInstant, type Filter } from "../../src/client/filter.ts";
import { ATTEMPT_ERRORS } from "../../src/domain/deliveries/attempt.ts";

const NOW = Date.UTC(2026, 10, 20, 10);
const ID = "01m7w8bx02jeyjr53r14y5rmma";

describe("a filter", () => {
  it("is read word by word, and settles times by the clock", () => {
    const { filter, mistakes } = readFilter(`status:failed  status_code:5xx endpoint:ep_${ID} since:2h`);
    expect(mistakes).toEqual([]);
    expect(queryOf(filter, NOW)).toEqual({
      status: "failed",
      status_code: "5xx",
      endpoint: `ep_${ID}`,
      since: "2026-11-20T08:00:00.000Z",
    });
  });

  it.each([
    ["statsu:failed", 0, '"statsu:failed" is not a filter', "Did you mean status?"],
    ["type:a status:faild", 7, 'status: does not take "faild"', "Did you mean failed?"],
    ["status:", 0, "status: needs a value", "For example status:failed."],
    ["failed", 0, '"failed" is not a filter', "Did you mean status:failed?"],
    ["timeout", 0, '"timeout" is not a filter', "Did you mean error:timeout?"],
    [
      "acme shop",
      5,
      '"acme" and "shop" cannot be searched for together',
      "Leave one of them out, or name a filter: tenant:shop.",
    ],
    ["acme failed", 5, '"failed" is not a filter', "Did you mean status:failed?"],
    ["status:failed status:held", 14, "status: is given twice", "Give it once."],
    ["status_code:5x", 0, 'status_code: does not take "5x"', /503, or 5xx/],
    ["since:yesterday", 0, 'since: does not take "yesterday"', /such as 2h/],
    ["endpoint:ep_1", 0, 'endpoint: does not take "ep_1"', /ep_ followed by 26/],
    ["publisher_id:é", 0, 'publisher_id: does not take "é"', /1 to 128 visible/],
    ["tag:a,,b", 0, 'tag: does not take "a,,b"', /1 to 64 visible/],
    ["customer:1", 0, '"customer:1" is not a filter', /For what an event's data says: data\.customer:1\./],
    ["type:a data.customer", 7, '"data.customer" does not say what to look for', /data\.customer\.id:cus_123/],
    ["data.a:1 data.b..c:2", 9, '"data.b..c:2" does not say what to look for', /at most 5/],
    ["__proto__:1", 0, '"__proto__:1" is not a filter', /^The filters are/],
  ])("says of %j where and what is wrong, and what to type", (text, at, what, hint) => {
    const [mistake] = readFilter(text).mistakes;
    expect(mistake).toMatchObject({ at, what });
    expect(mistake!.hint).toMatch(hint);
  });

  it("takes a word for each condition on the data", () => {
    const { filter, mistakes } = readFilter('data.customer.id:cus_123 since:1h data.name:"Ann Smith" data.note:a:b');
    expect(mistakes).toEqual([]);
    expect(filter).toEqual({ data: 'customer.id:cus_123 name:"Ann Smith" note:a:b', since: "1h" });
    expect(printFilter(filter)).toBe('data.customer.id:cus_123 data.name:"Ann Smith" data.note:a:b since:1h');
  });

  it("printed and read again is the same", () => {
    const values: { [W in (typeof FILTER_WORDS)[number]]: fc.Arbitrary<string> } = {
      match: fc.stringMatching(/^[a-z]{1,8}$/),
      status: fc.constantFrom("pending", "held", "delivered", "failed", "cancelled", "unmatched"),
      type: fc.stringMatching(/^[a-z.:]{1,12}$/),
      endpoint: fc.constant(`ep_${ID}`),
      event: fc.constant(`evt_${ID}`),
      publisher_id: fc.stringMatching(/^[!-~]{1,12}$/),
      tag: fc.stringMatching(/^[a-z:]{1,8}(,[a-z]{1,3})?$/),
      data: fc
        .array(fc.tuple(fc.stringMatching(/^[a-z]{1,4}(\.[a-z0-9]{1,3})?$/), fc.string({ minLength: 1 })), {
          minLength: 1,
          maxLength: 3,
        })
        .map((all) => all.map(([path, value]) => `${path}:${JSON.stringify(value)}`).join(" ")),
      error: fc.constantFrom(...ATTEMPT_ERRORS),
      status_code: fc.constantFrom("503", "4xx"),
      since: fc.constantFrom("2h", "30d", "2026-11-20", "2026-11-20T09:00Z"),
      until: fc.constantFrom("1s", "2026-11-20T09:00:00.5+01:00"),
      tenant: fc.stringMatching(/^[a-z]{1,8}$/),
      test: fc.constantFrom("true", "false"),
    };
    fc.assert(
      fc.property(fc.record(values, { requiredKeys: [] }), (filter: Filter) => {
        expect(readFilter(printFilter(filter))).toEqual({ filter, mistakes: [] });
      }),
    );
  });
});

it.each([
  ["2h", "2026-11-20T08:00:00.000Z"],
  ["2026-11-20", "2026-11-20T00:00:00.000Z"],
  ["2026-11-20T09:00", "2026-11-20T09:00:00.000Z"],
  ["2026-11-20T09:00+01:00", "2026-11-20T08:00:00.000Z"],
  ["09:00", "2026-11-20T09:00:00.000Z"],
  ["12:00", "2026-11-19T12:00:00.000Z"],
  ["10:00Z", "2026-11-20T10:00:00.000Z"],
  ["01:30+02:00", "2026-11-19T23:30:00.000Z"],
  ["23:30-02:00", "2026-11-20T01:30:00.000Z"],
  ["25:00", null],
  ["2028-02-29", "2028-02-29T00:00:00.000Z"],
  ["2026-02-29", null],
  ["2026-02-30T09:00+01:00", null],
  ["2026-13-20", null],
  ["now", null],
])("%j is the instant %j", (text, instant) => {
  expect(readInstant(text, NOW)?.instant ?? null).toBe(instant);
});
