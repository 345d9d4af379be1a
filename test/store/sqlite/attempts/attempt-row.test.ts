import Database from "better-sqlite3";
import fc from "fast-check";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { addEndpoint, answered, draft, ended, withCapacity, START } from "../../fixtures.ts";
import { open, temporaryDirectory } from "../../stores.ts";
import {
  packConnection,
  readConnection,
  withoutAnswer,
  type ConnectionDetails,
} from "../../../../src/store/rows/attempt-row.ts";

const NONE = { dnsMs: null, connectMs: null, tlsMs: null, firstByteMs: null };
const PLAIN: ConnectionDetails = {
  remoteAddress: "203.0.113.7",
  phases: { ...NONE, firstByteMs: 187 },
  responseHeaders: {
    "content-type": "application/json; charset=utf-8",
    server: "nginx/1.24.0 (Ubuntu)",
    date: "Fri, 20 Nov 2026 09:55:01 GMT",
  },
};
/** A rare server name costs its length, up to a hundred bytes a row, beside sixteen for the address. */
const FIRST: ConnectionDetails = {
  responseHeaders: { ...PLAIN.responseHeaders, server: "cloudflare" },
  remoteAddress: "2606:4700:20::681a:be4",
  phases: { dnsMs: 3, connectMs: 98, tlsMs: 211, firstByteMs: 290 },
};

describe("the way of a success", () => {
  it("is read as it was written, whatever a receiver says", () => {
    const step = fc.option(fc.nat({ max: 10_000 }));
    const text = fc.oneof(fc.string({ unit: "binary", maxLength: 256 }), fc.constantFrom("text/html", "nginx", ""));
    const date = fc
      .date({ min: new Date(0), max: new Date("9999-01-01"), noInvalidDate: true })
      .map((at) => at.toUTCString());
    const way = fc.record({
      remoteAddress: fc.option(fc.oneof(fc.ipV4(), fc.constantFrom("::1", "2001:db8::5:0:0:1", "fd00:0:1:2:3:4:5:6"))),
      phases: fc.record({ dnsMs: step, connectMs: step, tlsMs: step, firstByteMs: step }),
      responseHeaders: fc.record(
        {
          "content-type": text,
          "content-encoding": text,
          server: text,
          location: text,
          "retry-after": text,
          date: fc.oneof(date, text),
        },
        { requiredKeys: [] },
      ),
    });
    fc.assert(
      fc.property(way, fc.nat({ max: 4_000_000_000_000 }), (way, startedAt) => {
        // A lone surrogate cannot be stored as text, so it is read as U+FFFD.
        const headers = Object.entries(way.responseHeaders).map(([name, value]) => [name, value!.toWellFormed()]);
        const packed = packConnection(way as ConnectionDetails, startedAt);
        expect(readConnection(packed, startedAt)).toEqual({ ...way, responseHeaders: Object.fromEntries(headers) });
        expect(readConnection(withoutAnswer(packed, startedAt), startedAt)).toEqual({ ...way, responseHeaders: {} });
      }),
    );
  });

  it.each([
    ["on a kept connection", PLAIN],
    ["with a connection of its own, over IPv6", FIRST],
  ])("%s leaves a plain success under 90 bytes a row", async (_, way) => {
    const dir = temporaryDirectory();
    const store = await open({ dir });
    await addEndpoint(store);
    const more = { ...way, responseBody: Buffer.alloc(0) };
    const rows = 4000;
    for (let at = 0; at < rows; at += 500) {
      const published = await store.events.publish(Array(500).fill(draft()), START + at, withCapacity);
      const success = (startedAt: number) => ({ startedAt, outcome: answered(200, more) });
      await store.deliveries.record(
        published.map(({ fresh }, n) => ended(fresh[0]!, { status: "delivered" }, success(START + at + n))),
      );
    }
    await store.close();
    const db = new Database(join(dir, "webhookd.db"), { readonly: true });
    const [bytes, count] = db
      .prepare<[], [number, number]>(
        "SELECT sum(pgsize), (SELECT count(*) FROM delivery) FROM dbstat WHERE name IN ('delivery', 'attempt')",
      )
      .raw()
      .get()!;
    db.close();
    expect(count).toBe(rows);
    expect(bytes / count).toBeLessThan(90);
  });
});
