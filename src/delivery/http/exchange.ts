import type { Dispatcher } from "undici";
import { answered, type BodyError, noResponse, type Outcome, type Phases } from "../../domain/deliveries/attempt.ts";
import { type Connection, Connections, type SignedRequest } from "./connections.ts";
import { Timed } from "./deadline.ts";
import { Destination, type Opening } from "./egress-guard.ts";
import type { Egress } from "./egress.ts";
import { bodyErrorOf, Fault, faultOf, isReset } from "./fault.ts";

/** The way to one endpoint, and what is on it. How much there may be at once is for the caller to say. */
export class Exchange {
  readonly egress: Egress;
  readonly #connections: Connections;
  readonly #headers = new KeptHeaders();
  /** In no order; each knows its place. A Set that churns like this keeps its past members alive for the collector. */
  readonly #inFlight: Attempt[] = [];
  #onDrained: (() => void) | null = null;

  constructor(egress: Egress, url: string, tenant: string) {
    this.egress = egress;
    this.#connections = new Connections(egress, new Destination(new URL(url), tenant));
  }

  /** One attempt. Never rejects: what the receiver, the network or this host do wrong is the outcome. */
  post(request: SignedRequest): Promise<Outcome> {
    return new Promise((resolve) => {
      const attempt = new Attempt(this.egress, this.#connections, this.#headers, request, (outcome) => {
        this.#remove(attempt);
        resolve(outcome);
      });
      attempt.place = this.#inFlight.push(attempt) - 1;
      attempt.start();
    });
  }

  /** Ends everything on the wire now; what was not decided yet is `interrupted`. */
  abort(): void {
    for (const attempt of this.#inFlight.slice()) attempt.interrupt();
  }

  /** Lets what is on the wire end, and closes the connections. */
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

/** RFC 9110 sets no limit, and undici reads them for ever. */
const MAX_INFORMATIONAL = 20;
const MAX_BODY_BYTES = 16 * 1024;
const SUCCESS_KEPT_BYTES = 256;
const NO_BODY = new Uint8Array(0);
const ENOUGH = new Fault("connection_closed", "the attempt has ended");

/**
 * One POST on its way: undici's handler. The final header block decides it; the body comes after, is bounded in bytes
 * and time, and changes nothing. Whatever happens after the end is ignored.
 */
class Attempt extends Timed implements Dispatcher.DispatchHandler {
  /** Among its endpoint's attempts in flight. */
  place = 0;
  readonly #egress: Egress;
  readonly #connections: Connections;
  readonly #keptHeaders: KeptHeaders;
  readonly #request: SignedRequest;
  readonly #onEnd: (outcome: Outcome) => void;
  #connection: Connection;
  readonly #startedAt: number;
  /** How the connection that was kept for this attempt had been opened; null for a fresh one. */
  readonly #kept: Opening | null;
  #controller: Dispatcher.DispatchController | null = null;
  #firstByteAt: number | null = null;
  #informational = 0;
  #status: number | null = null;
  #decidedAt = 0;
  #headers: Headers = {};
  #body: KeptBody | null = null;
  #ended = false;

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
    this.#connection = connections.take();
    this.#kept = this.#connection.opening;
    this.#startedAt = egress.clock.monotonic();
  }

  start(): void {
    this.#egress.attempts.add(this);
    this.#connection.client.dispatch(this.#request, this);
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    this.#connection.serve();
  }

  onResponseStarted(): void {
    this.#firstByteAt ??= this.#egress.clock.monotonic();
  }

  onResponseStart(controller: Dispatcher.DispatchController, status: number, headers: Headers): void {
    if (this.#ended) return;
    if (status < 200) {
      if (++this.#informational <= MAX_INFORMATIONAL) return;
      this.#fail(
        new Fault("too_many_informational", `the receiver sent more than ${MAX_INFORMATIONAL} informational responses`),
      );
      controller.abort(ENOUGH);
      return;
    }
    this.#status = status;
    this.#headers = headers;
    this.#decidedAt = this.#egress.clock.monotonic();
    this.#egress.attempts.remove(this);
    this.#egress.bodies.add(this);
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Uint8Array): void {
    if (this.#ended) return;
    this.#body ??= new KeptBody(this.#succeeded && !this.#request.keepsAll ? SUCCESS_KEPT_BYTES : MAX_BODY_BYTES);
    this.#body.add(chunk);
    if (this.#body.seen <= MAX_BODY_BYTES) return;
    this.#answer(null);
    controller.abort(ENOUGH);
  }

  onResponseEnd(): void {
    this.#connections.release(this.#connection, this.#succeeded);
    this.#answer(null);
  }

  onResponseError(_controller: Dispatcher.DispatchController | null, error: Error): void {
    if (this.#ended) return;
    if (this.#status !== null) this.#answer(bodyErrorOf(error));
    else if (this.#maySendAgain(error)) this.#sendAgain();
    else this.#fail(faultOf(error));
  }

  override expire(): void {
    if (this.#status === null) this.#fail(this.#timeout());
    else this.#answer("timeout");
    this.#tearDown();
  }

  /** Shutting down: what has been decided counts, and anything else is our own fault. */
  interrupt(): void {
    if (this.#status === null) this.#fail(new Fault("interrupted", "webhookd was stopped during the attempt"));
    else this.#answer(null);
    this.#tearDown();
  }

  /** A kept connection that ends as it is used again lost a race: the receiver saw nothing of it, and is not to blame. */
  #maySendAgain(error: Error): boolean {
    return this.#connection.opening === this.#kept && this.#firstByteAt === null && isReset(error);
  }

  #sendAgain(): void {
    this.#controller = null;
    this.#connection = this.#connections.open();
    this.#connection.client.dispatch(this.#request, this);
  }

  #tearDown(): void {
    if (this.#controller === null) this.#connection.close(ENOUGH);
    else this.#controller.abort(ENOUGH);
  }

  get #succeeded(): boolean {
    return this.#status !== null && this.#status < 300;
  }

  #answer(bodyError: BodyError | null): void {
    const status = this.#status!;
    const error = this.#succeeded ? null : status < 400 ? "redirect_not_followed" : "http_status";
    this.#end({
      outcome: this.#succeeded ? "succeeded" : "failed",
      statusCode: status,
      error,
      bodyError,
      detail: error === "redirect_not_followed" ? `${answered(status)}, which is not followed` : answered(status),
      durationMs: Math.round(this.#decidedAt - this.#startedAt),
      remoteAddress: this.#connection.opening?.remoteAddress ?? null,
      phases: this.#phases(),
      responseHeaders: this.#keptHeaders.of(this.#headers),
      responseBody: this.#body?.bytes() ?? NO_BODY,
      responseTruncated: this.#body !== null && this.#body.seen > this.#body.kept,
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
    this.#onEnd(outcome);
  }

  #timeout(): Fault {
    const { opening } = this.#connection;
    const missing = this.#controller === null ? opening?.waitingFor : `an answer from ${opening?.remoteAddress}`;
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

/** The beginning of a response body: what may be kept of it, and how much of it there was. */
class KeptBody {
  seen = 0;
  kept = 0;
  readonly #limit: number;
  readonly #chunks: Uint8Array[] = [];

  constructor(limit: number) {
    this.#limit = limit;
  }

  add(chunk: Uint8Array): void {
    this.seen += chunk.length;
    if (this.kept === this.#limit) return;
    // A copy: the chunk is a window into the socket's buffer of 64 KiB and would keep all of it (a Buffer's own `slice` is one too).
    const part = Uint8Array.prototype.slice.call(chunk, 0, this.#limit - this.kept);
    this.#chunks.push(part);
    this.kept += part.length;
  }

  bytes(): Uint8Array {
    return this.#chunks.length === 1 ? this.#chunks[0]! : Buffer.concat(this.#chunks);
  }
}

/** As undici gives them. */
type Headers = Readonly<Record<string, string | string[] | undefined>>;

const KEPT_CHARS = 256;
const KEPT = ["content-type", "retry-after", "server", "date", "location"] as const;

/** The few headers that are kept of one receiver's answers. As long as they repeat, so does the object that holds them. */
class KeptHeaders {
  #last: Outcome["responseHeaders"] = {};

  of(headers: Headers): Outcome["responseHeaders"] {
    if (KEPT.every((name) => this.#last[name] === cut(headers[name]))) return this.#last;
    const kept: Record<string, string> = {};
    for (const name of KEPT) {
      const text = cut(headers[name]);
      if (text !== undefined) kept[name] = text;
    }
    return (this.#last = kept);
  }
}

function cut(value: string | string[] | undefined): string | undefined {
  const text = typeof value === "object" ? value[0] : value;
  return text === undefined || text.length <= KEPT_CHARS ? text : text.slice(0, KEPT_CHARS);
}
