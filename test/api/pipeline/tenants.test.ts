import { describe, expect, it } from "vitest";
import type { Route } from "../../../src/api/pipeline/route.ts";
import { ApiServer, type RequestOptions } from "../server.ts";
import { anEvent, aStore } from "../sqlite.ts";

const api = await ApiServer.start(await aStore());
const ours = await api.addKey(["admin"], "acme");
const theirs = await api.addKey(["admin"], "globex");

/** Creates one object of each kind for tenant acme, and returns their ids by prefix. Add new kinds here. */
async function belongings(): Promise<Record<string, string>> {
  const registration = { url: "https://example.com/h", events: ["budget.exceeded"] };
  const endpoint = await api.post("/v1/webhooks?tenant=acme", registration);
  const key = await api.post("/v1/keys?tenant=acme", { scopes: ["read"] });
  const event = await anEvent(api.store, api.clock.now(), "failed", { tenant: "acme" });
  const { deliveries } = (await api.get(`/v1/webhooks/events/${event}`)).body;
  const { id: delivery, last_attempt: attempt } = deliveries[0];
  const job = await api.post("/v1/webhooks/jobs?tenant=acme", { action: "replay", filter: { status: "failed" } });
  return { job: job.body.id, ep: endpoint.body.id, evt: event, key: key.body.id, dlv: delivery, att: attempt.id };
}

/** Nodes, outboxes and event types belong to no tenant, and have names in place of ids. */
const isOfDaemon = (path: string) =>
  ["/v1/nodes/", "/v1/outboxes/", "/v1/webhooks/event-types/"].some((start) => path.startsWith(start));

const named = (route: Route) => [`${route.method} ${route.path}`, route] as const;
const ofOne = api.routes.filter(({ path, access }) => path.includes("/:") && access !== "open" && !isOfDaemon(path));
const ofAll = api.routes.filter(
  ({ path, method, access, operation }) =>
    !path.includes(":") &&
    method === "GET" &&
    access !== "open" &&
    // The stream never ends. It has a test of its own.
    operation.id !== "streamChanges",
);

function call(
  { method, path, body, operation }: Route,
  ids: Record<string, string>,
  options: RequestOptions,
  more = "",
) {
  const filled = path.replaceAll(/:(\w+)/g, (_, name: string) => {
    const prefix = operation.params![name]!;
    if (ids[prefix] === undefined) throw new Error(`belongings() has none of ${prefix}_`);
    return ids[prefix];
  });
  const text = body === undefined ? undefined : JSON.stringify(operation.example);
  return api.request(method, filled + more, { ...options, ...(text !== undefined && { body: text }) });
}

describe("what belongs to another tenant", () => {
  it.each(ofOne.map(named))("%s is as if it were not there", async (_, route) => {
    const ids = await belongings();
    for (const options of [{ key: theirs }, {}] as const) {
      const foreign = await call(route, ids, options, "key" in options ? "" : "?tenant=globex");
      expect({ status: foreign.status, detail: foreign.body?.detail }).toEqual({
        status: 404,
        detail: "there is nothing here for this key",
      });
    }
    expect((await call(route, ids, { key: ours })).status).not.toBe(404);
  });

  it.each(ofAll.map(named))("%s shows nothing of it", async (_, route) => {
    const ids = Object.values(await belongings());
    const { text } = await call(route, {}, { key: theirs });
    for (const id of ids) expect(text).not.toContain(id);
    expect(text).not.toContain("acme");
  });

  it("is not even listed when a key of one tenant names another", async () => {
    await belongings();
    const { status, body } = await api.get("/v1/webhooks?tenant=acme", { key: theirs });
    expect({ status, code: body.code }).toEqual({ status: 403, code: "forbidden" });
  });

  it.each(api.routes.filter(({ path, reach }) => isOfDaemon(path) && reach !== "all").map(named))(
    "%s is for a key of every tenant alone",
    async (_, { method, path }) => {
      const { status, body } = await api.request(method, path.replace(":id", "a"), { key: theirs });
      expect({ status, code: body.code }).toEqual({ status: 403, code: "forbidden" });
    },
  );

  it("gets no event of ours, from whichever key it comes", async () => {
    const publisher = await api.addKey(["publish"], "*");
    const { ep } = await belongings();
    const publish = async (path: string, tenant?: string) => {
      const event = { type: "budget.exceeded", data: {}, ...(tenant !== undefined && { tenant }) };
      const { body } = await api.post(path, event, { key: publisher });
      const { deliveries } = (await api.get(`/v1/webhooks/events/${body.id}`)).body;
      return deliveries.some(({ endpoint }: { endpoint: string }) => endpoint === ep);
    };
    expect(await publish("/v1/webhooks/events", "acme")).toBe(true);
    expect(await publish("/v1/webhooks/events?tenant=acme")).toBe(true);
    expect(await publish("/v1/webhooks/events", "globex")).toBe(false);
    expect(await publish("/v1/webhooks/events")).toBe(false);
  });
});
