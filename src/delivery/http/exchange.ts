import type { Socket } from "node:net";
import {
  answered,
  type BodyError,
  noResponse,
  type Outcome,
  type Phases,
  withFaults,
} from "../../domain/deliveries/attempt.ts";
import { type Answer, MAX_BODY_BYTES } from "./answer.ts";
import { type Carried, Connection, Connections } from "./connections.ts";
import { Destination, type Opening } from "./egress-guard.ts";
import { Deadlines, type Egress, Timed, type TlsIdentity } from "./egress.ts";
import { bodyErrorOf, Fault, faultOf, isReset } from "./fault.ts";

/** A signed request, without the headers that every request has: host, connection and content-length. */
export interface SignedRequest {
  readonly method: "POST";
  readonly path: string;
  /** Names and values alternate, in the order and case of the wire. */
  readonly headers: string[];
  /** The signed bytes. Content-length is computed from this same buffer. */
  readonly body: Uint8Array;
  /** True for a test, whose response is kept whole even if it succeeded. */
  readonly keepsAll: boolean;
}

/** The connections to one endpoint, and the attempts on them. The caller limits how many there are at once. */
export class Exchange {
  readonly egress: Egress;
  readonly #connections: Connections;
  readonly #headers = new KeptHeaders();
  /**
   * The order has no meaning, and each attempt knows its index. A Set with this much churn would keep removed members
   * alive for the garbage collector.
   */
  readonly #inFlight: Attempt[] = [];
  #onDrained: (() => void) | null = null;

  constructor(egress: Egress, url: string, tenant: string, tls: TlsIdentity | null = null) {
    this.egress = egress;
    this.#connections = new Connections(egress, new Destination(new URL(url), tenant, tls));
  }

  /**
   * Makes one attempt. Never rejects: a failure of the receiver, the network or this host is part of the outcome. A
   * limit of its own replaces the usual one, if part of the time for the attempt is spent.
   */
  post(request: SignedRequest, limitMs: number | null = null): Promise<Outcome> {
    return new Promise((resolve) => {
      const attempt = new Attempt(this.egress, this.#connections, this.#headers, request, (outcome) => {
        this.#remove(attempt);
        resolve(outcome);
      });
      attempt.place = this.#inFlight.push(attempt) - 1;
      attempt.start(limitMs === null ? this.egress.attempts : new Deadlines(this.egress.clock, limitMs));
    });
  }

  /** Ends everything on the wire now. Attempts that have not been decided become `interrupted`. */
  abort(): void {
    for (const attempt of this.#inFlight.slice()) attempt.interrupt();
  }

  /** Waits for the attempts on the wire, then closes the connections. */
  async close(): Promise<void> {
    this.#connections.close();
    if (this.#inFlight.length > 0) await new Promise<void>((resolve) => (this.#onDrained = resolve));
  }

  #remove(attempt: Attempt): void {
    const last = this.#inFlight.pop()!;
    if (last !== attempt) {
      this.#inFlight[attempt.place] = last;
      last.place = attempt.place;
    }
    if (this.#inFlight.length === 0) this.#onDrained?.();
  }
}

const ENOUGH = new Fault("connection_closed", "the attempt has ended");

/**
 * One POST in progress. The final header block decides its outcome. The body comes after it, is limited in bytes and
 * time, and changes nothing. Whatever happens after the end is ignored.
 */
class Attempt extends Timed implements Carried {
  /** Its index among the endpoint's attempts in flight. */
  place = 0;
  readonly #request: SignedRequest;
  readonly #egress: Egress;
  readonly #connections: Connections;
  readonly #keptHeaders: KeptHeaders;
  readonly #onEnd: (outcome: Outcome) => void;
  #connection: Connection;
  readonly #startedAt: number;
  /** The opening of the kept connection that this attempt uses; null for a new connection. */
  readonly #kept: Opening | null;
  #firstByteAt: number | null = null;
  /** Null until its header block has decided the attempt. */
  #answer: Answer | null = null;
  #decidedAt = 0;
  #ended = false;
  /** The list with its time limit until it is decided. */
  #deadlines: Deadlines;

  constructor(
    egress: Egress,
    connections: Connections,
    keptHeaders: KeptHeaders,
    request: SignedRequest,
    onEnd: (outcome: Outcome) => void,
  ) {
    super();
    this.#egress = egress;
    this.#connections = connections;
    this.#keptHeaders = keptHeaders;
    this.#request = request;
    this.#onEnd = onEnd;
    this.#startedAt = egress.clock.monotonic();
    this.#connection = connections.take(this.#startedAt);
    this.#kept = this.#connection.opening;
    this.#deadlines = egress.attempts;
  }

  start(deadlines: Deadlines): void {
    this.#deadlines = deadlines;
    deadlines.add(this, this.#startedAt);
    this.#connection.carry(this);
  }

  get keepsAll(): boolean {
    return this.#request.keepsAll;
  }

  write(socket: Socket, to: Destination): void {
    writeRequest(socket, to, this.#request);
  }

  onProgress(answer: Answer, now: number): void {
    if (this.#ended) return;
    if (answer.began) this.#firstByteAt ??= now;
    if (answer.status === null) return;
    if (this.#answer === null) {
      this.#answer = answer;
      this.#decidedAt = now;
      if (!answer.isComplete) {
        this.#deadlines.remove(this);
        this.#egress.bodies.add(this, now);
      }
    }
    if (answer.seen <= MAX_BODY_BYTES) return;
    this.#conclude(null);
    this.#connection.close(ENOUGH);
  }

  onComplete(isClean: boolean, now: number): void {
    this.#connections.release(this.#connection, isClean, now);
    this.#conclude(null);
  }

  onLost(error: Error): void {
    if (this.#ended) return;
    if (this.#answer !== null) this.#conclude(bodyErrorOf(error));
    else if (this.#maySendAgain(error)) this.#sendAgain();
    else this.#fail(this.#orRefused(faultOf(error)));
  }

  /** Many servers that do not accept a client certificate close the connection without saying why. */
  #orRefused(fault: Fault): Fault {
    const isNew = this.#connection.opening !== this.#kept && this.#firstByteAt === null;
    if (fault.error !== "connection_closed" || !isNew || !this.#connections.destination.showsCertificate) return fault;
    return new Fault("connection_closed", `${fault.message}; it may refuse our client certificate`, fault.evidence);
  }

  override expire(): void {
    if (this.#answer === null) this.#fail(this.#timeout());
    else this.#conclude("timeout");
    this.#connection.close(ENOUGH);
  }

  /** On shutdown, a decided attempt counts. Any other failed through our own fault. */
  interrupt(): void {
    if (this.#answer === null) this.#fail(new Fault("interrupted", "webhookd was stopped during the attempt"));
    else this.#conclude(null);
    this.#connection.close(ENOUGH);
  }

  /**
   * A kept connection that closes just as it is reused lost a race. The receiver never saw the request and is not to
   * blame.
   */
  #maySendAgain(error: Error): boolean {
    return this.#connection.opening === this.#kept && this.#firstByteAt === null && isReset(error);
  }

  #sendAgain(): void {
    this.#connection = new Connection(this.#connections);
    this.#connection.carry(this);
  }

  #conclude(bodyError: BodyError | null): void {
    const answer = this.#answer!;
    const { succeeded } = answer;
    const status = answer.status!;
    const error = succeeded ? null : status < 400 ? "redirect_not_followed" : "http_status";
    const said = error === "redirect_not_followed" ? `${answered(status)}, which is not followed` : answered(status);
    this.#end({
      outcome: succeeded ? "succeeded" : "failed",
      statusCode: status,
      error,
      bodyError,
      detail: withFaults(said, answer.faults),
      durationMs: Math.round(this.#decidedAt - this.#startedAt),
      remoteAddress: this.#connection.opening?.remoteAddress ?? null,
      phases: this.#phases(),
      responseHeaders: this.#keptHeaders.of(answer.headers),
      responseBody: answer.body,
      responseTruncated: answer.seen > answer.body.length,
      ours: false,
    });
  }

  #fail(fault: Fault): void {
    const now = this.#egress.clock.monotonic();
    const remoteAddress = this.#connection.opening?.remoteAddress ?? null;
    const { evidence } = fault;
    if (evidence === "shortage") this.#egress.shortAt = now;
    const duration = Math.round(now - this.#startedAt);
    this.#end(noResponse(fault.error, fault.message, duration, { remoteAddress, phases: this.#phases(), evidence }));
  }

  #end(outcome: Outcome): void {
    if (this.#ended) return;
    this.#ended = true;
    this.list?.remove(this);
    if (this.#deadlines !== this.#egress.attempts) this.#deadlines.close();
    this.#onEnd(outcome);
  }

  #timeout(): Fault {
    const { opening } = this.#connection;
    const missing = opening?.waitingFor;
    const evidence = missing === "an address" ? "no_look_up" : "silence";
    return new Fault("timeout", `the time limit passed before there was ${missing ?? "a connection"}`, evidence);
  }

  #phases(): Phases {
    const { opening } = this.#connection;
    const own = opening === this.#kept ? null : opening;
    return {
      dnsMs: this.#sinceStart(own?.resolvedAt ?? null),
      connectMs: this.#sinceStart(own?.connectedAt ?? null),
      tlsMs: this.#sinceStart(own?.securedAt ?? null),
      firstByteMs: this.#sinceStart(this.#firstByteAt),
    };
  }

  #sinceStart(at: number | null): number | null {
    return at === null ? null : Math.round(at - this.#startedAt);
  }
}

/** The buffer in which a request is assembled, so that it takes one write. */
let sheet = Buffer.alloc(0);
const SHEET_BYTES = 16 * 1024;

function writeRequest(socket: Socket, to: Destination, { method, path, headers, body }: SignedRequest): void {
  let head = `${method} ${path} HTTP/1.1\r\nhost: ${to.host}\r\nconnection: keep-alive\r\n`;
  for (let at = 0; at < headers.length; at += 2) head += `${headers[at]}: ${headers[at + 1]}\r\n`;
  head += `content-length: ${body.length}\r\n\r\n`;
  const length = head.length + body.length;
  if (length > SHEET_BYTES) {
    socket.cork();
    socket.write(head, "latin1");
    socket.write(body);
    socket.uncork();
    return;
  }
  if (sheet.length === 0) sheet = Buffer.allocUnsafeSlow(SHEET_BYTES);
  // TLS holds on to its input for a while, so it gets its own buffer.
  const request = to.secure ? Buffer.allocUnsafe(length) : sheet.subarray(0, length);
  request.write(head, 0, "latin1");
  request.set(body, head.length);
  socket.write(request);
  // The kernel did not take everything, and the remainder will still be read from this buffer.
  if (!to.secure && socket.writableLength > 0) sheet = Buffer.alloc(0);
}

const KEPT = ["content-type", "content-encoding", "retry-after", "server", "date", "location"] as const;

/** Saves memory by sharing one object of kept headers as long as a receiver's responses repeat them. */
class KeptHeaders {
  #last: Outcome["responseHeaders"] = {};

  of(headers: Outcome["responseHeaders"]): Outcome["responseHeaders"] {
    if (headers === this.#last || KEPT.every((name) => this.#last[name] === headers[name])) return this.#last;
    return (this.#last = headers);
  }
}
