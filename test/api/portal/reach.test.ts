import { describe, expect, it } from "vitest";
import type { Route } from "../../../src/api/pipeline/route.ts";
import { PORTAL_SCOPES, type PortalScope } from "../../../src/domain/caller.ts";
import { ALL, callAbout, World } from "./world.ts";

/** The scope that a link needs; "never" if no link may use the route. */
type Needs = PortalScope | "any" | "open" | "never";
/**
 * The reach of a link for only some endpoints. `id` is compared with the key's endpoints, and so are `named` endpoints.
 * A `narrow` list shows a part, `all` shows nothing about endpoints, and `closed` is refused.
 */
type ForSome = "id" | "named" | "narrow" | "all" | "closed";

/** Every route, so that adding one means deciding who may use it. */
const TABLE: Readonly<Record<string, readonly [Needs, ForSome]>> = {
  getHealth: ["open", "all"],
  getReadiness: ["open", "all"],
  getMetrics: ["never", "closed"],
  publishEvent: ["never", "closed"],
  publishBatch: ["never", "closed"],
  listEvents: ["read", "named"],
  getEvent: ["read", "id"],
  explainEvent: ["read", "id"],
  listEventAttempts: ["read", "closed"],
  replayEvent: ["replay", "id"],
  cancelEvent: ["manage", "id"],
  eraseEvent: ["manage", "closed"],
  listEventTypes: ["read", "all"],
  getEventType: ["read", "all"],
  createEventType: ["never", "closed"],
  importEventTypes: ["never", "closed"],
  putEventType: ["never", "closed"],
  deleteEventType: ["never", "closed"],
  listDeliveries: ["read", "named"],
  getDelivery: ["read", "id"],
  listDeliveryAttempts: ["read", "id"],
  attemptDelivery: ["replay", "id"],
  getAttempt: ["read", "id"],
  createJob: ["replay", "narrow"],
  listJobs: ["read", "narrow"],
  getJob: ["read", "id"],
  pauseJob: ["replay", "id"],
  resumeJob: ["replay", "id"],
  cancelJob: ["replay", "id"],
  listFailures: ["read", "named"],
  getStatistics: ["read", "named"],
  streamChanges: ["read", "narrow"],
  registerEndpoint: ["manage", "closed"],
  listEndpoints: ["read", "narrow"],
  getEndpoint: ["read", "id"],
  changeEndpoint: ["manage", "id"],
  putEndpoint: ["manage", "id"],
  deleteEndpoint: ["manage", "id"],
  listEndpointAttempts: ["read", "id"],
  sendTestEvent: ["replay", "id"],
  testFilter: ["read", "id"],
  getSecret: ["secrets", "id"],
  rotateSecret: ["secrets", "id"],
  completeRotation: ["secrets", "id"],
  abandonRotation: ["secrets", "id"],
  getSigningKeys: ["read", "all"],
  changeSigningKeys: ["manage", "closed"],
  rotateSigningKey: ["secrets", "closed"],
  completeKeyRotation: ["secrets", "closed"],
  abandonKeyRotation: ["secrets", "closed"],
  getSigningKeySet: ["open", "all"],
  listKeys: ["never", "closed"],
  createKey: ["never", "closed"],
  getKey: ["never", "closed"],
  revokeKey: ["never", "closed"],
  createPortalLink: ["never", "closed"],
  getPortal: ["any", "all"],
  readPortal: ["open", "all"],
  readPortalFile: ["open", "all"],
  listAudit: ["never", "closed"],
  listTenants: ["read", "closed"],
  getStatus: ["never", "closed"],
  getConfiguration: ["never", "closed"],
  pauseDaemon: ["never", "closed"],
  resumeDaemon: ["never", "closed"],
  listNodes: ["never", "closed"],
  drainNode: ["never", "closed"],
  resumeNode: ["never", "closed"],
  listOutboxes: ["never", "closed"],
  listSetAsideRows: ["never", "closed"],
  retryOutboxRows: ["never", "closed"],
  dropOutboxRows: ["never", "closed"],
  createBackup: ["never", "closed"],
  rekey: ["never", "closed"],
  getDescription: ["open", "all"],
  readDocs: ["open", "all"],
};

const api = await World.server();
const rows = api.routes.map((route) => [route.operation.id, route] as const);
const needs = (id: string) => TABLE[id]?.[0] ?? "never";
const forSome = (id: string) => TABLE[id]?.[1] ?? "closed";
const isAboutOne = ({ path, reach }: Route) => path.includes("/:") && reach !== "all";
/** The stream never ends, and has its own tests. */
const isStream = (id: string) => id === "streamChanges";
/** Tests share this world, because no call changes anything in it that a later one needs. */
const shared = await World.make(api);
const closed = rows.filter(([id]) => needs(id) !== "open" && !isStream(id));

it("the table has every route, and no other", () => {
  expect(rows.map(([id]) => id).toSorted()).toEqual(Object.keys(TABLE).toSorted());
});

describe("a link of one tenant", () => {
  it.each(closed.filter(([, route]) => isAboutOne(route)))("does not find what is another's: %s", async (id, route) => {
    const world = shared;
    const answer = await callAbout(api, route, world.foreign, await world.link(ALL));
    expect(answer.status).toBe(needs(id) === "never" ? 403 : 404);
  });

  it.each(closed.filter(([, route]) => !isAboutOne(route)))("is shown nothing of another's: %s", async (id, route) => {
    const world = shared;
    const key = await world.link(ALL);
    const { status, text } = await callAbout(api, route, world.foreign, key);
    for (const hidden of Object.values(world.foreign)) expect(text).not.toContain(hidden);
    if (needs(id) === "never") expect(status).toBe(403);
    if (route.query === "any" || route.query === undefined) return;
    for (const tenant of [world.foreign.ep, "*", "webhookd:alerts", "default"]) {
      const other = await callAbout(api, route, world.foreign, key, `?tenant=${tenant}`);
      expect(other.status, tenant).toBeGreaterThanOrEqual(403);
    }
  });

  const spare = World.make(api);

  it.each(closed)("can do what it was given and no more: %s", async (id, route) => {
    const world = await spare;
    for (const can of PORTAL_SCOPES) {
      const { status, body } = await callAbout(api, route, world.mine, await world.link([can]));
      const included: Record<PortalScope, readonly Needs[]> = {
        read: ["any", "read"],
        replay: ["any", "read", "replay"],
        manage: ["any", "read", "replay", "manage"],
        secrets: ["any", "read", "secrets"],
      };
      const lacks = status === 403 && /scope|another link/.test(body.detail);
      expect(!lacks, `${can}: ${status} ${body?.detail}`).toBe(included[can].includes(needs(id)));
    }
  });
});

describe("a link for one endpoint", () => {
  const ofOne = closed.filter(([, route]) => isAboutOne(route));

  it.each(ofOne)("does not find what is beside it: %s", async (id, route) => {
    const world = shared;
    const key = await world.link(ALL, [world.mine.ep]);
    const refused = needs(id) === "never" || forSome(id) === "closed" ? 403 : 404;
    for (const ids of [world.beside, world.foreign]) {
      expect((await callAbout(api, route, ids, key)).status).toBe(refused);
    }
    // The event is shared, but its delivery to the other endpoint is not.
    const answer = await callAbout(api, route, world.shared, key);
    for (const hidden of world.hidden) expect(answer.text).not.toContain(hidden);
    if (!route.operation.params!.id?.startsWith("evt")) expect(answer.status).toBe(refused);
  });

  it.each(ofOne.filter(([id]) => forSome(id) === "id"))("finds its own: %s", async (_, route) => {
    const world = route.method === "GET" ? shared : await World.make(api);
    const { status, text } = await callAbout(api, route, world.mine, await world.link(ALL, [world.mine.ep]));
    expect([403, 404]).not.toContain(status);
    for (const hidden of world.hidden) expect(text).not.toContain(hidden);
  });

  it.each(closed.filter(([, route]) => !isAboutOne(route)))("is shown its own alone: %s", async (id, route) => {
    const world = shared;
    const key = await world.link(ALL, [world.mine.ep]);
    const parameters = Array.isArray(route.query) ? route.query.map(({ name }: { name: string }) => name) : [];
    const queries = ["", ...(parameters.includes("total") ? ["?total=true&limit=1&order=oldest"] : [])];
    if (parameters.includes("include"))
      queries.push(`?include=${id === "listEndpoints" ? "health,recent,failing" : "data,deliveries"}`);
    for (const query of queries) {
      const { status, text, body } = await callAbout(api, route, world.mine, key, query);
      for (const hidden of world.hidden) expect(text).not.toContain(hidden);
      if (forSome(id) === "closed") expect(status).toBe(403);
      if (forSome(id) === "narrow" || forSome(id) === "named") expect([403, 404, 422]).not.toContain(status);
      if (query.startsWith("?total") && status === 200)
        expect(body.total, "a total counts what it may see").toBe(body.data.length);
    }
    if (!parameters.includes("endpoint")) return;
    const { status } = await callAbout(api, route, world.mine, key, `?endpoint=${world.beside.ep}`);
    expect(status).toBe(422);
    if (!parameters.includes("event")) return;
    const events = await Promise.all(
      [world.beside.evt, `evt_${"0".repeat(26)}`].map((event) =>
        callAbout(api, route, world.mine, key, `?event=${event}`),
      ),
    );
    for (const { body } of events) expect(body.errors[0]).toMatchObject({ code: "unknown_event" });
  });
});
