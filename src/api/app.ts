/**
 * One h3 application over a table of routes. `answer` is the order of checks (`interface.md` §2); every error, wherever
 * it is thrown, becomes one problem document in `onError`.
 */
import { randomFillSync } from "node:crypto";
import { STATUS_CODES, type IncomingMessage, type ServerResponse } from "node:http";
import { Readable } from "node:stream";
import { H3, type H3Event, HTTPError } from "h3";
import { FastResponse } from "srvx";
import { toNodeHandler } from "srvx/node";
import { WebhookdError } from "../domain/errors.ts";
import { catalogue } from "../domain/event-type.ts";
import { newId } from "../domain/id.ts";
import { allows, ANYONE, Authentication, OPERATOR, type Principal } from "./authentication.ts";
import { auditRoutes } from "./audit.ts";
import { AuditTrail } from "./audit-trail.ts";
import { ClientGone, hasDeclaredBody, mayHaveBody, mediaTypeOf, readBody } from "./body.ts";
import { backupRoutes } from "./backups.ts";
import { secretKeyRoutes } from "./secret-key.ts";
import { brakeRoutes } from "./brake.ts";
import { pageHeaders, preflight } from "./cors.ts";
import { deliveryRoutes } from "./deliveries.ts";
import { descriptionRoutes } from "./description.ts";
import { replacementRoutes } from "./endpoint-replacement.ts";
import { endpointRoutes } from "./endpoints.ts";
import { eventRoutes } from "./events.ts";
import { eventTypeRoutes } from "./event-types.ts";
import { failureRoutes } from "./failures.ts";
import { healthRoutes } from "./health.ts";
import { Intake } from "./intake.ts";
import { jobRoutes } from "./jobs.ts";
import { keyRoutes } from "./keys.ts";
import { checkFraming, hasDots, hostCheck, originCheck } from "./origin.ts";
import type { ApiParts } from "./parts.ts";
import { metricsRoutes } from "./metrics.ts";
import { notFound, problem } from "./problem.ts";
import { publishRoutes } from "./publish.ts";
import { Proxies } from "./proxies.ts";
import { parseQuery } from "./query.ts";
import { rejection, type Reject } from "./rejection.ts";
import { RateLimit } from "./rate-limit.ts";
import { idempotencyKeyOf, Repeats } from "./repeats.ts";
import type { Header, Reply, Route } from "./route.ts";
import { secretRoutes } from "./secrets.ts";
import { streamRoutes } from "./stream.ts";
import { statusRoutes } from "./status.ts";
import { tenantRoutes } from "./tenants.ts";
import { statisticsRoutes } from "./statistics.ts";
import { testEventRoutes } from "./test-events.ts";
import { withdrawalRoutes } from "./withdrawals.ts";

export type NodeHandler = (req: IncomingMessage, res: ServerResponse) => void;

export interface Api {
  /** `trusted` is for the unix socket alone: no key is asked for, and no Host is compared. */
  handler(trusted: boolean): NodeHandler;
  readonly routes: readonly Route[];
  /** For what never becomes a request. */
  readonly reject: Reject;
}

/** The routes of one path, by method. */
type Resource = ReadonlyMap<string, Route>;

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

type Optional = "random" | "catalogue" | "departures" | "damaged";

export function createApi(given: Omit<ApiParts, Optional> & Partial<Pick<ApiParts, Optional>>): Api {
  const parts: ApiParts = {
    random: pooledRandom(),
    departures: () => [],
    damaged: () => [],
    catalogue: { types: catalogue(given.config.eventTypes), checkData: undefined },
    ...given,
  };
  const { clock, config, log } = parts;
  const proxies = new Proxies(config.server.trustedProxies);
  const authentication = new Authentication(parts, proxies);
  const trail = new AuditTrail(parts.store, log);
  const intake = new Intake(config.limits.commitQueue, config.limits.inFlightBytes);
  const checkHost = hostCheck(config.server, proxies);
  const { allowedOrigins, idempotency, rateLimit: perSecond } = config.server;
  const rateLimit = perSecond === 0 ? null : new RateLimit(perSecond);
  const repeats = new Repeats(parts.store, idempotency);
  const checkOrigin = originCheck(allowedOrigins);

  const app = new H3({ silent: true, onError });
  const { types } = parts.catalogue;
  const table: Route[] = [
    ...healthRoutes(parts),
    ...metricsRoutes(parts),
    ...publishRoutes(parts, types),
    ...eventRoutes(parts),
    ...eventTypeRoutes(types),
    ...withdrawalRoutes(parts),
    ...deliveryRoutes(parts),
    ...jobRoutes(parts),
    ...failureRoutes(parts),
    ...statisticsRoutes(parts),
    ...streamRoutes(parts),
    ...endpointRoutes(parts, types),
    ...replacementRoutes(parts, types),
    ...secretRoutes(parts),
    ...testEventRoutes(parts, types),
    ...keyRoutes(parts),
    ...auditRoutes(parts),
    ...statusRoutes(parts),
    ...brakeRoutes(parts),
    ...backupRoutes(parts),
    ...secretKeyRoutes(parts),
    ...tenantRoutes(parts),
    ...descriptionRoutes(parts, types, () => table),
  ];
  const known = new Map(
    table.map((route) => [route, route.query === "any" ? null : (route.query ?? []).map(({ name }) => name)]),
  );
  for (const [path, resource] of byPath(table)) app.all(path, (event) => answer(event, resource));
  app.all("/**", (event) => answer(event, undefined));

  async function answer(event: H3Event, found: Resource | undefined): Promise<Response> {
    const req = event.runtime!.node!.req as IncomingMessage;
    const context = event.context as unknown as Context;
    const resource = hasDots(req) ? undefined : found;
    const open = resource?.values().next().value?.access === "open";
    checkFraming(req);
    if (!context.trusted) checkHost(req, open);
    checkOrigin(req);
    const asked = preflight(req);
    if (asked !== null) return respond(asked, event);

    const route = resource?.get(req.method === "HEAD" ? "GET" : req.method!);
    const principal = open ? ANYONE : context.trusted ? OPERATOR : await authentication.authenticate(req);
    if (!open && parts.phase() === "stopped") {
      throw new WebhookdError("shutting_down", "the daemon is stopping; try again in a moment");
    }
    if (rateLimit !== null && principal.keyId !== null) {
      const { headers, refusal } = rateLimit.take(principal.keyId, clock.monotonic());
      context.limit = headers;
      if (refusal !== null) throw refusal;
    }
    if (resource === undefined) throw notFound();
    if (route !== undefined) context.route = nameOf(route);
    if (route === undefined) {
      context.allow = [...resource.keys()].join(", ").replace("GET", "GET, HEAD");
      throw new WebhookdError("method_not_allowed", `this path takes ${context.allow}`);
    }
    if (route.audit === undefined) return respond(await perform(req, event, route, principal), event);
    const requestId = requestIdOf(context);
    const object = () => context.object ?? event.context.params?.id;
    const peer = context.trusted ? parts.peers.of(req.socket) : null;
    const act = { action: route.audit, principal, peer, object, requestId, now: clock.now() };
    return respond(await trail.keep(act, () => perform(req, event, route, principal)), event);
  }

  async function perform(req: IncomingMessage, event: H3Event, route: Route, principal: Principal): Promise<Reply> {
    if (!allows(principal, route.access)) {
      throw new WebhookdError("forbidden", `this key lacks the scope "${route.access}"`);
    }
    let type = hasDeclaredBody(req) ? mediaTypeOf(req, route.body?.types) : "";
    const ticket = route.body?.metered ? intake.enter() : undefined;
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
      const query = parseQuery(event.url.search, known.get(route)!);
      const params = event.context.params ?? {};
      const { headers } = req;
      const whenGone = (run: () => void) => onClose(event.runtime!.node!.res as ServerResponse, run);
      const isAbout = (id: string) => void ((event.context as unknown as Context).object = id);
      const call = { principal, params, query, headers, body, type, now: clock.now(), isAbout, whenGone };
      const key = idempotencyKeyOf(req);
      return await (key === undefined ? route.handle(call) : repeats.answer(route, call, key, event.url.pathname));
    } finally {
      ticket?.leave();
    }
  }

  function onError(error: HTTPError, event: H3Event): Response {
    const context = event.context as unknown as Context;
    const requestId = requestIdOf(context);
    const cause = error.unhandled ? error.cause : error;
    const shown = cause instanceof WebhookdError ? cause : errorToShow(cause, event, requestId);
    return respond(problem(shown, requestId, context.allow === undefined ? [] : [["allow", context.allow]]), event);
  }

  /** What nobody foresaw is named in the log alone, in one line: a stack or a message could hold what it worked on. */
  function errorToShow(error: unknown, event: H3Event, requestId: string): WebhookdError {
    const fields = { request_id: requestId, client: proxies.clientOf(event.runtime!.node!.req as IncomingMessage) };
    if (error instanceof ClientGone) {
      log.info(fields, "a client went away before its request was complete");
      return new WebhookdError("bad_request", "the request is not complete");
    }
    if (HTTPError.isError(error) && error.status < 500) {
      return new WebhookdError("bad_request", "the request target is malformed");
    }
    const { name, message } = error instanceof Error ? error : { name: typeof error, message: "" };
    log.error({ ...fields, error: `${name}: ${message}` }, "a request failed by our own fault");
    return new WebhookdError("internal", "something went wrong on our side; the log has more under this request id");
  }

  const newRequestId = () => newId("req", clock.now(), parts.random(10));

  function requestIdOf(context: Context): string {
    return (context.requestId ??= newRequestId());
  }

  /** srvx's own response: headers go to Node as they are, without a Headers object that costs more than the rest. */
  function respond({ status, type, body, headers: own }: Reply, event: H3Event): Response {
    const req = event.runtime!.node!.req as IncomingMessage;
    const context = event.context as unknown as Context;
    const headers: Header[] = [
      ["x-request-id", requestIdOf(context)],
      ["cache-control", "no-store"],
      ...pageHeaders(allowedOrigins, req),
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

  return {
    routes: table,
    reject: rejection(newRequestId),
    handler: (trusted) =>
      toNodeHandler(async (request) => {
        const context: Context = { trusted };
        const begun = clock.monotonic();
        const response = await app.fetch(Object.assign(request, { context }) as unknown as Request);
        parts.metrics.requests.took(context.route ?? "none", response.status, clock.monotonic() - begun);
        return response;
      }) as NodeHandler,
  };
}

function onClose(res: ServerResponse, run: () => void): () => void {
  if (res.destroyed) queueMicrotask(run);
  else res.once("close", run);
  return () => void res.off("close", run);
}

function nameOf({ method, path }: Route): string {
  return `${method} ${path}`;
}

function byPath(routes: readonly Route[]): Map<string, Map<string, Route>> {
  const resources = new Map<string, Map<string, Route>>();
  for (const route of routes) {
    const resource = resources.get(route.path) ?? new Map<string, Route>();
    resources.set(route.path, resource.set(route.method, route));
  }
  return resources;
}

/** One call of the generator for many small draws. */
function pooledRandom(): (length: number) => Uint8Array {
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
