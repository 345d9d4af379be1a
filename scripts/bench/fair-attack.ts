/** Takes more than its share of a daemon until this process is killed. The argument describes one kind of attack. */
import { connect, type Socket } from "node:net";
import { Worker } from "node:worker_threads";
import { FLOOD_TYPE } from "./payload.ts";
import { worstData, worstFilter } from "./worst-filters.ts";

export interface Attack {
  /**
   * `spin` does not touch the daemon. It only keeps the machine busy, with as many threads as there are connections.
   */
  readonly kind: "batches" | "headers" | "gets" | "links" | "worst events" | "filter tests" | "malformed" | "spin";
  readonly port: number;
  readonly connections: number;
  /** Each connection uses one of these keys. Null to send none. */
  readonly keys: readonly string[] | null;
  readonly path: string;
  /** The type of the events in batches. If the daemon does not know the type, it refuses each batch. */
  readonly type?: string;
  /** The number of requests that each connection sends without waiting. If absent, 1. */
  readonly pipelined?: number;
  /** The number of addresses that connections use in turn. If absent, 1. */
  readonly addresses?: number;
}

const BATCH_BYTES = 3 * 1024 * 1024;
const EVENTS = 100;
const SLOW_MS = 1000;
const AGAIN_MS = 20;

const attack = JSON.parse(process.argv[2]!) as Attack;
const requests = (attack.keys ?? [null]).map((key) => requestOf(attack, key));
const begin = attack.kind === "spin" ? () => void new Worker("for (;;);", { eval: true }) : open;
// The attacker's own work must not delay the victim, so connections open one after another.
for (let index = 0; index < attack.connections; index++) setTimeout(begin, (index * 200) / attack.connections, index);
// The input ends when the bench ends, for whatever reason.
process.stdin.on("end", () => process.exit()).resume();

function open(index: number): void {
  const { addresses = 1, pipelined = 1, port } = attack;
  const from = index % addresses;
  const localAddress = `127.0.${Math.floor(from / 250)}.${1 + (from % 250)}`;
  const socket = connect({ host: "127.0.0.1", port, localAddress, noDelay: true });
  const request = requests[index % requests.length]!;
  let timer: NodeJS.Timeout | undefined;
  socket.on("error", () => {});
  socket.on("close", () => {
    clearInterval(timer);
    setTimeout(open, AGAIN_MS, index);
  });
  socket.on("connect", () => {
    if (attack.kind !== "headers") return void socket.write(Buffer.concat(Array(pipelined).fill(request)));
    socket.write("GET /v1/webhooks HTTP/1.1\r\nhost: 127.0.0.1\r\n");
    timer = setInterval(() => socket.write("x-slow: 1\r\n"), SLOW_MS);
  });
  if (attack.kind === "headers") socket.resume();
  else sendAgain(socket, request);
}

/** Sends the next request as soon as one is answered. The response of a stream never ends. */
function sendAgain(socket: Socket, request: Buffer): void {
  let head = "";
  /** The number of body bytes that are still to come. */
  let missing = 0;
  socket.on("data", (chunk: Buffer) => {
    const skipped = Math.min(missing, chunk.length);
    missing -= skipped;
    let answered = missing === 0 && skipped > 0 ? 1 : 0;
    head += chunk.toString("latin1", skipped);
    for (let end = head.indexOf("\r\n\r\n"); missing === 0 && end !== -1; end = head.indexOf("\r\n\r\n")) {
      const length = /content-length: (\d+)/i.exec(head.slice(0, end))?.[1];
      const body = length === undefined ? Number.POSITIVE_INFINITY : Number(length);
      const here = Math.min(body, head.length - end - 4);
      missing = body - here;
      head = head.slice(end + 4 + here);
      if (missing === 0) answered++;
    }
    if (answered > 0 && !socket.destroyed) socket.write(Buffer.concat(Array(answered).fill(request)));
  });
}

function requestOf({ kind, path, type = FLOOD_TYPE }: Attack, key: string | null): Buffer {
  const authorization = key === null ? "" : `authorization: Bearer ${key}\r\n`;
  if (kind === "malformed") return Buffer.from("GET /x?a=' HTTP/1.1\r\nhost: 256.1.1.1\r\n\r\n");
  if (kind === "gets" || kind === "headers")
    return Buffer.from(`GET ${path} HTTP/1.1\r\nhost: 127.0.0.1\r\n${authorization}\r\n`);
  const body = bodyOf(kind, type);
  const head = `POST ${path} HTTP/1.1\r\nhost: 127.0.0.1\r\n${authorization}content-type: application/json`;
  return Buffer.from(`${head}\r\ncontent-length: ${body.length}\r\n\r\n${body}`);
}

function bodyOf(kind: Attack["kind"], type: string): string {
  if (kind === "links") return "{}";
  if (kind === "worst events") return JSON.stringify({ type, data: worstData() });
  if (kind === "filter tests") {
    const { numbers } = worstData() as { numbers: readonly number[] };
    return JSON.stringify({ filter: worstFilter(1), type, data: { numbers } });
  }
  const event = JSON.stringify({ type, data: { text: "x".repeat(BATCH_BYTES / EVENTS - 60) } });
  return `{"events":[${Array.from({ length: EVENTS }, () => event).join(",")}]}`;
}
