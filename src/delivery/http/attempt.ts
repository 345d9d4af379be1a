import type { Dispatcher } from "undici";
import { answered, type BodyError, noResponse, type Outcome, type Phases } from "../../domain/deliveries/attempt.ts";
import type { Connection, Connections } from "./connections.ts";
import { Timed } from "./deadline.ts";
import type { Opening } from "./egress-guard.ts";
import type { Egress } from "./egress.ts";
import { bodyErrorOf, Fault, faultOf, isReset } from "./fault.ts";
import { KeptBody, type Headers, type KeptHeaders } from "./response.ts";

/** A signed request, in the shape that undici's `dispatch` takes. undici adds host, connection and content-length. */
export interface SignedRequest {
  readonly method: "POST";
  readonly path: string;
  /** Names and values by turns, in the order and case of the wire. */
  readonly headers: string[];
  /** The signed bytes; content-length is taken from this same buffer. */
  readonly body: Uint8Array;
  /** A test's response is kept whole even when it succeeded. */
  readonly keepsAll: boolean;
}

/** RFC 9110 sets no limit, and undici reads them for ever. */
const MAX_INFORMATIONAL = 20;
const MAX_BODY_BYTES = 16 * 1024;
const SUCCESS_KEPT_BYTES = 256;
const NO_BODY = new Uint8Array(0);
const ENOUGH = new Fault("connection_closed", "the attempt has ended");

type Controller = Dispatcher.DispatchController;

/**
 * One POST on its way: undici's handler. The final header block decides it; the body comes after, is bounded in bytes
 * and time, and changes nothing. Whatever happens after the end is ignored.
 */
export class Attempt extends Timed implements Dispatcher.DispatchHandler {
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
  #controller: Controller | null = null;
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

  onRequestStart(controller: Controller): void {
    this.#controller = controller;
    this.#connection.serve();
  }

  onResponseStarted(): void {
    this.#firstByteAt ??= this.#egress.clock.monotonic();
  }

  onResponseStart(controller: Controller, status: number, headers: Headers): void {
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

  onResponseData(controller: Controller, chunk: Uint8Array): void {
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

  onResponseError(_controller: Controller | null, error: Error): void {
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
      durationMs: this.#sinceStart(this.#decidedAt),
      remoteAddress: this.#connection.opening?.remoteAddress ?? null,
      phases: this.#phases(),
      responseHeaders: this.#keptHeaders.of(this.#headers),
      responseBody: this.#body?.bytes() ?? NO_BODY,
      responseTruncated: this.#body?.truncated ?? false,
      ours: false,
    });
  }

  #fail(fault: Fault): void {
    const duration = this.#sinceStart(this.#egress.clock.monotonic());
    const remoteAddress = this.#connection.opening?.remoteAddress ?? null;
    const { evidence } = fault;
    if (evidence === "shortage") this.#egress.shortAt = this.#egress.clock.monotonic();
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

  #sinceStart(at: number): number;
  #sinceStart(at: number | null): number | null;
  #sinceStart(at: number | null): number | null {
    return at === null ? null : Math.round(at - this.#startedAt);
  }
}
