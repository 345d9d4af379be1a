/** Takes more than its share of a daemon, until this process is killed; one kind of attack, named in its argument. */
import { connect, type Socket } from "node:net";
import { Worker } from "node:worker_threads";
import { FLOOD_TYPE } from "./payload.ts";

export interface Attack {
  /** `spin` leaves the daemon alone and uses the machine, with as many threads as it is to have connections. */
  readonly kind: "batches" | "headers" | "gets" | "spin";
  readonly port: number;
  readonly connections: number;
  /** Of a read or publish key; null to send none. */
  readonly key: string | null;
  readonly path: string;
}

const BATCH_BYTES = 3 * 1024 * 1024;
const EVENTS = 100;
const SLOW_MS = 1000;
const AGAIN_MS = 20;

const attack = JSON.parse(process.argv[2]!) as Attack;
const request = requestOf(attack);
const begin = attack.kind === "spin" ? () => new Worker("for (;;);", { eval: true }) : open;
// Whoever measures is not to be kept waiting by the attacker's own work.
for (let index = 0; index < attack.connections; index++) setTimeout(begin, (index * 200) / attack.connections);
// The bench has ended, however it did.
process.stdin.on("end", () => process.exit()).resume();

function open(): void {
  const socket = connect({ host: "127.0.0.1", port: attack.port, noDelay: true });
  let timer: NodeJS.Timeout | undefined;
  socket.on("error", () => {});
  socket.on("close", () => {
    clearInterval(timer);
    setTimeout(open, AGAIN_MS);
  });
  socket.on("connect", () => {
    if (attack.kind !== "headers") return void socket.write(request);
    socket.write("GET /v1/webhooks HTTP/1.1\r\nhost: 127.0.0.1\r\n");
    timer = setInterval(() => socket.write("x-slow: 1\r\n"), SLOW_MS);
  });
  if (attack.kind === "headers") socket.resume();
  else answerAgain(socket);
}

/** The next request as soon as one is answered; a stream's answer never ends. */
function answerAgain(socket: Socket): void {
  let head = "";
  let missing = 0;
  socket.on("data", (chunk: Buffer) => {
    if (missing === 0) {
      head += chunk.toString("latin1");
      const end = head.indexOf("\r\n\r\n");
      if (end === -1) return;
      const length = /content-length: (\d+)/i.exec(head.slice(0, end))?.[1];
      missing = length === undefined ? Number.POSITIVE_INFINITY : Number(length) - (head.length - end - 4);
      head = "";
    } else {
      missing -= chunk.length;
    }
    if (missing <= 0) {
      missing = 0;
      if (!socket.destroyed) socket.write(request);
    }
  });
}

function requestOf({ kind, key, path }: Attack): Buffer {
  const authorization = key === null ? "" : `authorization: Bearer ${key}\r\n`;
  if (kind !== "batches") return Buffer.from(`GET ${path} HTTP/1.1\r\nhost: 127.0.0.1\r\n${authorization}\r\n`);
  const event = JSON.stringify({ type: FLOOD_TYPE, data: { text: "x".repeat(BATCH_BYTES / EVENTS - 60) } });
  const body = `{"events":[${Array.from({ length: EVENTS }, () => event).join(",")}]}`;
  const head = `POST ${path} HTTP/1.1\r\nhost: 127.0.0.1\r\n${authorization}content-type: application/json`;
  return Buffer.from(`${head}\r\ncontent-length: ${body.length}\r\n\r\n${body}`);
}
