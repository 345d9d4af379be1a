/**
 * Routes for operators that control sending. During a pause no attempt starts, and publishes are still accepted.
 * Draining a node that shares its store makes it give up its endpoints to the others.
 */
import * as v from "valibot";
import { formatInstant, formatInstantOrNull } from "../../domain/time/instant.ts";
import { type Pause as CurrentPause, type Halt as CurrentHalt, HALT_REASONS } from "../../domain/deliveries/pause.ts";
import type { ApiParts } from "../parts.ts";
import { requireEveryTenant } from "../pipeline/access.ts";
import { type Call, type Route, type Operation } from "../pipeline/route.ts";
import { json, notFound, type Reply } from "../pipeline/reply.ts";
import { Count, line, titled, described, Instant } from "../pipeline/shapes.ts";
import type { StoreNode } from "../../store/store.ts";
import { readJson } from "../pipeline/body.ts";

export const PauseRequest = titled(
  "PauseRequest",
  v.strictObject({
    reason: v.pipe(
      described(line(256), "The reason, for the next person who looks."),
      v.check((text) => text.trim() !== "", "invalid_type: must say why"),
      v.metadata({ minLength: 1 }),
    ),
  }),
);

export const Pause = titled(
  "Pause",
  v.object({
    reason: v.string(),
    by: described(v.string(), "The key that was used, `socket`, `serve --paused`, or `restore`."),
    at: Instant,
    saved: described(v.boolean(), "False if the disk is full: until there is space, a restart forgets it."),
  }),
);

export const Halt = titled(
  "Halt",
  v.object({
    reason: described(
      v.picklist(HALT_REASONS),
      "`operator`: all sending is paused. `unrecorded`: results of attempts cannot be recorded. `unreachable`: nothing can be reached, or this host has no route or no DNS. `shortage`: this host is short of file descriptors, memory or something else that attempts need. `lease`: another process may have taken over the PostgreSQL database, because this one could not renew its lease. `stopping`: the daemon is stopping.",
    ),
    since: Instant,
    detail: described(v.string(), "The reason, in a sentence."),
  }),
);

export const Paused = described(
  v.nullable(Pause),
  "While all sending is paused: since when, by whom and why. Otherwise null.",
);
export const PauseAnswer = titled("PauseAnswer", v.object({ paused: Paused }));
export const ResumeAnswer = titled(
  "ResumeAnswer",
  v.object({
    paused: Paused,
    was_paused: described(v.boolean(), "Whether sending was paused until this call. If it was not, nothing changed."),
  }),
);

export const aPause = {
  reason: "the receiver's operators asked for it",
  by: "key_06fbqxv0d8r2s4t6v8w0x2y4z6",
  at: "2026-11-20T09:50:00.000Z",
  saved: true,
};

export const aHalt = {
  reason: "unreachable",
  since: "2026-11-20T09:50:00.000Z",
  detail: "no DNS resolver could be reached",
} as const;

export const pauseDaemon: Operation = {
  id: "pauseDaemon",
  tag: "Daemon",
  summary: "Stop all attempts",
  description:
    "Once this call returns, no attempt starts until somebody resumes sending: no test event, no manual attempt, and none after a restart. Attempts that are already on the wire are recorded, and events are still accepted. If sending is already paused, the first reason is kept.",
  example: { reason: aPause.reason },
  replies: { 200: { description: "All sending was paused.", schema: PauseAnswer, example: { paused: aPause } } },
};

export const resumeDaemon: Operation = {
  id: "resumeDaemon",
  tag: "Daemon",
  summary: "Resume all sending",
  description: "Deliveries that fell due in the meantime are attempted now, at a pace that each endpoint can take.",
  replies: {
    200: { description: "Sending is not paused.", schema: ResumeAnswer, example: { paused: null, was_paused: true } },
  },
};

export function pauseRoutes({ store, deliveries, log }: ApiParts): Route[] {
  async function pause({ principal, body, now }: Call): Promise<Reply> {
    requireEveryTenant(principal);
    const { reason } = readJson(body, PauseRequest);
    // Commit the pause first: if the daemon crashes now, it must still be paused when it starts again.
    const holding = await store.operations.pause({ reason, by: principal.keyId ?? "socket", at: now });
    await deliveries.pause();
    const shown = presentPause(holding);
    log.warn(
      shown,
      shown.saved
        ? "paused: no attempt starts until somebody resumes sending"
        : "paused, but the disk is too full to save this: no attempt starts until somebody resumes sending or the daemon restarts",
    );
    // The audit log could not be written either, so the daemon's log says who paused.
    return { ...json(200, { paused: shown }), ...(!shown.saved && { isAudited: false }) };
  }

  async function resume({ principal }: Call): Promise<Reply> {
    requireEveryTenant(principal);
    const before = await store.operations.getPause();
    const wasOn = await store.operations.resume();
    deliveries.resume();
    if (wasOn) log.info({ by: principal.keyId ?? "socket" }, "resumed: attempts start again");
    return { ...json(200, { paused: null, was_paused: wasOn }), ...(before?.saved === false && { isAudited: false }) };
  }

  return [
    {
      method: "POST",
      path: "/v1/pause",
      access: "admin",
      body: { maxBytes: 64 * 1024, schema: PauseRequest },
      audit: "daemon.pause",
      growth: "folds",
      operation: pauseDaemon,
      handle: pause,
    },
    {
      method: "POST",
      path: "/v1/resume",
      access: "admin",
      audit: "daemon.resume",
      growth: "folds",
      operation: resumeDaemon,
      handle: resume,
    },
  ];
}

export function presentPause({ reason, by, at, saved = true }: CurrentPause) {
  return { reason, by, at: formatInstant(at), saved };
}

/** The operator who ordered a pause described it, so use those words. */
export function presentHalt({ reason, since, detail }: CurrentHalt, pause: CurrentPause | null) {
  if (reason !== "operator" || pause === null) return { reason, since: formatInstant(since), detail };
  return { reason, since: formatInstant(pause.at), detail: `all sending was paused by ${pause.by}: ${pause.reason}` };
}

export const Node = titled(
  "Node",
  v.object({
    name: described(v.string(), "The name of its host, with a number if another node already has that name."),
    host: v.string(),
    pid: Count,
    version: v.string(),
    this: described(v.boolean(), "Whether this is the node that answered."),
    since: described(Instant, "When it was started."),
    renewed_at: described(Instant, "When it last renewed its lease, which it does every second."),
    lost: described(v.boolean(), "Whether its lease has run out; if so, the other nodes take over what it has."),
    draining: described(v.boolean(), "Whether it is giving up its endpoints and taking no more."),
    slots: described(Count, "How many of the 1,024 slots it has."),
    endpoints: described(Count, "How many endpoints are in its slots, counted within the last 10 s."),
    in_flight: described(Count, "Attempts on the wire."),
    oldest_due_at: described(
      v.nullable(Instant),
      "When the oldest due delivery of its endpoints fell due; null if none is due.",
    ),
    not_sending: described(
      v.array(v.picklist(HALT_REASONS)),
      "Why it is sending nothing now, or less than it could: the same reasons as in `getStatus`.",
    ),
    clock_ahead_ms: described(
      v.nullable(v.pipe(v.number(), v.integer())),
      "By how many milliseconds the clock of its host is ahead of the one of PostgreSQL, which all nodes use; negative if it is behind. Null if unknown.",
    ),
  }),
);
export const NodeList = titled("NodeList", v.object({ data: v.array(Node) }));

export const aNode = {
  name: "webhooks-1",
  host: "webhooks-1",
  pid: 4711,
  version: "1.0.0",
  this: true,
  since: "2026-11-20T08:00:00.000Z",
  renewed_at: "2026-11-20T09:49:59.500Z",
  lost: false,
  draining: false,
  slots: 512,
  endpoints: 40,
  in_flight: 3,
  oldest_due_at: null,
  not_sending: [],
  clock_ahead_ms: 2,
};

export const listNodes: Operation = {
  id: "listNodes",
  tag: "Daemon",
  summary: "List the nodes that share the store",
  description: "The list is empty unless `[data] nodes` is set. What a node reports about itself may be a second old.",
  replies: { 200: { description: "The nodes, by name.", schema: NodeList, example: { data: [aNode] } } },
};

const params = { id: "" };

export const drainNode: Operation = {
  id: "drainNode",
  tag: "Daemon",
  summary: "Drain a node",
  description:
    "The node gives up each of its endpoints as soon as no attempt to it is on the wire, and takes no more. It still answers requests and publishes events. It keeps draining until it is resumed or restarted. As long as every node is draining, they all keep sending.",
  params,
  replies: { 200: { description: "The node.", schema: Node, example: { ...aNode, draining: true } } },
};

export const resumeNode: Operation = {
  id: "resumeNode",
  tag: "Daemon",
  summary: "Resume a node that was drained",
  description: "The node gets its share of the endpoints back within seconds.",
  params,
  replies: { 200: { description: "The node.", schema: Node, example: aNode } },
};

const NODES = "/v1/nodes";

export function nodeRoutes({ store, log }: ApiParts): Route[] {
  async function list({ principal }: Call): Promise<Reply> {
    requireEveryTenant(principal);
    return json(200, { data: (await store.ownership.nodes()).map(presentNode) });
  }

  const change = (on: boolean) =>
    async function drain({ principal, params: { id: name = "" } }: Call): Promise<Reply> {
      requireEveryTenant(principal);
      if (!(await store.ownership.drain(name, on))) throw notFound();
      const node = (await store.ownership.nodes()).find((one) => one.name === name);
      if (node === undefined) throw notFound();
      const by = principal.keyId ?? "socket";
      log.warn(
        { node: name, by },
        on ? "a node is draining: the others take over its endpoints" : "a drained node was resumed",
      );
      return json(200, presentNode(node));
    };

  const post = { method: "POST", access: "admin" } as const;
  return [
    { method: "GET", path: NODES, access: "admin", operation: listNodes, handle: list },
    {
      ...post,
      path: `${NODES}/:id/drain`,
      audit: "node.drain",
      growth: "folds",
      operation: drainNode,
      handle: change(true),
    },
    {
      ...post,
      path: `${NODES}/:id/resume`,
      audit: "node.resume",
      growth: "folds",
      operation: resumeNode,
      handle: change(false),
    },
  ];
}

export function presentNode({ isThis, isLost, since, renewedAt, report, ...node }: StoreNode) {
  return {
    ...node,
    this: isThis,
    lost: isLost,
    since: formatInstant(since),
    renewed_at: formatInstant(renewedAt),
    in_flight: report?.inFlight ?? 0,
    oldest_due_at: formatInstantOrNull(report?.oldestDueAt ?? null),
    not_sending: report?.halts ?? [],
    clock_ahead_ms: report?.clockAheadMs ?? null,
  };
}

/** The next few answers would clear a shorter backlog. */
const BEHIND_MS = 10_000;
const MOST_BEHIND = 5;

/** Returns the endpoints whose due deliveries are waiting for their turn. */
export async function behind({ deliveries, store }: ApiParts, now: number) {
  const queues = deliveries.queues(now).filter(({ oldestDueAt }) => now - oldestDueAt >= BEHIND_MS);
  const found = await Promise.all(
    queues.slice(0, MOST_BEHIND).map(async ({ endpoint: id, oldestDueAt, atOnce }) => {
      const endpoint = await store.endpoints.get(null, id);
      if (endpoint === null) return [];
      const { tenant, url } = endpoint;
      return [{ endpoint: id, tenant, url, oldest_due_at: formatInstant(oldestDueAt), at_once: atOnce }];
    }),
  );
  return found.flat();
}
