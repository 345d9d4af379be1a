/** Receivers that answer once more than they were asked: what nobody asked for must never pass for an answer. */
import { once } from "node:events";
import { createServer, type AddressInfo, type Socket } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import { beforeAll, describe, expect, it } from "vitest";
import { Exchange } from "../../../src/delivery/http/exchange.ts";
import { signedRequest, testEgress } from "../../harness/egress.ts";
import { unawaited } from "../../../src/domain/unawaited.ts";

const STRAY = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";
const REFUSAL = "HTTP/1.1 500 Internal Server Error\r\ncontent-length: 0\r\n\r\n";
/** A true answer that comes after every stray. */
const LATE_MS = 300;

interface Case {
  readonly status: number;
  readonly delayMs: number;
  readonly headers: string;
  /** In one segment with the answer; then there is no delay. */
  readonly pipelined: boolean;
}

/**
 * Answers the first request of each connection with the status and lets a 200 follow that nobody asked for; every later
 * request on the connection is refused. `accepted` counts the requests that it truly answered with a 2xx.
 */
class StrayReceiver {
  accepted = 0;
  requests = 0;
  readonly #case: Case;
  readonly #server = createServer((socket) => this.#serve(socket));
  readonly #sockets = new Set<Socket>();
  readonly #closing = new AbortController();

  constructor(its: Case) {
    this.#case = its;
  }

  async listen(): Promise<string> {
    this.#server.listen(0, "127.0.0.1");
    await once(this.#server, "listening");
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/hook`;
  }

  async close(): Promise<void> {
    this.#closing.abort();
    for (const socket of this.#sockets) socket.destroy();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #serve(socket: Socket): void {
    this.#sockets.add(socket);
    socket.setNoDelay(true);
    socket.on("error", () => {}).on("close", () => this.#sockets.delete(socket));
    let first = true;
    // One request fits into a segment, and the next one comes after its answer.
    socket.on("data", () => {
      this.requests++;
      if (first) unawaited(this.#answer(socket));
      else unawaited(this.#send(socket, REFUSAL, LATE_MS));
      first = false;
    });
  }

  async #answer(socket: Socket): Promise<void> {
    const { status, headers, pipelined, delayMs } = this.#case;
    if (status < 300) this.accepted++;
    const length = status === 204 ? "" : "content-length: 0\r\n";
    const answer = `HTTP/1.1 ${status} Such\r\n${length}${headers}\r\n`;
    socket.write(pipelined ? answer + STRAY : answer);
    if (!pipelined) await this.#send(socket, STRAY, delayMs);
  }

  async #send(socket: Socket, bytes: string, afterMs: number): Promise<void> {
    await pause(afterMs, undefined, { signal: this.#closing.signal }).catch(() => {});
    if (!socket.destroyed) socket.write(bytes);
  }
}

const STATUSES = [200, 204, 302, 404, 410, 500, 503];
const HEADERS = ["", "connection: keep-alive\r\n", "connection: keep-alive\r\nkeep-alive: timeout=60\r\n"];
const CASES: readonly Case[] = STATUSES.flatMap((status) =>
  HEADERS.flatMap((headers) => [
    { status, headers, pipelined: true, delayMs: 0 },
    ...[0, 1, 5, 20, 50, 100, 200].map((delayMs) => ({ status, headers, pipelined: false, delayMs })),
  ]),
);

interface Told {
  /** What the exchange took for a success. */
  readonly delivered: number;
  /** What the receiver meant as one. */
  readonly accepted: number;
}

async function told(its: Case): Promise<Told> {
  const receiver = new StrayReceiver(its);
  const egress = testEgress();
  const exchange = new Exchange(egress, await receiver.listen(), "default");
  let delivered = 0;
  const post = async (): Promise<void> => {
    const { outcome } = await exchange.post(signedRequest());
    if (outcome === "succeeded") delivered++;
  };
  // Two at a time, some in a row and some with the pauses in which a stray comes.
  const queue = async (pauseMs: number): Promise<void> => {
    for (let i = 0; i < 8; i++) {
      await post();
      await pause(pauseMs);
    }
  };
  await Promise.all([queue(0), queue(60)]);
  await exchange.close();
  egress.close();
  await receiver.close();
  return { delivered, accepted: receiver.accepted };
}

describe("a stray 200", () => {
  let all: Promise<readonly Told[]>;
  // All at once: they wait for one another, and the machine hardly at all.
  beforeAll(() => {
    all = Promise.all(CASES.map(told));
  });

  for (const [at, its] of CASES.entries()) {
    const when = its.pipelined ? "in the same segment" : `${its.delayMs} ms later`;
    it(`after a ${its.status}, ${when} (${JSON.stringify(its.headers)}), delivers nothing`, async () => {
      const { delivered, accepted } = (await all)[at]!;
      expect(delivered).toBe(accepted);
    });
  }
});
