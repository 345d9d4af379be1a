/**
 * Every request passes through this pipeline. `#answer` has the order of the checks (`docs/interface.md` §2), and every
 * error becomes a problem document, wherever it is thrown.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { PROBLEMS, WebhookdError } from "../../domain/errors.ts";
import { newId } from "../../domain/id.ts";
import type { ApiParts } from "../parts.ts";
import { allows, ANYONE, Authentication, OPERATOR, type Principal } from "./access.ts";
import { AuditTrail } from "./audit-trail.ts";
import {
  type BodyRules,
  BodyTurns,
  CALL_COST,
  ClientGone,
  hasDeclaredBody,
  mayHaveBody,
  mediaTypeOf,
  readBody,
  saysNothing,
  SHORT_BYTES,
} from "./body.ts";
import {
  type Exchange,
  isLong,
  newExchange,
  NO_PARAMS,
  whenClosed,
  write,
  type Header,
  notFound,
  problem,
  rejection,
  type Reply,
} from "./reply.ts";
import {
  costOf,
  type Holding,
  LongWork,
  OF_LONG_REFUSALS,
  OF_OPEN_ROUTES,
  OF_REFUSALS,
  OverShare,
  Pace,
  RateLimit,
  Shares,
  TenantRates,
} from "./limits.ts";
import { headFault } from "../server/request-head.ts";
import { hasDots, hostCheck, originCheck, originOf, pageHeaders, preflight, Proxies } from "./origin.ts";
import { parseQuery, type Query } from "./query.ts";
import { withinReach } from "./reach.ts";
import { BodyMemory } from "../server/body-memory.ts";
import { peerOf } from "../server/connections.ts";
import { Lines } from "../server/lines.ts";
import type { Reject } from "../server/listener.ts";
import type { PlainHead } from "../server/plain-head.ts";
import { type Plain, PlainRequest } from "../server/plain-requests.ts";
import { Repeats } from "./repeats.ts";
import { byPath, type Call, type Resource, type Route, type Served } from "./route.ts";
import type { FindResource } from "./router.ts";

const NO_HEADERS: readonly Header[] = [];
const NO_QUERY: Query = new Map();
const NO_BODY = new Uint8Array(0);
const BODILESS_MAX_BYTES = 64 * 1024;
const MAX_READS = 128;
/** Half of the connections that the listener accepts. */
const MAX_STREAMS = 256;

export class Pipeline {
  readonly #parts: ApiParts;
  /** Resources at paths without parameters. Most requests are for these, above all publishes. */
  readonly #fixed = new Map<string, Resource>();
  readonly #resources: ReadonlyMap<string, Resource>;
  /** Finds the resources at paths with parameters. Loaded with the first request that needs it. */
  #router: FindResource<Resource> | null = null;
  readonly #proxies: Proxies;
  readonly #checkHost: (req: IncomingMessage, open: boolean) => void;
  readonly #checkOrigin: (req: IncomingMessage, isTrusted: boolean) => void;
  /** Heads whose Host and Origin were already checked. Each connection has its own head objects. */
  readonly #admitted = new WeakSet<PlainHead>();
  readonly #authentication: Authentication;
  readonly #rateLimit: RateLimit | null;
  readonly #tenantRates: TenantRates;
  readonly #bodyTurns: BodyTurns;
  readonly #bodyMemory: BodyMemory;
  readonly #longWork: LongWork;
  readonly #shares: Shares;
  /** Serves only the unix socket, so that the operator always has capacity, whatever others do. */
  readonly #reserve: Shares;
  readonly #lines = new Lines();
  readonly #refusals: Pace;
  readonly #openRoutes: Pace;
  readonly #longRefusals: Pace;
  readonly #repeats: Repeats;
  readonly #trail: AuditTrail;

  constructor(routes: readonly Route[], parts: ApiParts) {
    const { server, limits } = parts.config;
    this.#parts = parts;
    this.#proxies = new Proxies(server.trustedProxies);
    this.#checkHost = hostCheck(server, this.#proxies);
    this.#checkOrigin = originCheck(server.allowedOrigins, (req) => [
      URL.parse(parts.portal().url)?.origin,
      originOf(req, server, this.#proxies),
    ]);
    this.#authentication = new Authentication(parts, this.#proxies);
    this.#rateLimit = server.rateLimit === 0 ? null : new RateLimit(server.rateLimit);
    this.#tenantRates = new TenantRates(parts.shares);
    this.#bodyTurns = new BodyTurns(parts.shares, (run) => parts.clock.nextTurn(run));
    this.#bodyMemory = new BodyMemory(parts.clock);
    this.#longWork = new LongWork(parts.clock, parts.shares);
    const most = { publishes: limits.commitQueue, bytes: limits.inFlightBytes, reads: MAX_READS, streams: MAX_STREAMS };
    this.#shares = new Shares(most);
    this.#reserve = new Shares(most);
    this.#refusals = new Pace(parts.clock, OF_REFUSALS);
    this.#openRoutes = new Pace(parts.clock, OF_OPEN_ROUTES);
    this.#longRefusals = new Pace(parts.clock, OF_LONG_REFUSALS);
    this.#repeats = new Repeats(parts.store, server.idempotency);
    this.#trail = new AuditTrail(parts);
    this.#resources = byPath(routes);
    for (const [path, resource] of this.#resources) if (!path.includes(":")) this.#fixed.set(path, resource);
  }

  /** Returns the resource at the request's path, or undefined if there is none. */
  async #find(exchange: Exchange): Promise<Resource | undefined> {
    if (hasDots(exchange.path) || !exchange.path.startsWith("/")) return undefined;
    if (this.#router === null) {
      const { createRouter } = await import("./router.ts");
      this.#router ??= createRouter(this.#resources);
    }
    const { path, params = NO_PARAMS, resource } = this.#router(exchange.path);
    Object.assign(exchange, { path, params });
    return resource;
  }

  /** `isTrusted` is true only for the unix socket, which needs no key and whose Host is not checked. */
  handler(isTrusted: boolean): (req: IncomingMessage, res: ServerResponse) => void {
    const { clock } = this.#parts;
    return (req, res) => {
      const exchange = newExchange({ req, res, isTrusted, requestId: this.newRequestId(), begun: clock.monotonic() });
      const begin = (): void => {
        this.#serve(exchange).catch((error: unknown) => this.#cutOff(exchange, error));
      };
      if (isTrusted) begin();
      else this.#lines.enter(exchange, begin);
    };
  }

  /**
   * For a listener that is not trusted. Only metered routes, the ones that publishers use, are read as plain requests.
   */
  plain(): Plain {
    const isMetered = ({ methods }: Resource) => methods.get("POST")?.route.body?.metered === true;
    const paths = [...this.#fixed].flatMap(([path, resource]) => (isMetered(resource) ? [path] : []));
    return { paths: new Set(paths), now: () => this.#parts.clock.now(), handle: this.handler(false) };
  }

  /** Returns a function that answers connections whose bytes do not form a request. */
  reject(): Reject {
    const turn = (socket: Socket) => {
      const { remoteAddress } = socket;
      // The unix socket has no address.
      if (remoteAddress === undefined) return null;
      return this.#lines.waitAlone(socket, () => this.#turn(this.#refusals, peerOf(remoteAddress)));
    };
    return rejection(
      () => this.newRequestId(),
      (socket) => turn(socket as Socket),
    );
  }

  newRequestId(): string {
    return newId("req", this.#parts.clock.now(), this.#parts.random(10));
  }

  async #answer(exchange: Exchange): Promise<Reply> {
    const { req, isTrusted, path } = exchange;
    const head = req instanceof PlainRequest ? req.head : null;
    const isAdmitted = head !== null && this.#admitted.has(head);
    const fault = isAdmitted ? null : headFault(req, isTrusted);
    if (fault !== null) throw new WebhookdError("bad_request", fault);
    const resource = this.#fixed.get(path) ?? (await this.#find(exchange));
    const isOpen = resource?.isOpen === true;
    if (!isAdmitted) {
      if (!isTrusted) this.#checkHost(req, isOpen);
      this.#checkOrigin(req, isTrusted);
      const asked = preflight(req);
      if (asked !== null) {
        await this.#wait(exchange, this.#openRoutes);
        return asked;
      }
      if (head !== null) this.#admitted.add(head);
    }

    const principal = isOpen ? ANYONE : isTrusted ? OPERATOR : await this.#authentication.authenticate(req);
    if (!isOpen && this.#parts.phase.now === "stopped") {
      throw new WebhookdError("shutting_down", "the daemon is stopping; try again in a moment");
    }
    exchange.caller = principal.account?.caller ?? null;
    if (exchange.caller !== null && !isTrusted) this.#lines.trust(req.socket);
    this.#countAgainstRate(principal, exchange);
    if (resource === undefined) throw notFound();
    const served = resource.methods.get(req.method === "HEAD" ? "GET" : req.method!);
    if (served === undefined) {
      exchange.allow = [...resource.methods.keys()].join(", ").replace("GET", "GET, HEAD");
      throw new WebhookdError("method_not_allowed", `this path takes ${exchange.allow}`);
    }
    exchange.route = served.name;
    if (isOpen) return this.#answerAnyone(exchange, served);
    const { audit } = served.route;
    if (audit === undefined) return this.#perform(exchange, served, principal);
    const object = () => exchange.object ?? exchange.params.id;
    const peer = isTrusted ? this.#parts.peers.of(req.socket) : null;
    const { requestId } = exchange;
    const act = { action: audit, principal, peer, object, requestId, now: this.#parts.clock.now() };
    return this.#trail.keep(act, () => this.#perform(exchange, served, principal));
  }

  /** Waits once for the work, and again if the answer turns out to be long. */
  async #answerAnyone(exchange: Exchange, served: Served): Promise<Reply> {
    await this.#wait(exchange, this.#openRoutes);
    const reply = await this.#perform(exchange, served, ANYONE);
    const more = costOf(reply.body) - 1;
    if (more > 0) await this.#wait(exchange, this.#openRoutes, more);
    return reply;
  }

  #countAgainstRate({ account }: Principal, exchange: Exchange): void {
    if (this.#rateLimit === null || account === null) return;
    const { headers, refusal } = this.#rateLimit.take(account, this.#parts.clock.monotonic());
    exchange.limit = headers;
    if (refusal !== null) throw refusal;
  }

  #countDrafts({ account }: Principal, drafts: Parameters<Call["carries"]>[0], exchange: Exchange): void {
    const now = this.#parts.clock.monotonic();
    if (this.#rateLimit !== null && account !== null && drafts.length > 1) {
      exchange.limit = this.#rateLimit.takeMore(account, drafts.length - 1, now);
    }
    this.#tenantRates.take(drafts, now);
  }

  #meter({ tenant }: Principal, holding: Holding, isTrusted: boolean): void {
    if (!isTrusted) this.#tenantRates.require(tenant, this.#parts.clock.monotonic());
    holding.take("publishes");
    this.#longWork.published(tenant);
  }

  async #perform(exchange: Exchange, { route, parameters }: Served, principal: Principal): Promise<Reply> {
    const { req, res, path, search, params, isTrusted } = exchange;
    if (!allows(principal, route.access)) {
      throw new WebhookdError("forbidden", `this key lacks the scope "${route.access}"`);
    }
    const shares = isTrusted ? this.#reserve : this.#shares;
    const holding = shares.of(principal.account);
    let isKept = false;
    // The body of a publish until the store may read it. Even after a failure the store may still be reading it.
    let unpublished: Uint8Array | null = null;
    try {
      if (route.body?.metered) this.#meter(principal, holding, isTrusted);
      if (route.method === "GET" && route.access !== "open") holding.take("reads");
      const turnOfCall = route.body?.metered || isTrusted ? null : this.#bodyTurns.take(principal.tenant, CALL_COST);
      if (turnOfCall !== null) await turnOfCall;
      const turn = (bytes: number) => this.#bodyTurns.take(principal.tenant, bytes);
      const { body, type } = await readTyped(exchange, route, holding, { turn, memory: this.#bodyMemory });
      if (route.body?.metered && !(req instanceof PlainRequest)) unpublished = body;
      const given = search === "" ? NO_QUERY : parseQuery(search, parameters);
      const isAbout = (id: string) => void (exchange.object = id);
      const asked = { principal, params, query: given, isAbout };
      const query = principal.endpoints === null ? given : await withinReach(this.#parts.store, route.reach, asked);
      const carries: Call["carries"] = (drafts) => {
        this.#countDrafts(principal, drafts, exchange);
        unpublished = null;
      };
      const stream = () => takeStream(shares.of(principal.account));
      const call: Call = {
        principal,
        path,
        params,
        query,
        headers: req.headers,
        body,
        type,
        now: this.#parts.clock.now(),
        isAbout,
        whenGone: (run) => whenClosed(res, run),
        carries,
        turn,
        inPieces: (pieces) => this.#longWork.run(principal.tenant, pieces),
        stream,
        origin: () => (isTrusted ? null : originOf(req, this.#parts.config.server, this.#proxies)),
      };
      const key = req.method === "POST" ? req.headers["idempotency-key"] : undefined;
      // Awaited here, because `finally` releases what the request holds.
      const reply = await (key === undefined ? route.handle(call) : this.#repeats.answer(route, call, key, path));
      if (!(req instanceof PlainRequest)) this.#bodyMemory.giveBack(body);
      unpublished = null;
      isKept = route.method === "GET" && isLong(reply.body);
      return reply;
    } finally {
      if (unpublished !== null) this.#bodyMemory.giveBack(unpublished);
      // A long answer stays in memory until the client has read it.
      if (isKept) whenClosed(res, () => holding.leave());
      else holding.leave();
    }
  }

  async #serve(exchange: Exchange): Promise<void> {
    try {
      this.#write(exchange, await this.#answer(exchange));
    } catch (error) {
      // The answer has begun. A second one would be taken for the answer to the next request.
      if (exchange.res.headersSent) throw error;
      if (isRepeatable(error, exchange)) await this.#wait(exchange, this.#refusals);
      else if (isLongRefusal(error, exchange)) {
        await this.#wait(exchange, this.#longRefusals, exchange.bodyBytes / SHORT_BYTES);
      }
      this.#write(exchange, this.#problem(error, exchange));
    }
  }

  /** Cuts the connection, because this request can no longer be answered. */
  #cutOff(exchange: Exchange, error: unknown): void {
    const { req, requestId, route, begun } = exchange;
    const { log, metrics, clock } = this.#parts;
    log.error(
      { request_id: requestId, error: lineOf(error) },
      "a request could not be answered; its connection was cut",
    );
    metrics.requests.took(route ?? "none", PROBLEMS.internal.status, clock.monotonic() - begun);
    req.socket.destroy();
  }

  async #wait(exchange: Exchange, pace: Pace, cost = 1): Promise<void> {
    if (exchange.isTrusted) return;
    exchange.hasWaited = true;
    const who = this.#whoIs(exchange);
    await this.#lines.wait(exchange, () => this.#turn(pace, who, cost));
  }

  /** Once the daemon is stopping, nobody has to wait. */
  #turn(pace: Pace, who: string, cost = 1): Promise<void> | null {
    return this.#parts.phase.now === "serving" ? pace.turn(who, cost) : null;
  }

  /** Returns the caller's account, or the network that the request came from. */
  #whoIs({ caller, req }: Exchange): string {
    return caller ?? peerOf(this.#proxies.clientOf(req));
  }

  #write(exchange: Exchange, reply: Reply): void {
    const { metrics, clock, config } = this.#parts;
    const { allowedOrigins } = config.server;
    const forPages = allowedOrigins.length === 0 ? NO_HEADERS : pageHeaders(allowedOrigins, exchange.req);
    write(exchange, reply, forPages, (error) => this.#cutOff(exchange, error));
    metrics.requests.took(exchange.route ?? "none", reply.status, clock.monotonic() - exchange.begun);
    if (!exchange.isTrusted) this.#lines.answered(exchange);
  }

  #problem(error: unknown, exchange: Exchange): Reply {
    const shown = error instanceof WebhookdError ? error : this.#errorToShow(error, exchange);
    const headers: Header[] = exchange.allow === undefined ? [] : [["allow", exchange.allow]];
    return problem(shown, exchange.requestId, headers);
  }

  /** Only the log names an unforeseen error, and in one line: a stack trace or a longer message could contain data. */
  #errorToShow(error: unknown, { req, requestId }: Exchange): WebhookdError {
    const { log } = this.#parts;
    const fields = { request_id: requestId, client: this.#proxies.clientOf(req) };
    if (error instanceof ClientGone) {
      log.info(fields, "a client went away before its request was complete");
      return new WebhookdError("bad_request", "the request is not complete");
    }
    log.error({ ...fields, error: lineOf(error) }, "a request failed because of an internal error");
    return new WebhookdError("internal", "something went wrong in webhookd; the log has more under this request id");
  }
}

function lineOf(error: unknown): string {
  return error instanceof Error ? `${error.name}: ${error.message}` : `${typeof error}: `;
}

/** True if anyone can cause this error repeatedly: without a good key, or by asking for more than a share. */
function isRepeatable(error: unknown, { caller, hasWaited }: Exchange): boolean {
  if (error instanceof OverShare) return true;
  return caller === null && !hasWaited && error instanceof WebhookdError && PROBLEMS[error.code].status < 500;
}

/** True if a long body was read for nothing. Refusing a short one costs less than accepting it. */
function isLongRefusal(error: unknown, { bodyBytes }: Exchange): boolean {
  return bodyBytes > SHORT_BYTES && error instanceof WebhookdError && PROBLEMS[error.code].status < 500;
}

function takeStream(holding: Holding): Holding {
  holding.take("streams");
  return holding;
}

async function readTyped(
  exchange: Exchange,
  route: Route,
  holding: Holding,
  rules: Pick<BodyRules, "turn" | "memory">,
) {
  const { req, res } = exchange;
  let type = hasDeclaredBody(req) ? mediaTypeOf(req, route.body?.types) : "";
  const maxBytes = route.body?.maxBytes ?? BODILESS_MAX_BYTES;
  const hold = (bytes: number) => {
    // Only the first bytes of a chunked request show that it has a body, and so needs a type.
    if (bytes > 0) type ||= mediaTypeOf(req, route.body?.types);
    if (route.body?.metered) holding.take("bytes", bytes);
    exchange.bodyBytes += bytes;
  };
  const body = mayHaveBody(req) ? await readBody(req, res, { ...rules, maxBytes, hold }) : NO_BODY;
  if (route.body !== undefined || body.length === 0) return { body, type };
  // Some clients send an empty object with every request except GET.
  if (route.method !== "GET" && saysNothing(body)) return { body: NO_BODY, type: "" };
  throw new WebhookdError("bad_request", "this route takes no body");
}
