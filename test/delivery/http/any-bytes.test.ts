/** A receiver may send any bytes. */
import * as fc from "fast-check";
import { Client } from "undici";
import { describe, expect, it } from "vitest";
import { Exchange } from "../../../src/delivery/http/exchange.ts";
import { signedRequest } from "../../harness/egress.ts";
import { egressOf, OK, urlOf } from "../../harness/exchange.ts";
import { RawReceiver } from "../../harness/raw-receiver.ts";
import { TestReceiver } from "../../harness/receiver.ts";

/** Returns undici's reading of the bytes: the final status, if there is one, and the body of a complete response. */
async function readByUndici(url: string): Promise<{ status: number | null; body: string | null }> {
  const client = new Client(new URL(url).origin, {
    headersTimeout: 0,
    bodyTimeout: 0,
    maxHeaderSize: 16_384,
    allowH2: false,
  });
  const read = { status: null as number | null, body: null as string | null };
  const chunks: Buffer[] = [];
  await new Promise<void>((resolve) =>
    client.dispatch(
      { method: "POST", path: "/hook", headers: [], body: "x" },
      {
        onRequestStart: () => {},
        onResponseStart: (_controller, status) => void (read.status = status < 200 ? read.status : status),
        onResponseData: (_controller, chunk) => void chunks.push(chunk),
        onResponseEnd() {
          read.body = Buffer.concat(chunks).toString("latin1");
          resolve();
        },
        onResponseError: () => resolve(),
      },
    ),
  );
  await client.destroy();
  return read;
}

describe("whatever bytes a receiver sends", () => {
  const piece = fc.oneof(
    fc.constantFrom(
      "HTTP/1.1 ",
      "200",
      "100",
      "103 Early\r\n\r\n",
      "404 X\r\n",
      "\r\n",
      "\r\n\r\n",
      "\n",
      ": ",
      "0\r\n",
    ),
    fc.constantFrom("content-length: ", "transfer-encoding: chunked\r\n", "connection: upgrade\r\nupgrade: x\r\n"),
    fc.constantFrom(OK, "5\r\nhello\r\n", "content-length: 5\r\n", "__proto__: x\r\n", "constructor: y\r\n"),
    fc.string({ unit: "binary", maxLength: 20 }),
  );

  it("the attempt ends in an outcome that is well formed", async () => {
    const egress = egressOf({ timeoutMs: 200, bodyMs: 50 });
    const bytes = fc.array(piece, { maxLength: 8 }).map((pieces) => pieces.join(""));
    await fc.assert(
      fc.asyncProperty(bytes, fc.constantFrom("fin", "rst"), async (send, close) => {
        const receiver = await RawReceiver.start({ steps: [{ send }, { close }] }, 1);
        const exchange = new Exchange(egress, urlOf(receiver), "default");
        const outcome = await exchange.post(signedRequest());
        await exchange.close();
        await receiver.close();
        expect(outcome.ours).toBe(false);
        expect(outcome.outcome === "succeeded").toBe(outcome.error === null);
        if (outcome.outcome === "succeeded") expect(Math.floor(outcome.statusCode! / 100)).toBe(2);
      }),
      { numRuns: 200 },
    );
  });

  it("they mean what undici reads in them, in however many pieces they come", async () => {
    const egress = egressOf({ timeoutMs: 5000, bodyMs: 5000 });
    const likely = fc.oneof(
      { weight: 3, arbitrary: fc.constantFrom("HTTP/1.1 200 OK\r\n", "HTTP/1.1 500 X\r\n", "HTTP/1.0 204 X\r\n", OK) },
      { weight: 3, arbitrary: fc.constantFrom("content-length: 5\r\n", "\r\nhello", "\r\n", "connection: close\r\n") },
      { weight: 1, arbitrary: piece },
    );
    const sent = fc.array(
      fc.array(likely, { maxLength: 4 }).map((parts) => parts.join("")),
      { maxLength: 3 },
    );
    await fc.assert(
      fc.asyncProperty(sent, async (pieces) => {
        const steps = [...pieces.flatMap((send) => [{ send }, { wait_ms: 2 }]), { close: "fin" } as const];
        const receiver = await RawReceiver.start({ steps }, 1);
        const exchange = new Exchange(egress, urlOf(receiver), "default");
        const [outcome, read] = [await exchange.post(signedRequest()), await readByUndici(urlOf(receiver))];
        await exchange.close();
        await receiver.close();
        // undici forgives none of these faults.
        if (/; the response is malformed: /.test(outcome.detail) || /HTTP\/1\.[01] 100/.test(pieces.join(""))) return;
        expect(outcome.statusCode).toBe(read.status);
        if (read.status === null) return;
        expect(outcome.bodyError === null).toBe(read.body !== null);
        if (read.body !== null) expect(Buffer.from(outcome.responseBody).toString("latin1")).toBe(read.body);
      }),
      { numRuns: 300 },
    );
  });

  it("the same again means the same, and the next is no worse for it", async () => {
    const answers = fc
      .constantFrom(200, 201, 204, 302, 404, 500)
      .chain((status) => fc.constantFrom("", "ok", "no").map((text) => ({ status, body: status === 204 ? "" : text })));
    await fc.assert(
      fc.asyncProperty(fc.array(answers, { minLength: 2, maxLength: 8 }), async (script) => {
        const receiver = await TestReceiver.start(script);
        const exchange = new Exchange(egressOf(), receiver.url, "default");
        for (const [at, { status, body }] of script.entries()) {
          const { statusCode, responseBody } = await exchange.post(signedRequest());
          expect([statusCode, Buffer.from(responseBody).toString()]).toEqual([status, body]);
          const before = script[at - 1]?.status;
          const isKept = before !== undefined && before < 300;
          expect(receiver.requests[at]!.connection - (receiver.requests[at - 1]?.connection ?? 0)).toBe(isKept ? 0 : 1);
        }
        await exchange.close();
        await receiver.close();
      }),
      { numRuns: 60 },
    );
  });
});
