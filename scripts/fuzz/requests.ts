/**
 * Makes the bytes of requests. Most are malformed in one or two places. The rest must be right, so that those places
 * are reached.
 */
import { Random } from "../../test/sim/random.ts";

/** The requests of one connection, and how they are sent. */
export interface Plan {
  readonly requests: readonly Buffer[];
  /** The number of pieces in which the whole plan is written. */
  readonly pieces: number;
  /** True if the next request is written after the response to the last one, instead of all at once. */
  readonly inTurn: boolean;
  /** The action once everything is written: it waits for responses, closes its side, or resets. */
  readonly end: "wait" | "half" | "reset";
  /** True if it does not speak TLS although the server expects it. */
  readonly isClear: boolean;
  /** True if a request is HEAD, whose response has a length but no body. */
  readonly hasHead: boolean;
  /** The client's address, so that each client counts as a separate peer. */
  readonly address: string;
}

export interface Kind {
  /**
   * A key that may read and publish, so that it cannot change anything that the rest of the run needs. Null for none.
   */
  readonly key: string | null;
  readonly isProxied: boolean;
  readonly paths: readonly string[];
}

export const EVENTS = "/v1/webhooks/events";
export const EVENT = JSON.stringify({ type: "budget.exceeded", data: { a: 1 } });

export const API_PATHS = [
  "/healthz",
  "/readyz",
  "/metrics",
  "/portal",
  "/portal/x",
  "/docs",
  "/openapi.json",
  EVENTS,
  `${EVENTS}/batch`,
  `${EVENTS}/evt_01m81d1ha20gjpwzctkxen7k1s`,
  `${EVENTS}/evt_01m81d1ha20gjpwzctkxen7k1s/replay`,
  "/v1/webhooks",
  "/v1/webhooks/ep_01m81d1ha20gjpwzctkxen7k1s",
  "/v1/webhooks/ep_01m81d1ha20gjpwzctkxen7k1s/test",
  "/v1/webhooks/uid:x",
  "/v1/webhooks/event-types",
  "/v1/webhooks/deliveries",
  "/v1/webhooks/failures",
  "/v1/webhooks/jobs",
  "/v1/webhooks/jobs/job_01m81d1ha20gjpwzctkxen7k1s",
  "/v1/webhooks/stats",
  "/v1/webhooks/stream",
  "/v1/webhooks/ep_01m81d1ha20gjpwzctkxen7k1s/attempts",
  "/v1/config",
  "/v1/keys",
  "/v1/status",
  "/v1/nothing/here",
  "/",
  "",
];
export const RECEIVER_PATHS = ["/", "/x", ""];

const METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"];
const ODD_METHODS = [
  "TRACE",
  "CONNECT",
  "get",
  "PRI",
  "PROPFIND",
  "G ET",
  "",
  "GET\t",
  "\u0000",
  "A".repeat(40),
  "SOURCE",
];
const TAILS = [
  "#a",
  `"`,
  "'",
  "<",
  ">",
  "<b>",
  "%2e",
  "/%2e/",
  "/%2E%2e/",
  "/../",
  "/./",
  "\\",
  "\\..\\",
  "//",
  "/:",
  "/*",
  "/**",
  "%",
  "%zz",
  "%00",
  "%0d%0a",
  "%ff",
  "%c3%28",
  "%2f",
  "%5c",
  "%25%32%65",
  "{",
  "}",
  "|",
  "^",
  "`",
  "~",
  ";a=b",
  "@",
  "\x7f",
  "\xe9",
  "\xc3\xa9",
  "\t",
  "?",
  "/?",
  "??",
  "&",
  "=",
  "__proto__",
  "/constructor",
  `/${"a".repeat(3000)}`,
  `/${"a".repeat(17_000)}`,
];
const QUERIES = [
  "a='b'",
  "q=<b>",
  'q="x"',
  "a=1&a=2",
  "%zz",
  "a=%00",
  "a=%ff",
  "a=#b",
  "limit=1",
  "limit=0",
  "limit=-1",
  "limit=1e9",
  "cursor=x",
  "cursor=%7B%7D",
  "since=now",
  "tenant=x",
  "endpoint=ep_x",
  "status=failed",
  "data.a=1",
  "data=%5B",
  "total=true",
  "wait=true",
  "&&&&",
  "=",
  "=1",
  "a=+",
  "__proto__=1",
  "a[b]=c",
  "\xff=1",
  `q=${"x".repeat(2000)}`,
];
const AUTHORITIES = [
  "localhost",
  "127.0.0.1",
  "[::1]:1",
  "LOCALHOST:80",
  "evil.example",
  "a:99999",
  "localhost:99999",
  "256.1.1.1",
  "1.2.3.4.5",
  "[::1",
  "::1",
  "[",
  "]",
  "a b",
  "a\tb",
  "",
  ":",
  ":80",
  "@",
  "u@localhost",
  "u:p@localhost",
  "localhost/",
  "localhost?x",
  "localhost#x",
  "%",
  "%6c",
  "xn--a",
  "\xe9",
  "a,b",
  "a;b",
  "-",
  "_",
  ".",
  "..",
  "0x7f.1",
  "1",
  "999999999999",
  "a".repeat(300),
  "localhost:",
  "localhost:0x1",
];
const TARGETS = [
  "*",
  "a:443",
  "http:",
  "http:/",
  "http://",
  "https://[/",
  "ftp://x/",
  "foo",
  "?a",
  "#",
  "://",
  "http://\\",
  "//a:99999/x",
  " / ",
];
const VERSIONS = [
  "HTTP/1.0",
  "HTTP/1.0",
  "HTTP/2.0",
  "HTTP/0.9",
  "HTTP/1.2",
  "HTTP/1",
  "http/1.1",
  "HTTP/1.1 ",
  "",
  "RTSP/1.0",
  "HTTP/11",
];
const HEADERS = [
  "Expect: 100-continue",
  "Expect: 100-continue, x",
  "Expect: x",
  "Connection: close",
  "Connection: keep-alive",
  "Connection: upgrade, x",
  "Connection: close, keep-alive",
  "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: x",
  "Upgrade: h2c\r\nHTTP2-Settings: AAM",
  "Transfer-Encoding: chunked",
  "Transfer-Encoding: gzip, chunked",
  "Transfer-Encoding: identity",
  "Transfer-Encoding: xchunked",
  "Transfer-Encoding : chunked",
  "Content-Length: 0",
  "Content-Length: 5",
  "Content-Length: -1",
  "Content-Length: 1e3",
  "Content-Length: 99999999999",
  "Content-Length: 18446744073709551616",
  "Content-Length: 1\r\nContent-Length: 2",
  "Content-Encoding: gzip",
  "Content-Encoding: identity",
  "Content-Type: text/plain",
  "Content-Type: application/json; charset=utf-16",
  "Content-Type:",
  "Content-Type: application/json",
  "Origin: null",
  "Origin: https://evil.example",
  "Origin: http://localhost",
  "Origin: ://",
  "Origin:",
  "Access-Control-Request-Method: POST",
  "Authorization:",
  "Authorization: Bearer",
  "Authorization: Bearer x",
  "Authorization: Basic eDp5",
  "Authorization: Bearer \xff",
  "Cookie: a=b",
  "X-Forwarded-For: 1.2.3.4",
  "X-Forwarded-For: [::1",
  "X-Forwarded-For: ,,,",
  "X-Forwarded-For: 1.2.3.4, 127.0.0.1, x",
  "X-Forwarded-For: \xff",
  "X-Forwarded-Host: localhost",
  "X-Forwarded-Host: [::1",
  "X-Forwarded-Host: a:99999",
  "X-Forwarded-Host: a, b",
  "X-Forwarded-Proto: x",
  "Forwarded: for=x",
  "Host: localhost",
  "Host: a:99999",
  "Idempotency-Key: x",
  "Idempotency-Key: \xe9",
  "Idempotency-Key:",
  "If-None-Match: *",
  'If-None-Match: "x',
  "If-Match: W/x",
  "Last-Event-ID: x",
  "Last-Event-ID: -1",
  "Accept: text/event-stream",
  "Accept: */*;q=x",
  "Accept-Encoding: gzip, br;q=0",
  "Range: bytes=0-",
  "traceparent: 00-x",
  "traceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
  "tracestate: \xff",
  "TE: trailers",
  "Trailer: x",
  "Keep-Alive: timeout=x",
  "Date: x",
  "__proto__: x",
  "constructor: x",
  "toString: x",
  " folded: x",
  "x",
  ": x",
  "x\u0000: y",
  "x: \u0000",
  "x: a\rb",
  "x : y",
  "\xe9: x",
  "X: \xe9",
  `X: ${"y".repeat(4000)}`,
  `X: ${"y".repeat(17_000)}`,
  Array.from({ length: 120 }, (_, at) => `x${at}: y`).join("\r\n"),
  Array.from({ length: 2100 }, () => "x:y").join("\r\n"),
  "Webhook-Id: x",
  "Webhook-Timestamp: x",
  "Webhook-Signature: v1,x",
  "X-Service-Signature: x",
];
const BODIES = [
  EVENT,
  "",
  "{",
  "null",
  "[]",
  '"',
  "\xff\xfe",
  '{"type":1}',
  '{"type":"budget.exceeded","data":{}}',
  `{"events":[${EVENT}]}`,
  '{"__proto__":{}}',
  `{"a":${"[".repeat(500)}`,
  `{"type":"budget.exceeded","data":{"a":"${"x".repeat(5000)}"}}`,
  "x".repeat(70_000),
  "\ud800",
  "\u0000",
];

const LAST = Buffer.from("GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");

/** Returns the plan of connection `index`. It depends on nothing else, so that a single connection can be repeated. */
export function planOf(seed: number, index: number, kind: Kind): Plan {
  const random = new Random(Math.imul(seed, 2_654_435_761) ^ Math.imul(index + 1, 40_503));
  random.next();
  const count = random.chance(0.3) ? 1 : random.between(2, 6);
  const requests: Buffer[] = [];
  let hasHead = false;
  const end = random.chance(0.85) ? "wait" : random.pick(["half", "reset"] as const);
  for (let at = 0; at < count; at++) {
    const { bytes, isHead } = aRequest(random, kind);
    requests.push(bytes);
    hasHead ||= isHead;
  }
  // If everything before it was complete, this request ends the connection, so that nobody has to wait.
  if (end === "wait") requests.push(LAST);
  return {
    requests,
    pieces: random.chance(0.7) ? 1 : random.between(2, 9),
    inTurn: random.chance(0.4),
    end,
    isClear: random.chance(0.05),
    hasHead,
    address: `127.${random.between(0, 255)}.${random.between(0, 255)}.${random.between(1, 254)}`,
  };
}

function aRequest(random: Random, kind: Kind): { readonly bytes: Buffer; readonly isHead: boolean } {
  // Put few faults into each request, because the server seldom reads on after the first one.
  const odd = (probability = 0.12) => random.chance(probability);
  const method = odd(0.03) ? random.pick(ODD_METHODS) : odd(0.4) ? random.pick(METHODS) : random.pick(["GET", "POST"]);
  const isHead = method === "HEAD";
  if (odd(0.01)) return { bytes: Buffer.from(random.bytes(random.between(1, 300))), isHead };
  const lines = [`${method} ${targetOf(random, kind, odd)} ${odd(0.03) ? random.pick(VERSIONS) : "HTTP/1.1"}`];
  if (!odd(0.02)) lines.push(`Host: ${odd(0.15) ? random.pick(AUTHORITIES) : "localhost"}`);
  if (kind.key !== null && !odd(0.1)) lines.push(`Authorization: Bearer ${kind.key}`);
  if (kind.isProxied) {
    lines.push(`X-Forwarded-For: 10.${random.between(0, 255)}.${random.between(0, 255)}.${random.between(0, 255)}`);
    if (odd(0.3)) lines.push(`X-Forwarded-Host: ${random.pick(AUTHORITIES)}`);
  }
  while (odd(0.25)) lines.push(random.pick(HEADERS));
  const body =
    method === "POST" || method === "PUT" || method === "PATCH" || odd(0.05) ? bodyOf(random, lines, odd) : "";
  const newline = odd(0.01) ? random.pick(["\n", "\r", "\n\r"]) : "\r\n";
  return { bytes: Buffer.from(`${lines.join(newline)}${newline}${newline}${body}`, "latin1"), isHead };
}

function targetOf(random: Random, { paths }: Kind, odd: (probability?: number) => boolean): string {
  if (odd(0.03)) return random.pick(TARGETS);
  let target: string = odd(0.2) && paths.includes(EVENTS) ? EVENTS : random.pick(paths);
  if (odd(0.1)) target = `${random.pick(["http", "https", "HTTP"])}://${random.pick(AUTHORITIES)}${target}`;
  while (odd(0.18)) target += random.pick(TAILS);
  if (odd(0.2)) target += `?${random.pick(QUERIES)}`;
  while (odd(0.1)) target += `&${random.pick(QUERIES)}`;
  return target === "" ? "/" : target;
}

/** Adds the headers that frame the body to the head. */
function bodyOf(random: Random, lines: string[], odd: (probability?: number) => boolean): string {
  const body = odd(0.5) ? random.pick(BODIES) : EVENT;
  if (!odd(0.1)) lines.push("Content-Type: application/json");
  if (odd(0.3)) {
    lines.push("Transfer-Encoding: chunked");
    const size = odd(0.1)
      ? random.pick(["", "x", "-1", "fffffffff", "5;a=b", `5;${"a".repeat(17_000)}`])
      : body.length.toString(16);
    const trailer = odd(0.1) ? random.pick(["x: y\r\n", "Content-Length: 3\r\n", "x\r\n", "\u0000\r\n"]) : "";
    return body === "" ? `0\r\n${trailer}\r\n` : `${size}\r\n${body}\r\n0\r\n${trailer}\r\n`;
  }
  lines.push(`Content-Length: ${Math.max(0, body.length + (odd(0.06) ? random.between(-3, 3) : 0))}`);
  return body;
}
