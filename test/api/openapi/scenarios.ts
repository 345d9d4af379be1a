import { chmodSync, mkdirSync, rmdirSync } from "node:fs";
import { parseToken } from "../../../src/domain/caller.ts";
import { aDirectory } from "../../harness/daemon.ts";
import { dueNow } from "../../store/fixtures.ts";
import type { Answer } from "../server.ts";
import { anEnd } from "../sqlite.ts";
import type { Step, Walk } from "./walk.ts";
import { MAX_STORED_TYPES, capacityFault } from "../../../src/domain/events/catalogue.ts";
import { anOutbox, aSetAsideRow } from "../../../src/api/daemon/outboxes.ts";
import { WebhookdError } from "../../../src/domain/errors.ts";
import { aNode } from "../../../src/api/daemon/sending.ts";

/**
 * Makes the requests that lead to an operation's own responses, including problems that only it has. Each scenario
 * returns a well-formed request, with which the pipeline's responses are tested.
 */
export const SCENARIOS: Record<string, (walk: Walk) => Promise<Step>> = {
  async getHealth(walk) {
    await walk.call("getHealth");
    return {};
  },
  async getReadiness(walk) {
    await walk.call("getReadiness");
    walk.api.phase = "draining";
    await walk.call("getReadiness").finally(() => (walk.api.phase = "serving"));
    return {};
  },
  async getDescription(walk) {
    await askTwice(walk, "getDescription");
    return {};
  },
  async getMetrics(walk) {
    await walk.call("getMetrics");
    return {};
  },
  async getStatus(walk) {
    await walk.call("getStatus");
    walk.api.oldestDueAt = walk.now;
    await walk.call("pauseDaemon", { body: { reason: "a flood" } });
    await walk.call("getStatus");
    await walk.call("resumeDaemon");
    return {};
  },
  async getConfiguration(walk) {
    await walk.call("getConfiguration");
    return {};
  },
  async pauseDaemon(walk) {
    const step = { body: { reason: "a flood" } };
    await walk.call("pauseDaemon", step);
    await walk.call("pauseDaemon", step);
    return step;
  },
  async resumeDaemon(walk) {
    await walk.call("resumeDaemon");
    return {};
  },
  async listNodes(walk) {
    await withNode(walk, () => walk.call("listNodes"));
    return {};
  },
  async drainNode(walk) {
    await withNode(walk, () => walk.call("drainNode", { id: aNode.name }));
    return { id: aNode.name };
  },
  async resumeNode(walk) {
    await withNode(walk, () => walk.call("resumeNode", { id: aNode.name }));
    return { id: aNode.name };
  },
  async listOutboxes(walk) {
    await withOutbox(walk, true, () => walk.call("listOutboxes"));
    return {};
  },
  listSetAsideRows: (walk) => changedRows(walk, "listSetAsideRows"),
  retryOutboxRows: (walk) => changedRows(walk, "retryOutboxRows"),
  dropOutboxRows: (walk) => changedRows(walk, "dropOutboxRows"),
  async createBackup(walk) {
    await walk.call("createBackup");
    const dir = aDirectory();
    walk.api.backupRules = { ...walk.api.backupRules, dir };
    await Promise.all([walk.call("createBackup"), walk.call("createBackup")]);
    await walk.call("getStatus");
    return {};
  },
  async rekey(walk) {
    await walk.call("rekey");
    const { secret_key_file: file } = (await walk.call("rekey")).body;
    chmodSync(file, 0o604);
    await walk.call("rekey").finally(() => chmodSync(file, 0o600));
    const inTheWay = `${file}.next.tmp`;
    mkdirSync(inTheWay);
    await walk.call("rekey").finally(() => rmdirSync(inTheWay));
    walk.api.backupRules = { ...walk.api.backupRules, dir: aDirectory() };
    // The backup runs for a while, because sealing takes time.
    const backup = walk.call("createBackup", { body: { passphrase: "correct horse battery" } });
    for (let left = 500; left > 0 && (await walk.call("rekey")).status !== 409; left--);
    await backup;
    return {};
  },
  async listTenants(walk) {
    await walk.endpoint();
    await walk.call("listTenants", { query: "limit=1" });
    return {};
  },
  async listAudit(walk) {
    await walk.endpoint();
    await walk.call("listAudit", { query: "limit=1" });
    return {};
  },

  async publishEvent(walk) {
    const step = { body: { ...EVENT, created_at: "2026-11-20T09:00:00Z", tenant: "default" } };
    await twice(walk, "publishEvent", step);
    return step;
  },
  async publishBatch(walk) {
    const step = { body: { events: [EVENT, { ...EVENT, idempotency_key: "k" }] } };
    await walk.call("publishBatch", step);
    await walk.call("publishBatch", step);
    await walk.call("publishBatch", {
      body: `${JSON.stringify(EVENT)}\n${JSON.stringify(EVENT)}`,
      headers: { "content-type": "application/x-ndjson" },
    });
    return step;
  },

  async registerEndpoint(walk) {
    const step = { body: { url: "https://example.com/h", events: ["goal.achieved"], headers: { "x-a": "b" } } };
    await walk.call("registerEndpoint", step);
    const full = "?tenant=full";
    for (let index = 0; index < 100; index++) await walk.api.post(`/v1/webhooks${full}`, step.body);
    await walk.call("registerEndpoint", { ...step, query: "tenant=full" });
    const named = { body: { ...step.body, uid: "taken" }, headers: { "idempotency-key": "taken" } };
    const { body } = await walk.call("registerEndpoint", named);
    await walk.call("registerEndpoint", { body: named.body });
    walk.damage(body.id);
    await walk.call("registerEndpoint", named);
    await walk.call("deleteEndpoint", { id: body.id });
    await walk.call("registerEndpoint", named);
    return step;
  },
  async listEndpoints(walk) {
    await walk.endpoint({ uid: "one", metadata: { team: ["a"] }, rate_per_second: 0.5 });
    await walk.endpoint();
    await walk.call("listEndpoints", { query: "limit=1&order=oldest&enabled=true&type=budget.exceeded" });
    await walk.call("listEndpoints", { query: "uid=one" });
    return {};
  },
  async getEndpoint(walk) {
    const id = await walk.endpoint();
    await walk.call("getEndpoint", { id });
    return { id };
  },
  async changeEndpoint(walk) {
    const [id, other] = [await walk.endpoint({ uid: "a" }), await walk.endpoint({ uid: "b" })];
    await walk.call("changeEndpoint", { id, body: { enabled: false, metadata: { team: null } } });
    await walk.call("changeEndpoint", { id: other, body: { uid: "a" } });
    await damaged(walk, "changeEndpoint", { body: { enabled: true } });
    await walk.call("changeEndpoint", { id, body: {}, headers: { "if-match": '"other"' } });
    return { id, body: { enabled: true, held: "release" } };
  },
  async putEndpoint(walk) {
    const body = { url: "https://example.com/h", events: ["goal.achieved"] };
    await walk.call("putEndpoint", { id: "uid:put", body, query: "dry_run=true" });
    await walk.call("putEndpoint", { id: "uid:put", body });
    const { headers } = await walk.call("putEndpoint", { id: "uid:put", body, query: "tenant=default" });
    await walk.call("changeEndpoint", { id: "uid:put", body: {}, headers: { "if-match": String(headers.etag) } });
    await walk.call("putEndpoint", { id: "uid:put", body, headers: { "if-match": String(headers.etag) } });
    const id = await walk.endpoint();
    await walk.call("putEndpoint", { id, body: { ...body, uid: "put" } });
    for (let index = 0; index < 100; index++) await walk.api.post("/v1/webhooks?tenant=put", body);
    await walk.call("putEndpoint", { id: "uid:put", body, query: "tenant=put" });
    return { id, body };
  },
  async deleteEndpoint(walk) {
    await walk.call("deleteEndpoint", { id: await walk.endpoint() });
    return { id: await walk.endpoint() };
  },
  async sendTestEvent(walk) {
    const id = await walk.endpoint({ enabled: false });
    await walk.call("sendTestEvent", { id });
    await walk.call("sendTestEvent", { id, body: { type: "goal.achieved" } });
    await Promise.all([walk.call("sendTestEvent", { id, query: "wait=true" }), walk.endWaited()]);
    await damaged(walk, "sendTestEvent");
    return { id };
  },

  async testFilter(walk) {
    const id = await walk.endpoint();
    const body = { filter: { data: { x: 1 } }, type: "goal.achieved", data: { x: 2 } };
    await walk.call("testFilter", { id, body });
    await walk.call("testFilter", { id, body: { type: "goal.achieved", data: {} } });
    await walk.call("testFilter", { id, body: { event: "evt_06fbqxwbd21qccbzvcs4v8x7pt" } });
    await damaged(walk, "testFilter", { body: { type: "goal.achieved", data: {} } });
    return { id, body };
  },
  async getSecret(walk) {
    const id = await walk.endpoint();
    await walk.call("getSecret", { id });
    await damaged(walk, "getSecret");
    return { id };
  },
  async rotateSecret(walk) {
    const id = await walk.endpoint();
    await walk.call("rotateSecret", { id });
    await walk.call("rotateSecret", { id });
    await twice(walk, "rotateSecret", { id: await walk.endpoint(), body: { overlap_seconds: 60 } });
    await damaged(walk, "rotateSecret", { body: { overlap_seconds: 60 } });
    return { id };
  },
  async completeRotation(walk) {
    const id = await walk.endpoint();
    await walk.call("rotateSecret", { id });
    await twice(walk, "completeRotation", { id });
    await walk.call("completeRotation", { id });
    await damaged(walk, "completeRotation");
    return { id };
  },
  async abandonRotation(walk) {
    const id = await walk.endpoint();
    await walk.call("rotateSecret", { id });
    await walk.call("abandonRotation", { id });
    await walk.call("abandonRotation", { id });
    await damaged(walk, "abandonRotation");
    return { id };
  },

  async getSigningKeys(walk) {
    await walk.call("getSigningKeys", { query: "tenant=nobody" });
    await walk.call("rotateSigningKey");
    await walk.call("getSigningKeys");
    await damagedKeys(walk, "getSigningKeys");
    return {};
  },
  async changeSigningKeys(walk) {
    const step = { body: { published: true } };
    await walk.call("changeSigningKeys", { ...step, query: "tenant=nobody" });
    await walk.call("rotateSigningKey");
    await walk.call("changeSigningKeys", step);
    await damagedKeys(walk, "changeSigningKeys", step);
    return step;
  },
  async rotateSigningKey(walk) {
    const step = { body: { overlap_seconds: 60 } };
    await walk.call("rotateSigningKey");
    await twice(walk, "rotateSigningKey", step);
    await walk.call("rotateSigningKey", step);
    await damagedKeys(walk, "rotateSigningKey", step);
    return step;
  },
  async completeKeyRotation(walk) {
    await walk.call("completeKeyRotation", { query: "tenant=nobody" });
    await walk.call("rotateSigningKey");
    await walk.call("rotateSigningKey");
    await twice(walk, "completeKeyRotation", {});
    await walk.call("completeKeyRotation");
    await damagedKeys(walk, "completeKeyRotation");
    return {};
  },
  async abandonKeyRotation(walk) {
    await walk.call("abandonKeyRotation", { query: "tenant=nobody" });
    await walk.call("rotateSigningKey");
    await walk.call("rotateSigningKey");
    await walk.call("abandonKeyRotation");
    await walk.call("abandonKeyRotation");
    await damagedKeys(walk, "abandonKeyRotation");
    return {};
  },
  async getSigningKeySet(walk) {
    await walk.call("getSigningKeySet", { key: null, query: "tenant=nobody" });
    await walk.call("rotateSigningKey");
    await walk.call("changeSigningKeys", { body: { published: true } });
    await walk.call("getSigningKeySet", { key: null });
    await damagedKeys(walk, "getSigningKeySet", { key: null });
    return {};
  },

  async listEventTypes(walk) {
    await walk.call("listEventTypes");
    return {};
  },
  async getEventType(walk) {
    await walk.call("getEventType", { id: "goal.achieved" });
    return { id: "goal.achieved" };
  },
  async createEventType(walk) {
    const step = { body: { name: "order.created", description: "An order.", group: "orders", validation: "warn" } };
    await walk.call("createEventType", step);
    await walk.call("createEventType", step);
    await walk.call("createEventType", { body: { name: "goal.achieved" } });
    await withManyTypes(walk, (name) => walk.call("createEventType", { body: { name } }));
    return step;
  },
  async importEventTypes(walk) {
    const step = { body: { types: [{ name: "order.paid" }, { name: "order.lost", deprecated: true }] } };
    await walk.call("importEventTypes", step);
    await walk.call("importEventTypes", step);
    await walk.call("importEventTypes", { body: { types: [{ name: "goal.achieved" }], dry_run: true } });
    await walk.call("importEventTypes", { body: { types: [{ name: "goal.achieved" }] } });
    await withManyTypes(walk, (name) => walk.call("importEventTypes", { body: { types: [{ name }] } }));
    return step;
  },
  async putEventType(walk) {
    const step = { id: "order.paid", body: { deprecated: true, sunset_at: "2030-01-01T00:00:00Z", archived: true } };
    await walk.call("putEventType", step);
    await walk.call("putEventType", step);
    await walk.call("publishEvent", { body: { ...EVENT, type: step.id } });
    await walk.call("putEventType", { id: "goal.achieved", body: {} });
    await withManyTypes(walk, (id) => walk.call("putEventType", { id, body: {} }));
    return step;
  },
  async deleteEventType(walk) {
    const id = "order.lost";
    await walk.call("putEventType", { id, body: {} });
    const endpoint = await walk.endpoint({ events: [id] });
    await walk.call("deleteEventType", { id });
    await walk.call("deleteEndpoint", { id: endpoint });
    await walk.call("deleteEventType", { id });
    await walk.call("deleteEventType", { id: "goal.achieved" });
    return { id };
  },
  async listEvents(walk) {
    await walk.endpoint();
    await walk.event("failed");
    await walk.call("listEvents", { query: "limit=1&status=failed&include=data,deliveries" });
    await walk.call("listEvents", { query: "since=2026-01-01T00:00:00Z&test=false" });
    return {};
  },
  async getEvent(walk) {
    await walk.endpoint();
    const id = await walk.event("failed");
    await walk.call("getEvent", { id });
    return { id };
  },
  async explainEvent(walk) {
    const endpoint = await walk.endpoint({ filter: { data: { x: { $gt: 1 } } } });
    const id = await walk.event("delivered");
    const query = `endpoint=${endpoint}`;
    await walk.call("explainEvent", { id, query });
    await walk.call("explainEvent", { id });
    return { id, query };
  },
  async listEventAttempts(walk) {
    await walk.endpoint();
    const id = await walk.event("delivered");
    await walk.call("listEventAttempts", { id });
    return { id };
  },
  async replayEvent(walk) {
    const endpoint = await walk.endpoint();
    const id = await walk.event("failed");
    await walk.call("replayEvent", { id, body: { endpoint } });
    await walk.call("replayEvent", { id, body: { endpoint } });
    const gone = await walk.endpoint({ events: ["carbon.threshold"] });
    const owed = await walk.event("failed", "carbon.threshold");
    await walk.call("deleteEndpoint", { id: gone });
    await walk.call("replayEvent", { id: owed });
    await walk.call("eraseEvent", { id: owed });
    await walk.call("replayEvent", { id: owed });
    return { id };
  },
  async cancelEvent(walk) {
    await walk.endpoint();
    const id = await walk.event("failed");
    await walk.call("cancelEvent", { id });
    return { id, body: {} };
  },
  async eraseEvent(walk) {
    await walk.endpoint();
    const id = await walk.event("failed");
    await walk.call("eraseEvent", { id });
    return { id };
  },

  async listDeliveries(walk) {
    await walk.endpoint();
    await walk.event("failed");
    await walk.call("listDeliveries", { query: "limit=1&status=failed" });
    await walk.call("listDeliveries", { query: "status_code=5xx&error=http_status" });
    return {};
  },
  async getDelivery(walk) {
    const id = await aDelivery(walk);
    await walk.call("getDelivery", { id });
    return { id };
  },
  async attemptDelivery(walk) {
    const endpoint = await walk.endpoint({ events: ["goal.achieved"] });
    const to = async (event: string) => (await walk.call("getEvent", { id: event })).body.deliveries[0].id as string;
    const failed = await to(await walk.event("failed", "goal.achieved"));
    await walk.call("attemptDelivery", { id: failed });
    await walk.call("attemptDelivery", { id: await to(await walk.event("delivered", "goal.achieved")) });
    const erased = await walk.event("failed", "goal.achieved");
    await walk.call("eraseEvent", { id: erased });
    await walk.call("attemptDelivery", { id: await to(erased) });
    walk.damage(endpoint);
    await walk.call("attemptDelivery", { id: failed });
    await walk.call("deleteEndpoint", { id: endpoint });
    await walk.call("attemptDelivery", { id: failed });
    return { id: failed };
  },
  async listDeliveryAttempts(walk) {
    const id = await aDelivery(walk);
    await walk.call("listDeliveryAttempts", { id });
    return { id };
  },
  async listEndpointAttempts(walk) {
    const id = await walk.endpoint();
    await walk.event("failed");
    await walk.event("delivered");
    await walk.call("listEndpointAttempts", { id, query: "limit=1&outcome=failed" });
    return { id };
  },
  async streamChanges(walk) {
    const { feed } = walk.api;
    const first = walk.call("streamChanges", {
      query: "status=failed",
      headers: { "last-event-id": "of-another-life" },
    });
    while (feed.listeners === 0) await new Promise(setImmediate);
    // A single key is refused once it has its share, so each key opens half of the free streams until none is left.
    const others: Promise<Answer>[] = [];
    while (others.length < 255) {
      const key = await walk.api.addKey(["read"], "*");
      const half = Math.ceil((255 - others.length) / 2);
      for (let count = 0; count < half; count++) others.push(walk.api.get("/v1/webhooks/stream", { key }));
      while (feed.listeners < 1 + others.length) await new Promise(setImmediate);
    }
    await walk.call("streamChanges");
    feed.end();
    await Promise.all([first, ...others]);
    return {};
  },
  async listFailures(walk) {
    const endpoint = await walk.endpoint();
    await walk.event("failed");
    await walk.call("listFailures", { query: "since=2026-11-01T00:00:00Z" });
    await walk.call("listFailures", { query: `endpoint=${endpoint}` });
    await walk.call("listFailures", { query: `endpoint=${walk.unknown("ep")}` });
    return {};
  },
  async getAttempt(walk) {
    await walk.endpoint();
    const event = await walk.event("failed");
    const { body } = await walk.call("listEventAttempts", { id: event });
    await walk.call("getAttempt", { id: body.data[0].id });
    return { id: body.data[0].id };
  },

  async createJob(walk) {
    await walk.endpoint();
    await walk.event("failed");
    const step = { body: { action: "replay", filter: { error: "http_status" }, canary: true, reason: "back" } };
    await walk.call("createJob", { body: { ...step.body, dry_run: true } });
    await walk.call("createJob", { body: { ...step.body, expect: 0 } });
    await twice(walk, "createJob", step);
    return step;
  },
  async listJobs(walk) {
    await aJob(walk);
    await walk.call("listJobs", { query: "limit=1" });
    return {};
  },
  async getJob(walk) {
    const id = await aJob(walk);
    await walk.call("getJob", { id });
    return { id };
  },
  async pauseJob(walk) {
    return steered(walk, "pauseJob");
  },
  async resumeJob(walk) {
    const endpoint = await walk.endpoint();
    await walk.event("failed");
    const body = { action: "replay", filter: { endpoint }, canary: true };
    const { id } = (await walk.call("createJob", { body })).body;
    const { store } = walk.api;
    await store.jobs.step(id, [{ endpoint, limit: 1, check: false }], walk.now);
    const [first] = await dueNow(store, endpoint);
    await store.deliveries.record([anEnd(first!, walk.now, "failed")]);
    await walk.call("resumeJob", { id });
    return steered(walk, "resumeJob");
  },
  async cancelJob(walk) {
    const id = await aJob(walk);
    await walk.call("cancelJob", { id });
    const done = await aJob(walk);
    await walk.api.store.jobs.close(done, walk.now);
    await walk.call("cancelJob", { id: done });
    return { id };
  },
  async getStatistics(walk) {
    const endpoint = await walk.endpoint();
    await walk.event("failed");
    await walk.event("delivered");
    await walk.call("getStatistics", { query: "window=5m&tenant=default" });
    await walk.call("getStatistics", { query: `endpoint=${endpoint}` });
    await walk.call("getStatistics", { query: `endpoint=${walk.unknown("ep")}` });
    return {};
  },

  async listKeys(walk) {
    await walk.call("listKeys", { query: "limit=1" });
    return {};
  },
  async createKey(walk) {
    const step = { body: { name: "a", scopes: ["read"], expires_at: "2030-01-01T00:00:00Z" } };
    await twice(walk, "createKey", step);
    return step;
  },
  async createPortalLink(walk) {
    const step = { body: { tenant: "acme", new_tenant: true, can: ["replay"], return_url: "https://app.example.com" } };
    await twice(walk, "createPortalLink", step);
    return step;
  },
  async getPortal(walk) {
    await walk.call("getPortal");
    const { body } = await walk.call("createPortalLink", { body: { endpoints: [await walk.endpoint()] } });
    await walk.call("getPortal", { key: body.url.split("#")[1] });
    return {};
  },
  async getKey(walk) {
    const { body } = await walk.call("createKey", { body: { scopes: ["publish", "read"], tenant: "*" } });
    await walk.call("getKey", { id: body.id });
    return { id: body.id };
  },
  async revokeKey(walk) {
    const { body } = await walk.call("createKey", { body: { scopes: ["publish"] } });
    await walk.call("revokeKey", { id: body.id });
    const own = parseToken(walk.api.adminKey)!.keyId;
    const { body: keys } = await walk.call("listKeys", { query: "limit=100" });
    const admins = keys.data.filter((key: any) => key.scopes.includes("admin") && key.revoked_at === null);
    for (const { id } of admins) if (id !== own) await walk.call("revokeKey", { id });
    await walk.call("revokeKey", { id: own });
    walk.api.adminKey = await walk.api.addKey(["admin"], "*");
    return { id: body.id };
  },
};

const EVENT = { type: "budget.exceeded", data: { spent: 9007199254740993n.toString() } };

/** Makes the same request twice with one Idempotency-Key. */
async function twice(walk: Walk, operation: string, step: Step): Promise<void> {
  const headers = { "idempotency-key": `twice-${operation}` };
  await walk.call(operation, { ...step, headers });
  await walk.call(operation, { ...step, headers });
}

/** Makes the request twice. The second time, the client names the version that it already has. */
async function askTwice(walk: Walk, operation: string, step: Step = {}): Promise<void> {
  const { headers } = await walk.call(operation, step);
  await walk.call(operation, { ...step, headers: { "if-none-match": headers.etag! } });
}

/** Creates a job that matches nothing. */
async function aJob(walk: Walk): Promise<string> {
  const { body } = await walk.call("createJob", { body: { action: "replay", filter: { error: "payload_corrupt" } } });
  return body.id;
}

async function steered(walk: Walk, operation: "pauseJob" | "resumeJob"): Promise<Step> {
  const id = await aJob(walk);
  await walk.call(operation, { id });
  const over = await aJob(walk);
  await walk.call("cancelJob", { id: over });
  await walk.call(operation, { id: over });
  return { id };
}

async function aDelivery(walk: Walk): Promise<string> {
  await walk.endpoint();
  const { body } = await walk.call("getEvent", { id: await walk.event("failed") });
  return body.deliveries[0].id;
}

/** Makes the request for an endpoint that cannot be read. */
async function damaged(walk: Walk, operation: string, step: Step = {}): Promise<void> {
  const id = await walk.endpoint();
  walk.damage(id);
  await walk.call(operation, { ...step, id });
}

/** Calls the operation while the keys cannot be read, and repairs them afterwards. */
async function damagedKeys(walk: Walk, operation: string, step: Step = {}): Promise<void> {
  walk.damageKeys();
  await walk.call(operation, step);
  await walk.call("rotateSigningKey", { body: { overlap_seconds: 0 } });
}

/** Runs on a store that has the maximum number of types. */
async function withManyTypes({ api: { store } }: Walk, run: (name: string) => Promise<unknown>): Promise<void> {
  const { types } = store;
  const put: typeof types.put = (names, change) => {
    for (const name of names) change(null, name);
    return Promise.reject(capacityFault(MAX_STORED_TYPES)!);
  };
  Object.assign(store, { types: { put } });
  await run("one.more").finally(() => void Object.assign(store, { types }));
}

/** Runs with an outbox that can be read, or cannot, and leaves it there for the answers of the pipeline. */
async function withOutbox(walk: Walk, isUp: boolean, run: () => Promise<unknown>): Promise<void> {
  const unavailable = new WebhookdError("outbox_unavailable", "the outbox cannot be used: it is away");
  const answer = <T>(value: T) => (isUp ? Promise.resolve(value) : Promise.reject(unavailable));
  const { name, place, table } = anOutbox;
  const trouble = isUp ? null : { what: "it is away", todo: "start it" };
  walk.api.outboxes.splice(0, 1, {
    outbox: { name, table, database: { kind: "postgres", url: "postgres://db1/shop" }, tenant: { name: "default" } },
    place,
    standing: { isUp, since: walk.now, trouble, waiting: 0, oldestMs: null, setAside: 1, published: 0 },
    setAside: () => answer([aSetAsideRow]),
    retry: () => answer(1),
    drop: () => answer(1),
  });
  await run();
}

async function changedRows(walk: Walk, operation: string): Promise<Step> {
  const step = { id: anOutbox.name, ...(operation !== "listSetAsideRows" && { body: { ids: ["4711"] } }) };
  for (const isUp of [false, true]) await withOutbox(walk, isUp, () => walk.call(operation, step));
  return step;
}

/** Runs on a store that claims to have a node. */
async function withNode(walk: Walk, run: () => Promise<unknown>): Promise<void> {
  const { store } = walk.api;
  const { ownership } = store;
  const { name, host, pid, version, slots, endpoints, draining } = aNode;
  const node = { name, host, pid, version, slots, endpoints, draining };
  const instants = { since: walk.now, renewedAt: walk.now };
  const shared = {
    ...ownership,
    nodes: async () => [{ ...node, ...instants, isThis: true, isLost: false, report: null }],
  };
  Object.assign(store, { ownership: { ...shared, drain: async () => true } });
  await run();
  Object.assign(store, { ownership });
}
