import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { isId } from "../../../src/domain/id.ts";
import {
  attemptId,
  deliveryId,
  eventId,
  firstKeyAt,
  instantOf,
  parseAttemptId,
  parseDeliveryId,
  parseEventId,
  positionKey,
  RandomChars,
} from "../../../src/store/rows/codes.ts";
import { RisingKeys } from "../../../src/store/rows/key-times.ts";

const key = fc.integer({ min: 0, max: Number.MAX_SAFE_INTEGER });
const endpoint = fc.integer({ min: 1, max: 2 ** 25 - 1 });
const random = fc
  .uint8Array({ minLength: 15 * 256, maxLength: 15 * 256 })
  .map((bytes) => new RandomChars(() => bytes).next());

describe("ids in SQLite", () => {
  it("have the public shape and give back what they were made of", () => {
    fc.assert(
      fc.property(key, random, endpoint, fc.integer({ min: 1, max: 32767 }), (event, chars, number, attempt) => {
        const id = eventId(event, chars);
        const delivery = deliveryId(id, number);
        const made = attemptId(id, number, attempt);
        expect([isId("evt", id), isId("dlv", delivery), isId("att", made)]).toEqual([true, true, true]);
        expect(parseEventId(id)).toEqual({ key: event, random: chars });
        expect(parseDeliveryId(delivery)).toEqual({ event, endpoint: number, check: chars.slice(0, 9) });
        expect(parseAttemptId(made)).toEqual({ event, endpoint: number, number: attempt, check: chars.slice(0, 7) });
      }),
    );
  });

  it("sort as text in the order of their keys", () => {
    fc.assert(
      fc.property(key, key, random, random, (a, b, x, y) => {
        fc.pre(a !== b);
        expect(eventId(a, x) < eventId(b, y)).toBe(a < b);
      }),
    );
  });

  it("never repeat a key nor go back, whatever the clock does", () => {
    fc.assert(
      fc.property(
        fc.array(fc.integer({ min: 1.7e12, max: 1.9e12 }), { maxLength: 20 }),
        fc.integer({ min: 0, max: 1e9 }),
        (clock, last) => {
          const keys = new RisingKeys(last);
          let before = last;
          for (const now of clock) {
            const next = keys.next(now);
            expect(next).toBeGreaterThan(before);
            expect(next).toBeGreaterThanOrEqual(firstKeyAt(now));
            expect(Number.isSafeInteger(next)).toBe(true);
            before = next;
          }
        },
      ),
    );
  });

  it("hold the instant of a commit while the clock goes forward", () => {
    const keys = new RisingKeys(0);
    expect(instantOf(keys.next(1_795_168_000_123))).toBe(1_795_168_000_123);
    expect(instantOf(keys.next(1_795_168_000_123))).toBe(1_795_168_000_123);
  });

  it.each([
    "",
    "evt_",
    "evt_ZZZZZZZZZZZZZZZZZZZZZZZZZZ",
    "dlv_00000000000000000000000000",
    "evt_zzzzzzzzzzzzzzzzzzzzzzzzzz",
  ])("are not made of %j", (text) => {
    expect(parseEventId(text)).toBeNull();
  });

  it("place the ends of a page before and after every event", () => {
    expect(positionKey("")).toBe(-1);
    expect(positionKey("~")).toBe(Number.MAX_SAFE_INTEGER);
  });
});
