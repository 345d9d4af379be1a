/**
 * Reads plain publishes without Node's HTTP parser, which costs more than all our checks of them. A plain request is
 * understood to the last byte. Anything else sends the connection to Node for good, together with its unread bytes. So
 * we never understand a request differently from Node, and Node handles slow, hostile and unusual clients.
 */
import { type IncomingMessage, type Server as HttpServer, type ServerResponse, STATUS_CODES } from "node:http";
import type { Socket } from "node:net";
import { setTimeout as wait } from "node:timers/promises";
import { giveBack } from "./body-memory.ts";
import { PlainHead } from "./plain-head.ts";
import { unawaited } from "../../domain/unawaited.ts";

export interface Plain {
  /** The paths of plain POST requests. */
  readonly paths: ReadonlySet<string>;
  /** Returns epoch milliseconds for the `Date` of an answer. */
  readonly now: () => number;
  /** The handler of Node's server. It gets only those parts of Node's request and response that it uses. */
  readonly handle: (req: IncomingMessage, res: ServerResponse) => void;
}

/** Requests of one connection may be in progress together, as with Node, so that they share a commit. */
const MAX_UNANSWERED = 64;
/** Node adds this to the keep-alive timeout that it announces. */
const IDLE_BUFFER_MS = 1000;

/** The parts of Node's request that the API uses, and the whole body. */
export class PlainRequest implements Pick<
  IncomingMessage,
  "method" | "url" | "httpVersion" | "headers" | "rawHeaders" | "socket" | "complete"
> {
  readonly method = "POST";
  readonly httpVersion = "1.1";
  readonly complete = true;
  readonly head: PlainHead;
  readonly url: string;
  readonly headers: IncomingMessage["headers"];
  readonly rawHeaders: string[];
  readonly socket: Socket;
  readonly body: Buffer;

  constructor(head: PlainHead, socket: Socket, body: Buffer) {
    this.head = head;
    this.url = head.url;
    this.headers = head.headers;
    this.rawHeaders = head.rawHeaders;
    this.socket = socket;
    this.body = body;
  }
}

/** The parts of Node's response that the API uses. Writes the same bytes as Node would. */
export class PlainAnswer implements Pick<ServerResponse, "shouldKeepAlive" | "headersSent" | "writableFinished"> {
  shouldKeepAlive: boolean;
  headersSent = false;
  writableFinished = false;
  /** The whole answer, once it is known. */
  text: string | null = null;
  #head = "";
  readonly #connection: PlainConnection;

  constructor(connection: PlainConnection, shouldKeepAlive: boolean) {
    this.#connection = connection;
    this.shouldKeepAlive = shouldKeepAlive;
  }

  get destroyed(): boolean {
    return this.#connection.socket.destroyed;
  }

  /** `headers` has names and values alternately. They are not checked, because we set them ourselves. */
  writeHead(status: number, headers: readonly string[]): void {
    this.headersSent = true;
    let text = `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n`;
    let isTold = false;
    for (let index = 0; index < headers.length; index += 2) {
      text += `${headers[index]}: ${headers[index + 1]}\r\n`;
      if (headers[index] === "connection") isTold = true;
    }
    text += this.#connection.dateLine;
    if (isTold) this.shouldKeepAlive = false;
    else text += this.shouldKeepAlive ? this.#connection.keptLines : "Connection: close\r\n";
    this.#head = `${text}\r\n`;
  }

  end(body: string): void {
    this.text = this.#head + body;
    this.#connection.flush();
  }

  /** Stops reading from the connection until `release`. */
  hold(): void {
    this.#connection.hold();
  }

  release(): void {
    this.#connection.release();
  }

  once(event: "close", run: () => void): void {
    this.#connection.socket.once(event, run);
  }

  off(event: "close", run: () => void): void {
    this.#connection.socket.off(event, run);
  }
}

class PlainConnection {
  readonly socket: Socket;
  readonly #requests: PlainRequests;
  readonly #server: HttpServer;
  /** Unanswered requests, oldest first. */
  readonly #unanswered: PlainAnswer[] = [];
  #latest: PlainHead | null = null;
  /** Bytes for Node to read once all requests are answered. Null as long as every request was plain. */
  #unread: Buffer | null = null;
  /** True if nothing is read after the latest request. */
  #isLast = false;
  #isEnding = false;
  #isHeld = false;
  #isLeft = false;
  /** The number of calls of `turn` since the last byte. */
  #turns = 0;

  constructor(socket: Socket, requests: PlainRequests) {
    this.socket = socket;
    this.#requests = requests;
    this.#server = requests.server;
    socket.on("data", this.#onData).on("end", this.#onEnd).on("error", this.#onError);
    socket.once("close", () => requests.open.delete(this));
  }

  get dateLine(): string {
    return this.#requests.dateLine;
  }

  get keptLines(): string {
    return this.#requests.keptLines;
  }

  /** True if no byte of another request has arrived since the last answer. */
  get isIdle(): boolean {
    return this.#latest !== null && this.#unanswered.length === 0 && this.#unread === null;
  }

  readonly #onData = (bytes: Buffer): void => {
    const { paths } = this.#requests;
    this.#turns = 0;
    if (this.#isLast) return;
    for (let at = 0; at < bytes.length;) {
      const latest = this.#latest;
      const isSame =
        latest !== null &&
        bytes.length - at > latest.bytes.length &&
        bytes.compare(latest.bytes, 0, latest.bytes.length, at, at + latest.bytes.length) === 0;
      const head = isSame ? latest : PlainHead.at(bytes, at, paths);
      const bodyAt = at + (head?.bytes.length ?? 0);
      const end = bodyAt + (head?.bodyBytes ?? 0);
      const isWhole = head?.isLast === true ? end === bytes.length : end <= bytes.length;
      if (head === null || !isWhole || this.#unanswered.length >= MAX_UNANSWERED) {
        return this.#leaveToNode(bytes.subarray(at));
      }
      this.#latest = head;
      this.#isLast = head.isLast;
      const answer = new PlainAnswer(this, !head.isLast);
      this.#unanswered.push(answer);
      at = end;
      this.#requests.take(new PlainRequest(head, this.socket, bytes.subarray(bodyAt, end)), answer);
    }
  };

  /** Does the same as Node: a client that closes its half gives up its unanswered requests. */
  readonly #onEnd = (): void => void this.socket.end();
  readonly #onError = (): void => void this.socket.destroy();

  /** Writes the answers that are ready, in the order of the requests. */
  flush(): void {
    let text = "";
    while (this.#unanswered[0]?.text && !this.#isEnding) {
      const answer = this.#unanswered.shift()!;
      text += answer.text;
      answer.writableFinished = true;
      this.#isEnding = !answer.shouldKeepAlive;
    }
    if (text === "" || !this.socket.writable) return;
    const isTaken = this.socket.write(text);
    if (this.#isEnding) return this.socket.destroySoon();
    if (this.#unread !== null) return this.#leaveToNode(this.#unread);
    // Stop reading from a client that does not read our answers.
    if (!isTaken && !this.socket.isPaused())
      this.socket.pause().once("drain", () => this.#isHeld || this.socket.resume());
  }

  /** Stops reading until `release`. Does nothing once Node has the connection. */
  hold(): void {
    if (this.#isLeft) return;
    this.#isHeld = true;
    this.socket.pause();
  }

  release(): void {
    if (!this.#isHeld || this.#isLeft) return;
    this.#isHeld = false;
    // Unread bytes go to Node first. Do not read from a client that does not read our answers.
    if (this.#unread !== null) return;
    if (this.socket.writableNeedDrain) this.socket.once("drain", () => this.#isHeld || this.socket.resume());
    else this.socket.resume();
  }

  #leaveToNode(unread: Buffer): void {
    const { socket } = this;
    this.#unread = unread;
    socket.pause();
    if (this.#unanswered.length > 0 || this.#isEnding) return;
    this.#isLeft = true;
    this.#requests.open.delete(this);
    socket.off("data", this.#onData).off("end", this.#onEnd).off("error", this.#onError);
    if (unread.length > 0) socket.unshift(unread);
    this.#requests.giveToNode(socket);
    socket.resume();
    // By then Node has parsed the bytes and copied what it needs.
    setImmediate(() => socket.readableLength === 0 && giveBack(unread));
  }

  /** Called every `intervalMs`. Closes an idle connection, and gives one without a complete request to Node. */
  turn(intervalMs: number): void {
    if (this.#unanswered.length > 0 || this.#unread !== null) return;
    this.#turns++;
    if (this.#latest !== null) {
      if ((this.#turns - 1) * intervalMs >= this.#server.keepAliveTimeout + IDLE_BUFFER_MS) this.socket.destroy();
    } else if (this.#turns > 1) {
      this.#leaveToNode(Buffer.alloc(0));
    }
  }
}

/** The plain requests of one server. Must be created before the server listens. */
export class PlainRequests {
  readonly server: HttpServer;
  readonly paths: ReadonlySet<string>;
  readonly open = new Set<PlainConnection>();
  readonly keptLines: string;
  readonly #now: () => number;
  readonly #handle: Plain["handle"];
  readonly #intervalMs: number;
  /** Node's own connection handler. */
  readonly #node: (socket: Socket) => void;
  #isWatching = false;
  #dateLine = "";
  #dateUntil = Number.NEGATIVE_INFINITY;

  constructor(server: HttpServer, { paths, now, handle }: Plain, intervalMs: number) {
    this.server = server;
    this.paths = paths;
    this.#now = now;
    this.#handle = handle;
    this.#intervalMs = intervalMs;
    this.keptLines = `Connection: keep-alive\r\nKeep-Alive: timeout=${Math.floor(server.keepAliveTimeout / 1000)}\r\n`;
    const [node] = server.listeners("connection") as [(socket: Socket) => void];
    this.#node = node;
    server.off("connection", node);
    server.prependListener("connection", (socket: Socket) => {
      this.open.add(new PlainConnection(socket, this));
      if (!this.#isWatching) unawaited(this.#watch());
    });
  }

  /**
   * Announces a request as "plain" to other listeners, because listhen listens to "request" and expects Node's own
   * objects.
   */
  take(request: PlainRequest, answer: PlainAnswer): void {
    this.server.emit("plain", request, answer);
    this.#handle(request as object as IncomingMessage, answer as object as ServerResponse);
  }

  giveToNode(socket: Socket): void {
    this.#node.call(this.server, socket);
  }

  get dateLine(): string {
    const now = this.#now();
    if (now >= this.#dateUntil || now < this.#dateUntil - 1000) {
      this.#dateUntil = now - (now % 1000) + 1000;
      this.#dateLine = `Date: ${new Date(now).toUTCString()}\r\n`;
    }
    return this.#dateLine;
  }

  closeIdle(): void {
    for (const connection of this.open) if (connection.isIdle) connection.socket.destroy();
  }

  async #watch(): Promise<void> {
    this.#isWatching = true;
    while (this.open.size > 0) {
      await wait(this.#intervalMs, undefined, { ref: false });
      for (const connection of this.open) connection.turn(this.#intervalMs);
    }
    this.#isWatching = false;
  }
}
