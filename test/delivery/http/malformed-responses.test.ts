/**
 * Responses whose head is not quite HTTP: which faults are forgiven, and that no byte is read twice because of them.
 */
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { ResponseFault } from "../../../src/domain/deliveries/attempt.ts";
import { AnswerReader } from "../../../src/delivery/http/answer.ts";
import { signedRequest } from "../../harness/egress.ts";
import { exchangeTo, OK, rawReceiverOf, urlOf } from "../../harness/exchange.ts";

interface Read {
  readonly status: number | null;
  readonly headers: Readonly<Record<string, string>>;
  readonly faults: readonly ResponseFault[];
  readonly body: string;
  readonly isComplete: boolean;
  readonly restMs: number;
  /** The number of bytes that belong to the response. */
  readonly own: number;
  readonly fault: string | null;
}

/** Reads the bytes in pieces that end at the given places. */
function read(text: string, ends: readonly number[] = []): Read {
  const bytes = Buffer.from(text, "latin1");
  const reader = new AnswerReader(true);
  let own = 0;
  for (const end of [...ends.filter((each) => each < bytes.length), bytes.length]) {
    if (end <= own) continue;
    const length = end - own;
    const taken = reader.read(bytes.subarray(own, end), length);
    own += taken;
    if (taken < length || reader.answer.isComplete || reader.fault !== null) break;
  }
  if (!reader.answer.isComplete) reader.finish();
  const { status, headers, faults, isComplete, restMs, body } = reader.answer;
  const fault = reader.fault === null ? null : `${reader.fault.error}: ${reader.fault.message}`;
  reader.close();
  return { status, headers, faults, body: Buffer.from(body).toString("latin1"), isComplete, restMs, own, fault };
}

const FORGIVEN: readonly (readonly [name: string, faults: ResponseFault[], bytes: string, body?: string])[] = [
  ["ends all lines in LF", ["bare_lf"], "HTTP/1.1 200 OK\nserver: x\ncontent-length: 2\n\nok", "ok"],
  ["ends one header in LF", ["bare_lf"], "HTTP/1.1 200 OK\r\nserver: x\ncontent-length: 2\r\n\r\nok", "ok"],
  ["ends its head in LF", ["bare_lf"], "HTTP/1.1 200 OK\r\nserver: x\r\ncontent-length: 2\r\n\nok", "ok"],
  ["has no reason phrase, and LF", ["bare_lf"], "HTTP/1.1 200\nserver: x\ncontent-length: 2\n\nok", "ok"],
  [
    "folds a header",
    ["folded_header"],
    "HTTP/1.1 200 OK\r\nx: a\r\n b\r\nserver: x\r\ncontent-length: 2\r\n\r\nok",
    "ok",
  ],
  [
    "folds a header at once",
    ["folded_header"],
    "HTTP/1.1 200 OK\r\nserver:\r\n\tx\r\ncontent-length: 2\r\n\r\nok",
    "ok",
  ],
  ["spaces a colon", ["space_before_colon"], "HTTP/1.1 200 OK\r\nserver : x\r\ncontent-length: 2\r\n\r\nok", "ok"],
  [
    "repeats its length",
    ["repeated_content_length"],
    `HTTP/1.1 200 OK\r\n${"content-length: 2\r\n".repeat(2)}server: x\r\n\r\nok`,
    "ok",
  ],
  [
    "lists its length",
    ["repeated_content_length"],
    "HTTP/1.1 200 OK\r\ncontent-length: 2, 2\r\nserver: x\r\n\r\nok",
    "ok",
  ],
  [
    "has a length and a coding",
    ["content_length_with_transfer_encoding"],
    "HTTP/1.1 200 OK\r\ncontent-length: 9\r\ntransfer-encoding: chunked\r\nserver: x\r\n\r\n2\r\nok\r\n0\r\n\r\n",
    "ok",
  ],
  [
    "has a coding and a length",
    ["content_length_with_transfer_encoding"],
    "HTTP/1.1 200 OK\r\ntransfer-encoding: identity\r\nserver: x\r\ncontent-length: 2\r\n\r\nok",
    "ok",
  ],
  [
    "does several at once",
    ["bare_lf", "space_before_colon", "folded_header"],
    "HTTP/1.1 200 OK\ncontent-length : 2\nserver:\n x\n\nok",
    "ok",
  ],
];

const REFUSED: readonly (readonly [name: string, bytes: string, sentence: string])[] = [
  ["a line of text", "hello\n", "the answer is not HTTP"],
  ["a banner", "SSH-2.0-OpenSSH_9.6\n", "the answer is not HTTP"],
  ["HTTP/2", "PRI * HTTP/2.0\n\nSM\n\n", "the answer is not HTTP"],
  ["an event stream's id", "\x00\x00\x12\x04\x00\x00\x00\x00\x00", "the answer is not HTTP"],
  ["HTTP/0.9 with LF", "HTTP/0.9 200 OK\n\n", "the answer is not HTTP"],
  ["a status of four digits", "HTTP/1.1 2000 OK\n\n", "the answer is not HTTP"],
  ["a status below 100", "HTTP/1.1 099 OK\n\n", "the answer is not HTTP"],
  ["two spaces before the status", "HTTP/1.1  200 OK\r\n\r\n", "the answer is not HTTP"],
  [
    "a header without a colon",
    "HTTP/1.1 200 OK\nserver\n\n",
    "the answer is not HTTP: a header line has no name and colon",
  ],
  [
    "a header without a name",
    "HTTP/1.1 200 OK\r\n: x\r\n\r\n",
    "the answer is not HTTP: a header line has no name and colon",
  ],
  [
    "an escape in a header",
    "HTTP/1.1 200 OK\r\nx: a\x1b[31mb\r\n\r\n",
    "the answer is not HTTP: a header has a control character",
  ],
  [
    "a CR in a header",
    "HTTP/1.1 200 OK\r\nx: a\rb\r\n\r\n",
    "the answer is not HTTP: a header has a control character",
  ],
  [
    "a space before the first header",
    "HTTP/1.1 200 OK\r\n x: a\r\n\r\n",
    "the answer is not HTTP: a space comes before the first header",
  ],
  [
    "lengths that differ",
    "HTTP/1.1 200 OK\r\ncontent-length: 2\r\ncontent-length: 3\r\n\r\nok",
    "the answer is not HTTP: its Content-Length headers differ",
  ],
  [
    "a length that is not a number",
    "HTTP/1.1 200 OK\r\ncontent-length: -1\r\n\r\n",
    "the answer is not HTTP: Content-Length is not a number",
  ],
  ["an empty length", "HTTP/1.1 200 OK\ncontent-length:\n\n", "the answer is not HTTP: Content-Length is not a number"],
];

const INFORMATIONAL = [
  "HTTP/1.1 100 Continue\r\n\r\n",
  "HTTP/1.1 102 Processing\r\n\r\n",
  "HTTP/1.1 103 Early Hints\r\nlink: </x>\r\nserver: not this\r\n\r\n",
  "HTTP/1.1 100 Continue\r\ncontent-length: 5\r\n\r\n",
  "HTTP/1.1 100 Continue\r\nconnection: close\r\n\r\n",
  "HTTP/1.0 100 Continue\r\n\r\n",
];

describe("the head of a response", () => {
  for (const [name, faults, bytes, body] of FORGIVEN) {
    it(`that ${name} counts by its status, and its connection is not used again`, () => {
      expect(read(`${bytes}HTTP/1.1 500 Next\r\n\r\n`)).toEqual({
        status: 200,
        headers: { server: "x" },
        faults,
        body,
        isComplete: true,
        restMs: 0,
        own: bytes.length,
        fault: null,
      });
    });
  }

  for (const [name, bytes, sentence] of REFUSED) {
    it(`with ${name} is not forgiven`, () => {
      expect(read(bytes)).toMatchObject({ status: null, fault: `bad_response: ${sentence}` });
    });
  }

  it("with a fault is as large as any other", () => {
    const header = `x: ${"a".repeat(997)}\n`;
    expect(read(`HTTP/1.1 200 OK\n${header.repeat(16)}\n`)).toMatchObject({ status: 200, faults: ["bare_lf"] });
    const fault = "response_headers_too_large: the response headers exceed 16 KiB";
    expect(read(`HTTP/1.1 200 OK\n${header.repeat(17)}\n`)).toMatchObject({ status: null, fault });
  });

  for (const before of INFORMATIONAL) {
    it(`after ${JSON.stringify(before)} is the one that counts`, () => {
      const faults = before.includes("\r\n") ? [] : ["bare_lf"];
      const wanted = { status: 201, headers: {}, faults, fault: null, isComplete: true };
      expect(read(`${before}HTTP/1.1 201 Made\r\ncontent-length: 0\r\n\r\n`)).toMatchObject(wanted);
    });
  }

  it("after a malformed informational response counts, with the fault of that one", () => {
    const wanted = { status: 201, faults: ["bare_lf"], restMs: 0, isComplete: true, fault: null };
    expect(read("HTTP/1.1 100 Continue\n\nHTTP/1.1 201 Made\r\ncontent-length: 0\r\n\r\n")).toMatchObject(wanted);
  });

  it("does not come after more than 20 informational ones, malformed or not", () => {
    const final = "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n";
    for (const one of ["HTTP/1.1 100 Continue\r\n\r\n", "HTTP/1.1 103 Early Hints\n\n"]) {
      expect(read(one.repeat(20) + final).status).toBe(200);
      expect(read(one.repeat(21) + final).fault).toMatch(/^too_many_informational:/);
    }
  });

  it("is no answer to a request that asked for no upgrade", () => {
    const fault = "bad_response: the answer does not match the request";
    for (const more of ["", "connection: upgrade\r\nupgrade: x\r\n"])
      expect(read(`HTTP/1.1 101 Switching Protocols\r\n${more}\r\n${OK}`)).toMatchObject({ status: null, fault });
  });
});

describe("in whatever pieces a response comes", () => {
  const line = fc.constantFrom(
    "server: x",
    "server : x",
    " folded",
    "\tfolded",
    "content-length: 2",
    "content-length: 3",
    "content-length:",
    "content-length: 2, 2",
    "transfer-encoding: chunked",
    "transfer-encoding: identity",
    "connection: close",
    "x: a\rb",
    "x: \x1b",
    "location: /caf\xc3\xa9",
    "no colon",
    ": x",
    "",
  );
  const end = fc.oneof({ weight: 4, arbitrary: fc.constant("\r\n") }, fc.constantFrom("\n", "\r", "\r\r\n"));
  const first = fc.oneof(
    {
      weight: 6,
      arbitrary: fc.constantFrom("HTTP/1.1 200 OK", "HTTP/1.1 100 Continue", "HTTP/1.1 204", "HTTP/1.0 500 X"),
    },
    fc.constantFrom(
      "HTTP/1.1 101 Up",
      "HTTP/1.1 103 Hints",
      "HTTP/2.0 200 OK",
      "HTTP/1.1  200",
      "hello",
      "HTTP/1.1 2000",
      "",
    ),
  );
  const head = fc
    .tuple(fc.tuple(first, end), fc.array(fc.tuple(line, end), { maxLength: 5 }), end)
    .map(([status, lines, last]) => [status, ...lines].flat().join("") + last);
  const body = fc.constantFrom("", "ok", "2\r\nok\r\n0\r\n\r\n", "2\nok\n0\n\n", OK);
  const response = fc.array(fc.tuple(head, body), { minLength: 1, maxLength: 3 }).map((all) => all.flat().join(""));
  const listed = fc.constantFrom(
    ...FORGIVEN.map(([, , bytes]) => bytes),
    ...REFUSED.map(([, bytes]) => bytes),
    ...INFORMATIONAL.flatMap((one) => [one + OK, one.replaceAll("\r", "") + OK]),
  );

  it("it means the same", () => {
    const cuts = fc
      .array(fc.nat({ max: 300 }), { maxLength: 6 })
      .map((all) => all.toSorted((one, other) => one - other));
    fc.assert(
      fc.property(fc.oneof({ weight: 4, arbitrary: response }, listed), cuts, (bytes, ends) => {
        const whole = read(bytes);
        expect(read(bytes, ends)).toEqual(whole);
        expect(
          read(
            bytes,
            Array.from(bytes, (_, at) => at + 1),
          ),
        ).toEqual(whole);
        if (whole.faults.length > 0) expect(whole.restMs).toBe(0);
        if (whole.status !== null) expect(whole.status).toBeGreaterThanOrEqual(200);
      }),
      { numRuns: 3000 },
    );
  });
});

describe("an attempt with a malformed response", () => {
  it("names the fault, and lets no later response pass for an answer", async () => {
    for (const [, faults, bytes] of FORGIVEN) {
      const receiver = await rawReceiverOf({ send: `${bytes}HTTP/1.1 204 Stray\r\n\r\n` });
      const exchange = exchangeTo(urlOf(receiver));
      for (let made = 1; made <= 3; made++) {
        const { outcome, statusCode, detail, bodyError } = await exchange.post(signedRequest());
        expect({ outcome, statusCode, bodyError }).toEqual({ outcome: "succeeded", statusCode: 200, bodyError: null });
        expect(detail).toMatch(/^the receiver answered 200; the response is malformed: /);
        for (const fault of faults) expect(detail).toContain(`(${fault})`);
        expect(receiver.connections).toBe(made);
      }
    }
  });

  it("fails by its status, too", async () => {
    const receiver = await rawReceiverOf({ send: "HTTP/1.1 503 Busy\nretry-after: 5\n\nlater" }, { close: "fin" });
    expect(await exchangeTo(urlOf(receiver)).post(signedRequest())).toMatchObject({
      outcome: "failed",
      error: "http_status",
      statusCode: 503,
      detail: "the receiver answered 503; the response is malformed: a line ends in LF without CR (bare_lf)",
      responseHeaders: { "retry-after": "5" },
    });
  });
});
