import fc from "fast-check";
import { expect, it } from "vitest";
import {
  packEnds,
  packSends,
  unpackEnds,
  unpackSends,
  type SlottedEnd,
} from "../../../src/delivery/threads/messages.ts";
import { noResponse, plainSuccess, type Outcome } from "../../../src/domain/deliveries/attempt.ts";
import type { Send } from "../../../src/domain/deliveries/delivery.ts";

const id = (prefix: string) => fc.nat(999).map((serial) => `${prefix}_${String(serial).padStart(3, "0")}`);
const bytes = fc.uint8Array({ maxLength: 40 });
const ms = fc.option(fc.nat(10_000));

const aSend: fc.Arbitrary<Send> = fc
  .record({
    event: id("evt"),
    delivery: id("dlv"),
    endpoint: fc.constantFrom("ep_1", "ep_2", "ep_3"),
    body: bytes,
    number: fc.integer({ min: 1, max: 100_000 }),
    fresh: fc.boolean(),
    trigger: fc.constantFrom("ladder", "ladder", "ladder", "replay", "manual", "test"),
    trace: fc.option(fc.record({ traceparent: fc.string(), tracestate: fc.option(fc.string()) }), { nil: undefined }),
    corrupt: fc.boolean(),
    pace: fc.option(fc.record({ job: id("job"), perSecond: fc.integer({ min: 1, max: 500 }) }), { nil: undefined }),
  })
  .map((send) => send as Send);

const anOutcome: fc.Arbitrary<Outcome> = fc.oneof(
  {
    weight: 3,
    arbitrary: fc
      .record({
        status: fc.integer({ min: 200, max: 299 }),
        took: fc.nat(10_000),
        remoteAddress: fc.option(fc.ipV4()),
        phases: fc.record({ dnsMs: ms, connectMs: ms, tlsMs: ms, firstByteMs: ms }),
        responseHeaders: fc.constantFrom<Outcome["responseHeaders"]>(
          {},
          { server: "x" },
          { "content-type": "text/plain" },
        ),
        responseBody: bytes,
        responseTruncated: fc.boolean(),
      })
      .map(({ status, took, ...more }) => plainSuccess(status, took, more)),
  },
  {
    weight: 1,
    arbitrary: fc.nat(10_000).map((took) => ({ ...plainSuccess(200, took, {}), detail: "answered 200, malformed" })),
  },
  { weight: 1, arbitrary: fc.nat(10_000).map((took) => noResponse("timeout", "nothing came", took)) },
);

const plain = ({ body, ...send }: Send) => ({ ...send, body: [...body] });

it("a send arrives as it was sent, with its slot", () => {
  fc.assert(
    fc.property(fc.array(aSend, { maxLength: 20 }), (sends) => {
      const slots = sends.map((_, at) => 3 * at + 1);
      const arrived = unpackSends(structuredClone(packSends(sends, slots)));
      // To a sender, a missing `corrupt` and `false` are the same.
      const filled = sends.map((send, at) => ({ ...plain(send), slot: slots[at] }));
      expect(arrived.map((send) => ({ corrupt: false, ...plain(send) }))).toEqual(filled);
    }),
  );
});

it("an end comes back as it was reported, for each slot that still has its send", () => {
  const anEnd = fc.record({
    send: aSend,
    outcome: anOutcome,
    url: fc.constantFrom("https://a.example/", "https://b.example/"),
    startedAt: fc.nat(2 ** 40),
    secretVersion: fc.option(fc.integer({ min: 1, max: 9 })),
    isGone: fc.boolean(),
  });
  fc.assert(
    fc.property(fc.array(anEnd, { maxLength: 20 }), (all) => {
      const ends = all.map(({ send, outcome, url, startedAt, secretVersion }, slot): SlottedEnd => {
        const { delivery, endpoint } = send;
        return { slot, trigger: send.trigger, ended: { delivery, endpoint, url, startedAt, secretVersion, outcome } };
      });
      const isRow = ({ trigger, ended }: SlottedEnd) =>
        trigger !== "test" && /^the receiver answered 2..$/.test(ended.outcome.detail);
      const back = unpackEnds(structuredClone(packEnds(ends)), (slot) =>
        all[slot]!.isGone ? undefined : all[slot]!.send,
      );
      const rows = ends.filter((end) => isRow(end) && !all[end.slot]!.isGone);
      const others = ends.filter((end) => !isRow(end));
      expect(back).toEqual([...others, ...rows].map(({ ended }) => ended));
    }),
  );
});
