/**
 * Receivers that send one response more than there are requests. The stray response must never pass for the response to
 * a later request.
 */
import { once } from "node:events";
import { createServer, type AddressInfo, type Socket } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import { beforeAll, describe, expect, it } from "vitest";
import { Exchange } from "../../../src/delivery/http/exchange.ts";
import { signedRequest, testEgress } from "../../harness/egress.ts";
import { unawaited } from "../../../src/domain/unawaited.ts";

const STRAY = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";
const REFUSAL = "HTTP/1.1 500 Internal Server Error\r\ncontent-length: 0\r\n\r\n";
/** Later than every stray response. */
const LATE_MS = 300;

interface Case {
  readonly status: number;
  readonly delayMs: number;
  readonly headers: string;
  /** Sends the stray response in one segment with the first, without a delay. */
  readonly pipelined: boolean;
}

/**
 * Answers the first request of each connection with the status, then sends a stray 200, and answers later requests on
 * the connection with 500. `accepted` counts the requests that were really answered with a 2xx.
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
    // A request fits into one segment, and the client sends the next one only after the response.
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
  /** The requests that the exchange took for successes. */
  readonly delivered: number;
  /** The requests that the receiver answered with a 2xx. */
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
  // Two requests are in flight at a time. One queue pauses between requests, so that strays arrive in the pauses.
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
  // The cases run at the same time, because they mostly wait.
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
