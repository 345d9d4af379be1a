/**
 * A caller in a loop makes the database grow by no more than the route's `growth` says. This tests every route that
 * writes.
 */
import { join } from "node:path";
import Database from "better-sqlite3";
import { describe, expect, it, onTestFinished } from "vitest";
import type { Route } from "../../../src/api/pipeline/route.ts";
import { ApiServer, type Answer } from "../server.ts";
import { anEvent, aStore } from "../sqlite.ts";
import { open, temporaryDirectory } from "../../store/stores.ts";
import type { Outbox } from "../../../src/api/parts.ts";
import { partly } from "../../harness/partly.ts";

const CALLS = 240;
const AT_ONCE = 20;
/** A new page may be started for the table and each index, and for a row of the statistics. */
const SLACK = 16 * 1024;
const ENDPOINT = { url: "https://example.com/h", events: ["budget.exceeded"] };
const EVENT = { type: "goal.achieved", data: { a: 1 } };

type Call = (at: number) => Promise<Answer>;

const id = ({ status, body }: Answer): string => {
  expect(status).toBeLessThan(300);
  return body.id;
};
const endpoint = async (api: ApiServer) => `/v1/webhooks/${id(await api.post("/v1/webhooks", ENDPOINT))}`;
const many = async <T>(count: number, make: (at: number) => Promise<T>): Promise<T[]> => {
  const made: T[] = [];
  for (let at = 0; at < count; at++) made.push(await make(at));
  return made;
};
const events = async (api: ApiServer, count = CALLS) => {
  await api.post("/v1/webhooks", ENDPOINT);
  return many(count, () => anEvent(api.store, api.clock.now(), "failed"));
};
const job = async (api: ApiServer) => {
  await events(api, 5);
  const filter = { status: "failed" };
  return id(await api.post("/v1/webhooks/jobs", { action: "replay", filter, rate_per_second: 1 }));
};
const post =
  (path: (api: ApiServer) => Promise<string>, body?: object) =>
  async (api: ApiServer): Promise<Call> => {
    const to = await path(api);
    return () => (body === undefined ? api.request("POST", to) : api.post(to, body));
  };
const fixed = (path: string) => () => Promise.resolve(path);

/** By method and path. Each prepares, and returns a call that changes something each time if it can. */
const LOOPS: Record<string, (api: ApiServer) => Promise<Call>> = {
  "POST /v1/webhooks/events": post(fixed("/v1/webhooks/events"), EVENT),
  "POST /v1/webhooks/events/batch": post(fixed("/v1/webhooks/events/batch"), { events: [EVENT] }),
  "POST /v1/webhooks/events/:id/retry": async (api) => {
    const all = await events(api);
    return (at) => api.post(`/v1/webhooks/events/${all[at]}/retry`, {});
  },
  "POST /v1/webhooks/events/:id/cancel": async (api) => {
    const all = await events(api);
    return (at) => api.post(`/v1/webhooks/events/${all[at]}/cancel`, {});
  },
  "DELETE /v1/webhooks/events/:id/data": async (api) => {
    const all = await events(api);
    return (at) => api.request("DELETE", `/v1/webhooks/events/${all[at]}/data`);
  },
  "POST /v1/webhooks/deliveries/:id/attempt": async (api) => {
    await events(api, 60);
    const { data } = (await api.get("/v1/webhooks/deliveries?limit=60")).body;
    return (at) => api.request("POST", `/v1/webhooks/deliveries/${data[at % 60].id}/attempt`);
  },
  "POST /v1/webhooks/jobs": async (api) => {
    await api.post("/v1/webhooks", ENDPOINT);
    await anEvent(api.store, api.clock.now(), "failed");
    const body = { action: "replay", filter: { status: "failed" }, rate_per_second: 1 };
    return async () => {
      const made = await api.post("/v1/webhooks/jobs", body);
      if (made.status < 300) await api.request("POST", `/v1/webhooks/jobs/${made.body.id}/cancel`);
      return made;
    };
  },
  "POST /v1/webhooks/jobs/:id/pause": post(async (api) => `/v1/webhooks/jobs/${await job(api)}/pause`),
  "POST /v1/webhooks/jobs/:id/resume": post(async (api) => `/v1/webhooks/jobs/${await job(api)}/resume`),
  "POST /v1/webhooks/jobs/:id/cancel": post(async (api) => `/v1/webhooks/jobs/${await job(api)}/cancel`),
  "POST /v1/webhooks": post(fixed("/v1/webhooks"), ENDPOINT),
  "PATCH /v1/webhooks/:id": async (api) => {
    const path = await endpoint(api);
    const filter = (at: number) => ({ data: { at } });
    return (at) =>
      api.request("PATCH", path, { body: JSON.stringify({ description: `text ${at}`, filter: filter(at) }) });
  },
  "PUT /v1/webhooks/:id": async (api) => (at) =>
    api.request("PUT", `/v1/webhooks/uid:u${at}`, { body: JSON.stringify(ENDPOINT) }),
  "DELETE /v1/webhooks/:id": async (api) => {
    const all = await many(CALLS, () => endpoint(api));
    return (at) => api.request("DELETE", all[at]!);
  },
  "GET /v1/webhooks/:id/secret": async (api) => {
    const path = await endpoint(api);
    return () => api.get(`${path}/secret`);
  },
  "POST /v1/webhooks/:id/rotate-secret": post(async (api) => `${await endpoint(api)}/rotate-secret`, {
    overlap_seconds: 0,
  }),
  "POST /v1/webhooks/:id/rotate-secret/complete": async (api) => {
    const path = `${await endpoint(api)}/rotate-secret`;
    return async () => {
      await api.post(path, { overlap_seconds: 3600 });
      return api.request("POST", `${path}/complete`);
    };
  },
  "DELETE /v1/webhooks/:id/rotate-secret": async (api) => {
    const path = `${await endpoint(api)}/rotate-secret`;
    return async () => {
      await api.post(path, { overlap_seconds: 3600 });
      return api.request("DELETE", path);
    };
  },
  "PATCH /v1/webhooks/keys": async (api) => {
    await api.post("/v1/webhooks/keys/rotate", {});
    return (at) => api.request("PATCH", "/v1/webhooks/keys", { body: JSON.stringify({ published: at % 2 === 0 }) });
  },
  "POST /v1/webhooks/keys/rotate": async (api) => (at) =>
    api.post(`/v1/webhooks/keys/rotate?tenant=t${at}`, { overlap_seconds: 0 }),
  "POST /v1/webhooks/keys/rotate/complete": async (api) => {
    await api.post("/v1/webhooks/keys/rotate", {});
    return async () => {
      await api.post("/v1/webhooks/keys/rotate", { overlap_seconds: 3600 });
      return api.request("POST", "/v1/webhooks/keys/rotate/complete");
    };
  },
  "DELETE /v1/webhooks/keys/rotate": async (api) => {
    await api.post("/v1/webhooks/keys/rotate", {});
    return async () => {
      await api.post("/v1/webhooks/keys/rotate", { overlap_seconds: 3600 });
      return api.request("DELETE", "/v1/webhooks/keys/rotate");
    };
  },
  "POST /v1/webhooks/:id/test": post(async (api) => `${await endpoint(api)}/test`, {}),
  "POST /v1/webhooks/:id/filter/test": post(async (api) => `${await endpoint(api)}/filter/test`, {
    type: "goal.achieved",
    data: {},
  }),
  "POST /v1/webhooks/event-types": async (api) => (at) => api.post("/v1/webhooks/event-types", { name: `a.t${at}` }),
  "POST /v1/webhooks/event-types/import": async (api) => (at) =>
    api.post("/v1/webhooks/event-types/import", { types: [{ name: `a.t${at}` }] }),
  "PUT /v1/webhooks/event-types/:id": async (api) => (at) =>
    api.request("PUT", `/v1/webhooks/event-types/a.t${at}`, { body: "{}" }),
  "DELETE /v1/webhooks/event-types/:id": async (api) => {
    const all = await many(CALLS, (at) => api.request("PUT", `/v1/webhooks/event-types/a.t${at}`, { body: "{}" }));
    return (at) => api.request("DELETE", `/v1/webhooks/event-types/${all[at]!.body.name}`);
  },
  "POST /v1/keys": post(fixed("/v1/keys"), { name: "k", scopes: ["read"], tenant: "a" }),
  "DELETE /v1/keys/:id": async (api) => {
    const keys = await many(CALLS, async () => id(await api.post("/v1/keys", { scopes: ["read"], tenant: "a" })));
    return (at) => api.request("DELETE", `/v1/keys/${keys[at]}`);
  },
  "POST /v1/portal-links": post(fixed("/v1/portal-links"), { tenant: "a", new_tenant: true }),
  "POST /v1/pause": post(fixed("/v1/pause"), { reason: "x" }),
  "POST /v1/resume": post(fixed("/v1/resume")),
  "POST /v1/nodes/:id/drain": post(fixed("/v1/nodes/n/drain")),
  "POST /v1/nodes/:id/resume": post(fixed("/v1/nodes/n/resume")),
  "POST /v1/outboxes/:id/retry": async (api) => {
    api.outboxes.push(anOutbox);
    return () => api.post("/v1/outboxes/shop/retry", {});
  },
  "POST /v1/outboxes/:id/drop": async (api) => {
    api.outboxes.push(anOutbox);
    return () => api.post("/v1/outboxes/shop/drop", {});
  },
  "POST /v1/backups": post(fixed("/v1/backups")),
  "POST /v1/secret-key/rekey": post(fixed("/v1/secret-key/rekey")),
};
/** A row that was set aside is in the application's database, so only the audit grows. */
const anOutbox = partly<Outbox>({
  outbox: { name: "shop" },
  retry: async () => 1,
  drop: async () => 1,
});
const REFUSED = /nodes|backups/;
/** Each of these calls rewrites the whole store. */
const FEW: Record<string, number> = { "POST /v1/secret-key/rekey": 5 };

async function serve() {
  const dir = temporaryDirectory();
  const store = await open({ dir });
  const db = new Database(join(dir, "webhookd.db"), { readonly: true });
  onTestFinished(async () => {
    db.close();
    await store.close();
  });
  const pragma = (name: string) => Number(db.pragma(name, { simple: true }));
  const bytes = () => (pragma("page_count") - pragma("freelist_count")) * pragma("page_size");
  return { api: await ApiServer.start(store), bytes };
}

describe("in a loop", async () => {
  const api = await ApiServer.start(await aStore());
  const changing = api.routes.filter((route) => route.growth !== undefined);

  it("is measured of every route that writes", () => {
    expect(Object.keys(LOOPS).toSorted()).toEqual(changing.map(nameOf).toSorted());
    const writing = api.routes.filter(({ method, audit }) => method !== "GET" || audit !== undefined);
    expect(writing.map(nameOf).toSorted()).toEqual(changing.map(nameOf).toSorted());
  });

  it.each(changing.map(nameOf))("%s adds to the database what it says", async (name) => {
    const { growth } = changing.find((route) => nameOf(route) === name)!;
    const { api: own, bytes } = await serve();
    const call = await LOOPS[name]!(own);
    const calls = FEW[name] ?? CALLS;
    const before = bytes();
    for (let at = 0; at < calls; at += AT_ONCE) {
      const size = Math.min(AT_ONCE, calls - at);
      const answers = await Promise.all(Array.from({ length: size }, (_, each) => call(at + each)));
      // A loop of refused calls would measure nothing. Only nodes and backups are refused, because a test server has
      // none.
      if (!REFUSED.test(name)) expect(answers.filter(({ status }) => status < 300).length).toBeGreaterThan(0);
    }
    const grown = bytes() - before;
    expect(grown).toBeLessThanOrEqual(SLACK + (growth === "folds" ? 0 : calls * growth!.grows));
  });

  it.each([
    ["a delivery", 300 + 250, 1, () => ({})],
    ["an idempotency key", 300 + 400, 0, (at: number) => ({ "idempotency-key": `order-${at}` })],
  ] as const)("adds no more than it says for %s", async (_, most, endpoints, headers) => {
    const { api: own, bytes } = await serve();
    for (let count = 0; count < endpoints; count++) {
      await own.post("/v1/webhooks", { ...ENDPOINT, events: ["goal.achieved"] });
    }
    const before = bytes();
    for (let at = 0; at < CALLS; at++) {
      expect((await own.post("/v1/webhooks/events", EVENT, { headers: headers(at) })).status).toBe(202);
    }
    expect(bytes() - before).toBeLessThanOrEqual(SLACK + CALLS * most);
  });

  it("cannot be added without saying what it adds", () => {
    const rules = { path: "/x", access: "read", handle: () => ({ status: 204 }) } as const;
    const { operation } = api.routes[0]!;
    // @ts-expect-error: a route that writes has to declare its growth.
    const route: Route = { ...rules, operation, method: "POST" };
    expect(route.growth).toBeUndefined();
  });
});

function nameOf({ method, path }: Pick<Route, "method" | "path">): string {
  return `${method} ${path}`;
}
