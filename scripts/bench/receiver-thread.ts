/**
 * A receiver without an HTTP parser. It finds the ends of requests by their content-length and returns a constant
 * response, so that it costs a fraction of its callers. The first part of the path selects its behaviour: `/ok` returns
 * 200, `/fail` returns 500, `/hang` never responds, `/slow/50` sends 50 responses per second in the order of the
 * requests.
 */
import { createHmac, createSecretKey, type KeyObject } from "node:crypto";
import { createServer, type AddressInfo, type Socket } from "node:net";
import { parentPort, workerData } from "node:worker_threads";
import { Ledger, monotonic, type LedgerMemory } from "./ledger.ts";
import { BODY_BYTES, readDigits, seqIn, seqsIn } from "./payload.ts";

export interface ReceiverData {
  readonly memory: LedgerMemory;
  readonly port: number;
  /**
   * If true, accepts a body of any shape that contains an event's number, as other tools send it. Otherwise accepts
   * only webhookd's envelope.
   */
  readonly anyBody: boolean;
}

/**
 * The secret of webhookd's signatures for each path. For tools that sign in another way, the header that must be
 * present.
 */
export type Secrets = Readonly<Record<string, string | { readonly header: string }>>;

const OK = Buffer.from("HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: 2\r\n\r\nok");
const FAIL = Buffer.from("HTTP/1.1 500 Internal Server Error\r\ncontent-length: 0\r\n\r\n");
const HEAD_END = Buffer.from("\r\n\r\n");
/** The header as Node and Rust write it, and as Go does. */
const LENGTHS = [Buffer.from("content-length: "), Buffer.from("Content-Length: ")];
const PATH_AT = "POST /".length;
const RATE_AT = "POST /slow/".length;
const VERIFY_EVERY = 128;

const { memory, port, anyBody } = workerData as ReceiverData;
const ledger = new Ledger(memory);
const keys = new Map<string, KeyObject | string>();
let served = 0;
let slowFreeAt = 0;

const server = createServer({ noDelay: true }, (socket) => {
  let rest: Buffer | null = null;
  socket.on("error", () => {});
  socket.on("data", (chunk: Buffer) => {
    const bytes = rest === null ? chunk : Buffer.concat([rest, chunk]);
    const end = serveAll(socket, bytes);
    rest = end === bytes.length ? null : bytes.subarray(end);
  });
});
// The system spreads connections over the threads that listen on one port.
server.listen({ host: "127.0.0.1", port, reusePort: true }, () => {
  parentPort!.postMessage((server.address() as AddressInfo).port);
});

parentPort!.on("message", (secrets: Secrets) => {
  for (const [path, secret] of Object.entries(secrets)) {
    keys.set(path, typeof secret === "string" ? createSecretKey(secret, "utf8") : secret.header);
  }
  parentPort!.postMessage("ready");
});

/** Returns the place where the first incomplete request begins. */
function serveAll(socket: Socket, bytes: Buffer): number {
  let at = 0;
  while (at < bytes.length) {
    const headEnd = bytes.indexOf(HEAD_END, at);
    if (headEnd === -1) return at;
    const bodyAt = headEnd + HEAD_END.length;
    const end = bodyAt + lengthOf(bytes, at, headEnd);
    if (end > bytes.length) return at;
    serve(socket, bytes, at, bodyAt, end);
    at = end;
  }
  return at;
}

function lengthOf(bytes: Buffer, at: number, headEnd: number): number {
  for (const name of LENGTHS) {
    const found = bytes.indexOf(name, at);
    if (found !== -1 && found < headEnd) return readNumber(bytes, found + name.length);
  }
  return 0;
}

function readNumber(bytes: Buffer, at: number): number {
  let value = 0;
  for (let i = at; bytes[i]! >= 48 && bytes[i]! <= 57; i++) value = value * 10 + bytes[i]! - 48;
  return value;
}

function serve(socket: Socket, bytes: Buffer, at: number, bodyAt: number, end: number): void {
  const body = bytes.subarray(bodyAt, end);
  if (anyBody) arriveFrom(body);
  else if (body.length === BODY_BYTES) ledger.arrive(seqIn(body), monotonic());
  else ledger.count("malformed");
  if (++served % VERIFY_EVERY === 0) verify(bytes.toString("latin1", at, bodyAt), body);
  const behaviour = String.fromCharCode(bytes[at + PATH_AT]!);
  if (behaviour === "o") socket.write(OK);
  else if (behaviour === "f") socket.write(FAIL);
  else if (behaviour === "s") answerSlowly(socket, readNumber(bytes, at + RATE_AT));
}

function arriveFrom(body: Buffer): void {
  const [at] = seqsIn(body);
  if (at === undefined) ledger.count("malformed");
  else ledger.arrive(readDigits(body, at), monotonic());
}

function answerSlowly(socket: Socket, perSecond: number): void {
  const now = monotonic();
  slowFreeAt = Math.max(now, slowFreeAt) + 1000 / perSecond;
  setTimeout(() => socket.write(OK), slowFreeAt - now);
}

function verify(head: string, body: Buffer): void {
  const key = keys.get(head.slice("POST ".length, head.indexOf(" HTTP/")));
  if (key === undefined) return;
  if (typeof key === "string") {
    return void ledger.count(head.toLowerCase().includes(`\r\n${key.toLowerCase()}: `) ? "verified" : "forged");
  }
  const expected = createHmac("sha256", key).update(body).digest("hex");
  const given = /^x-service-signature: (.*)\r$/im.exec(head)?.[1];
  ledger.count(given === expected ? "verified" : "forged");
}
