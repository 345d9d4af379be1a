/**
 * The one way that every request takes, whatever it is about: `#answer` is the order of checks (`docs/interface.md` §2), and
 * every error, wherever it is thrown, becomes one problem document.
 */
import { randomFillSync } from "node:crypto";
import { STATUS_CODES, type IncomingMessage, type ServerResponse } from "node:http";
import { Readable } from "node:stream";
import { H3, type H3Event, HTTPError } from "h3";
import { FastResponse } from "srvx";
import { toNodeHandler } from "srvx/node";
import { WebhookdError } from "../../domain/errors.ts";
import { newId } from "../../domain/id.ts";
import type { ApiParts } from "../parts.ts";
import { allows, ANYONE, Authentication, OPERATOR, type Principal } from "./access.ts";
import { AuditTrail } from "./audit-trail.ts";
import { ClientGone, hasDeclaredBody, Intake, mayHaveBody, mediaTypeOf, readBody } from "./body.ts";
import { RateLimit } from "./limits.ts";
import { checkFraming, hasDots, hostCheck, originCheck, pageHeaders, preflight, Proxies } from "./origin.ts";
import { notFound, problem, type Header, type Reply } from "./reply.ts";
import { parseQuery } from "./query.ts";
import { Repeats } from "./repeats.ts";
import type { Call, Route } from "./route.ts";

export interface Served {
  readonly route: Route;
  /** What it is called in metrics. */
  readonly name: string;
  /** The query parameters it takes; null: any, and none is looked at. */
  readonly parameters: readonly string[] | null;
}

/** What is served at one path, by method. */
type Resource = ReadonlyMap<string, Served>;

interface Context {
  readonly trusted: boolean;
  requestId?: string;
  allow?: string;
  /** What is left of the key's rate. */
  limit?: readonly Header[];
  /** The id of what it is about, where the path does not say it. */
  object?: string;
  /** What the request is called in metrics. */
  route?: string;
}

const NO_BODY = new Uint8Array(0);
const BODILESS_MAX_BYTES = 64 * 1024;

export class Pipeline {
  readonly #parts: ApiParts;
  readonly #app: H3;
  readonly #proxies: Proxies;
  readonly #checkHost: (req: IncomingMessage, open: boolean) => void;
  readonly #checkOrigin: (req: IncomingMessage) => void;
  readonly #authentication: Authentication;
  readonly #rateLimit: RateLimit | null;
  readonly #intake: Intake;
  readonly #repeats: Repeats;
  readonly #trail: AuditTrail;

  constructor(routes: readonly Route[], parts: ApiParts) {
    const { server, limits } = parts.config;
    this.#parts = parts;
    this.#proxies = new Proxies(server.trustedProxies);
    this.#checkHost = hostCheck(server, this.#proxies);
    this.#checkOrigin = originCheck(server.allowedOrigins);
    this.#authentication = new Authentication(parts, this.#proxies);
    this.#rateLimit = server.rateLimit === 0 ? null : new RateLimit(server.rateLimit);
    this.#intake = new Intake(limits.commitQueue, limits.inFlightBytes);
    this.#repeats = new Repeats(parts.store, server.idempotency);
    this.#trail = new AuditTrail(parts.store, parts.log);
    this.#app = new H3({ silent: true, onError: (error, event) => this.#problem(error, event) });
    for (const [path, resource] of byPath(routes)) this.#app.all(path, (event) => this.#answer(event, resource));
    this.#app.all("/**", (event) => this.#answer(event, undefined));
  }

  /** `trusted` is for the unix socket alone: no key is asked for, and no Host is compared. */
  handler(trusted: boolean): (req: IncomingMessage, res: ServerResponse) => void {
    const { clock, metrics } = this.#parts;
    return toNodeHandler(async (request) => {
      const context: Context = { trusted };
      const begun = clock.monotonic();
      const response = await this.#app.fetch(Object.assign(request, { context }) as unknown as Request);
      metrics.requests.took(context.route ?? "none", response.status, clock.monotonic() - begun);
      return response;
    }) as (req: IncomingMessage, res: ServerResponse) => void;
  }

  newRequestId(): string {
    return newId("req", this.#parts.clock.now(), this.#parts.random(10));
  }

  async #answer(event: H3Event, found: Resource | undefined): Promise<Response> {
    const req = requestOf(event);
    const context = contextOf(event);
    const resource = hasDots(req) ? undefined : found;
    const open = resource?.values().next().value?.route.access === "open";
    checkFraming(req);
    if (!context.trusted) this.#checkHost(req, open);
    this.#checkOrigin(req);
    const asked = preflight(req);
    if (asked !== null) return this.#respond(asked, event);

    const principal = open ? ANYONE : context.trusted ? OPERATOR : await this.#authentication.authenticate(req);
    if (!open && this.#parts.phase() === "stopped") {
      throw new WebhookdError("shutting_down", "the daemon is stopping; try again in a moment");
    }
    this.#countAgainstRate(principal, context);
    if (resource === undefined) throw notFound();
    const served = resource.get(req.method === "HEAD" ? "GET" : req.method!);
    if (served === undefined) {
      context.allow = [...resource.keys()].join(", ").replace("GET", "GET, HEAD");
      throw new WebhookdError("method_not_allowed", `this path takes ${context.allow}`);
    }
    context.route = served.name;
    const perform = () => this.#perform(event, served, principal);
    const { audit } = served.route;
    if (audit === undefined) return this.#respond(await perform(), event);
    const object = () => context.object ?? event.context.params?.id;
    const peer = context.trusted ? this.#parts.peers.of(req.socket) : null;
    const act = {
      action: audit,
      principal,
      peer,
      object,
      requestId: this.#idOf(context),
      now: this.#parts.clock.now(),
    };
    return this.#respond(await this.#trail.keep(act, perform), event);
  }

  #countAgainstRate({ keyId }: Principal, context: Context): void {
    if (this.#rateLimit === null || keyId === null) return;
    const { headers, refusal } = this.#rateLimit.take(keyId, this.#parts.clock.monotonic());
    context.limit = headers;
    if (refusal !== null) throw refusal;
  }

  async #perform(event: H3Event, { route, parameters }: Served, principal: Principal): Promise<Reply> {
    if (!allows(principal, route.access)) {
      throw new WebhookdError("forbidden", `this key lacks the scope "${route.access}"`);
    }
    const req = requestOf(event);
    let type = hasDeclaredBody(req) ? mediaTypeOf(req, route.body?.types) : "";
    const ticket = route.body?.metered ? this.#intake.enter() : undefined;
    try {
      const maxBytes = route.body?.maxBytes ?? BODILESS_MAX_BYTES;
      const hold = (bytes: number) => {
        // Of what comes in chunks only its first bytes tell that it is a body, and that it needs a type.
        if (bytes > 0) type ||= mediaTypeOf(req, route.body?.types);
        ticket?.hold(bytes);
      };
      const body = mayHaveBody(req) ? await readBody(req, maxBytes, hold) : NO_BODY;
      if (route.body === undefined && body.length > 0) {
        throw new WebhookdError("bad_request", "this route takes no body");
      }
      const query = parseQuery(event.url.search, parameters);
      const params = event.context.params ?? {};
      const { headers } = req;
      const whenGone = (run: () => void) => onClose(event.runtime!.node!.res as ServerResponse, run);
      const isAbout = (id: string) => void (contextOf(event).object = id);
      const now = this.#parts.clock.now();
      const call: Call = { principal, params, query, headers, body, type, now, isAbout, whenGone };
      const key = req.method === "POST" ? headers["idempotency-key"] : undefined;
      // Awaited here: the ticket is given back once it is answered.
      return await (key === undefined
        ? route.handle(call)
        : this.#repeats.answer(route, call, key, event.url.pathname));
    } finally {
      ticket?.leave();
    }
  }

  #problem(error: HTTPError, event: H3Event): Response {
    const context = contextOf(event);
    const cause = error.unhandled ? error.cause : error;
    const shown = cause instanceof WebhookdError ? cause : this.#errorToShow(cause, event);
    const headers: Header[] = context.allow === undefined ? [] : [["allow", context.allow]];
    return this.#respond(problem(shown, this.#idOf(context), headers), event);
  }

  /** What nobody foresaw is named in the log alone, in one line: a stack or a message could hold what it worked on. */
  #errorToShow(error: unknown, event: H3Event): WebhookdError {
    const { log } = this.#parts;
    const fields = { request_id: this.#idOf(contextOf(event)), client: this.#proxies.clientOf(requestOf(event)) };
    if (error instanceof ClientGone) {
      log.info(fields, "a client went away before its request was complete");
      return new WebhookdError("bad_request", "the request is not complete");
    }
    if (HTTPError.isError(error) && error.status < 500) {
      return new WebhookdError("bad_request", "the request target is malformed");
    }
    const { name, message } = error instanceof Error ? error : { name: typeof error, message: "" };
    log.error({ ...fields, error: `${name}: ${message}` }, "a request failed because of an internal error");
    return new WebhookdError("internal", "something went wrong on our side; the log has more under this request id");
  }

  /** srvx's own response: headers go to Node as they are, without a Headers object that costs more than the rest. */
  #respond({ status, type, body, headers: own }: Reply, event: H3Event): Response {
    const req = requestOf(event);
    const context = contextOf(event);
    const headers: Header[] = [
      ["x-request-id", this.#idOf(context)],
      ["cache-control", "no-store"],
      ...pageHeaders(this.#parts.config.server.allowedOrigins, req),
    ];
    if (body !== null) headers.push(["content-type", type]);
    if (context.limit !== undefined) headers.push(...context.limit);
    if (own !== undefined) headers.push(...own);
    const isHead = req.method === "HEAD";
    // Whoever asks for the headers alone wants this one as well (RFC 9110 9.3.2), and h3 would lose it with the body.
    if (isHead && typeof body === "string") headers.push(["content-length", String(Buffer.byteLength(body))]);
    // Nobody will read a stream to its end, which is what ends it.
    if (isHead && body instanceof Readable) body.destroy();
    const init = { status, statusText: STATUS_CODES[status], headers: headers as [string, string][] };
    return new FastResponse(isHead ? null : body, init);
  }

  #idOf(context: Context): string {
    return (context.requestId ??= this.newRequestId());
  }
}

function requestOf(event: H3Event): IncomingMessage {
  return event.runtime!.node!.req as IncomingMessage;
}

function contextOf(event: H3Event): Context {
  return event.context as unknown as Context;
}

function onClose(res: ServerResponse, run: () => void): () => void {
  if (res.destroyed) queueMicrotask(run);
  else res.once("close", run);
  return () => void res.off("close", run);
}

function byPath(routes: readonly Route[]): Map<string, Map<string, Served>> {
  const resources = new Map<string, Map<string, Served>>();
  for (const route of routes) {
    const { method, path, query = [] } = route;
    const parameters = query === "any" ? null : query.map(({ name }) => name);
    const resource = resources.get(path) ?? new Map<string, Served>();
    resources.set(path, resource.set(method, { route, name: `${method} ${path}`, parameters }));
  }
  return resources;
}

/** One call of the generator for many small draws. */
export function pooledRandom(): (length: number) => Uint8Array {
  let pool = Buffer.alloc(0);
  let used = 0;
  return (length) => {
    if (used + length > pool.length) {
      pool = randomFillSync(Buffer.allocUnsafeSlow(Math.max(4096, length)));
      used = 0;
    }
    used += length;
    return pool.subarray(used - length, used);
  };
}
