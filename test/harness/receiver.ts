import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from "node:http";
import { createServer as createTlsServer } from "node:https";
import { once } from "node:events";
import type { AddressInfo, Socket } from "node:net";
import { verifyingKey } from "../../src/domain/endpoints/secret.ts";
import { certificate } from "./tls.ts";
import { unawaited } from "../../src/domain/unawaited.ts";

/**
 * One response: a status, `hang` for no response at all, or its details. `dripMs` sends the body byte by byte, that far
 * apart.
 */
export type Answer =
  | number
  | "hang"
  | {
      readonly status?: number;
      readonly headers?: Readonly<Record<string, string>>;
      readonly body?: string | Uint8Array;
      readonly delayMs?: number;
      /** The response is sent once this resolves, however slow the machine is. */
      readonly until?: Promise<void>;
      readonly dripMs?: number;
      readonly redirect?: string;
    };

export interface Received {
  readonly method: string;
  readonly path: string;
  /** Names are in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  /** Names and values alternate, as they were received. */
  readonly rawHeaders: readonly string[];
  readonly body: Buffer;
  readonly at: number;
  /** The number of the connection, counted from 1. */
  readonly connection: number;
}

/**
 * A real HTTP receiver on a free port of 127.0.0.1. It sends scripted responses and then 200, and records the requests.
 */
export class TestReceiver {
  readonly requests: Received[] = [];
  /** Called with each request before its response is sent. */
  onRequest: (request: Received) => void = () => {};
  readonly #script: Answer[];
  readonly #tls: boolean;
  readonly #server: Server;
  readonly #sockets = new Map<Socket, number>();
  readonly #timers = new Set<NodeJS.Timeout>();
  readonly #waiting: ((request: Received) => void)[] = [];
  #unread = 0;
  #connections = 0;

  private constructor(script: readonly Answer[], tls: boolean) {
    this.#script = [...script];
    this.#tls = tls;
    const listener: RequestListener = (request, response) => unawaited(this.#serve(request, response));
    this.#server = tls ? createTlsServer(certificate("good"), listener) : createServer(listener);
    this.#server.on(tls ? "secureConnection" : "connection", (socket: Socket) => {
      this.#sockets.set(socket, ++this.#connections);
      socket.on("error", () => {}).on("close", () => this.#sockets.delete(socket));
    });
  }

  static async start(
    script: readonly Answer[] = [],
    options: { tls?: boolean; port?: number; host?: string } = {},
  ): Promise<TestReceiver> {
    const receiver = new TestReceiver(script, options.tls ?? false);
    receiver.#server.listen(options.port ?? 0, options.host ?? "127.0.0.1");
    await once(receiver.#server, "listening");
    return receiver;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  get url(): string {
    return `${this.#tls ? "https" : "http"}://127.0.0.1:${this.port}/hook`;
  }

  get connections(): number {
    return this.#connections;
  }

  /** The number of open connections. */
  get open(): number {
    return this.#sockets.size;
  }

  /** Adds responses to the end of the script. */
  answer(...answers: Answer[]): void {
    this.#script.push(...answers);
  }

  /** Returns the oldest request that `next` has not returned yet, and waits for it if necessary. */
  next(): Promise<Received> {
    const request = this.requests[this.#unread];
    if (request === undefined) return new Promise((resolve) => this.#waiting.push(resolve));
    this.#unread++;
    return Promise.resolve(request);
  }

  /**
   * Verifies a request as a receiver does: the body's signature, and the Standard Webhooks signature if there is one.
   */
  verify(request: Received, secret: string, header = "x-service-signature"): boolean {
    const key = verifyingKey(secret);
    const { headers, body } = request;
    const timestamp = Number(headers["webhook-timestamp"]);
    const standard = headers["webhook-signature"];
    return (
      key.verifyBody(body, headers[header.toLowerCase()] ?? "") &&
      (standard === undefined || key.verifyStandard(headers["webhook-id"] ?? "", timestamp, body, standard))
    );
  }

  /** Sends bytes that no HTTP server would send, on every connection. */
  sendRaw(text: string): void {
    for (const socket of this.#sockets.keys()) socket.write(text);
  }

  /** Closes every connection, as a receiver does when it restarts. */
  dropConnections(how: "fin" | "rst" = "rst"): void {
    for (const socket of this.#sockets.keys()) {
      if (how === "fin") socket.end();
      else socket.resetAndDestroy();
    }
  }

  async close(): Promise<void> {
    for (const timer of this.#timers) clearTimeout(timer);
    this.#server.closeAllConnections();
    for (const socket of this.#sockets.keys()) socket.destroy();
    if (this.#server.listening) await new Promise((resolve) => this.#server.close(resolve));
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    try {
      for await (const chunk of request) chunks.push(chunk as Buffer);
    } catch {
      return; // The sender closed the connection in the middle of a request.
    }
    const received: Received = {
      method: request.method ?? "",
      path: request.url ?? "",
      headers: request.headers as Record<string, string>,
      rawHeaders: request.rawHeaders,
      body: Buffer.concat(chunks),
      at: Date.now(),
      connection: this.#sockets.get(request.socket) ?? 0,
    };
    this.requests.push(received);
    this.onRequest(received);
    const waiting = this.#waiting.shift();
    if (waiting !== undefined) {
      this.#unread++;
      waiting(received);
    }
    this.#answer(this.#script.shift() ?? 200, response);
  }

  #answer(answer: Answer, response: ServerResponse): void {
    if (answer === "hang") return;
    if (typeof answer === "object" && answer.until !== undefined) {
      const { until, ...rest } = answer;
      unawaited(until.then(() => this.#answer(rest, response)));
      return;
    }
    const {
      status,
      headers = {},
      body = "",
      delayMs = 0,
      dripMs = 0,
      redirect,
    } = typeof answer === "number" ? { status: answer } : answer;
    const bytes = Buffer.from(body as string);
    this.#later(delayMs, () => {
      response.writeHead(status ?? (redirect === undefined ? 200 : 302), {
        "content-length": bytes.length,
        ...(redirect !== undefined && { location: redirect }),
        ...headers,
      });
      if (dripMs > 0) this.#drip(response, bytes, dripMs);
      else response.end(bytes);
    });
  }

  #drip(response: ServerResponse, bytes: Buffer, everyMs: number): void {
    if (bytes.length === 0) {
      response.end();
      return;
    }
    response.write(bytes.subarray(0, 1));
    this.#later(everyMs, () => this.#drip(response, bytes.subarray(1), everyMs));
  }

  #later(delayMs: number, run: () => void): void {
    if (delayMs === 0) {
      run();
      return;
    }
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      run();
    }, delayMs);
    this.#timers.add(timer);
  }
}
