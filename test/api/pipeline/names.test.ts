import { beforeAll, describe, expect, it } from "vitest";
import type { Route } from "../../../src/api/pipeline/route.ts";
import { ApiServer, type Answer } from "../server.ts";
import { anEvent, aStore } from "../sqlite.ts";

const EVENTS = "/v1/webhooks/events";
const DELIVERIES = "/v1/webhooks/deliveries";
const NOBODYS = `ep_${"0".repeat(26)}`;

let api: ApiServer;
/** A key of tenant acme. */
let key: string;
let ours: string;
let theirs: string;
let event: string;

beforeAll(async () => {
  api = await ApiServer.start(await aStore());
  key = await api.addKey(["manage"], "acme");
  const register = async (tenant: string) =>
    (await api.post(`/v1/webhooks?tenant=${tenant}`, { url: "https://example.com/h", events: ["budget.exceeded"] }))
      .body.id as string;
  [ours, theirs] = [await register("acme"), await register("globex")];
  event = await anEvent(api.store, api.clock.now(), "failed", { tenant: "acme" });
  await anEvent(api.store, api.clock.now(), "failed", { tenant: "acme", type: "order.removed" });
});

/** Returns the response without the parts that differ from one to the next. */
function said({ status, body }: Answer, name: string): unknown {
  return JSON.parse(JSON.stringify({ status, ...body, request_id: "" }).replaceAll(name, "NAME"));
}

describe("a filter that names what there is not", () => {
  it.each([
    [`${EVENTS}?type=budget.exceded`, "?type", "budget.exceeded"],
    [`${DELIVERIES}?type=budget.exceded`, "?type", "budget.exceeded"],
    ["/v1/webhooks?type=goal.acheived", "?type", "goal.achieved"],
  ])("%s is refused with the nearest type", async (path, pointer, nearest) => {
    const { status, body } = await api.get(path, { key });
    expect({ status, code: body.code }).toEqual({ status: 422, code: "invalid_query" });
    expect(body.errors).toMatchObject([{ pointer, code: "unknown_event_type" }]);
    expect(body.detail).toContain(`did you mean ${nearest}?`);
  });

  it.each([
    [`${EVENTS}?status=faild`, "failed"],
    [`${DELIVERIES}?error=time_out`, "timeout"],
    [`/v1/webhooks/ENDPOINT/attempts?outcome=faild`, "failed"],
    ["/v1/webhooks/stream?status=deliverd", "delivered"],
  ])("%s is refused with the nearest word", async (path, nearest) => {
    const { status, body } = await api.get(path.replace("ENDPOINT", ours), { key });
    expect({ status, code: body.code }).toEqual({ status: 422, code: "invalid_query" });
    expect(body.detail).toContain(`did you mean ${nearest}?`);
    expect(body.detail).toContain("must be one of");
  });

  it("is refused by every route for an endpoint that does not exist and, in the same words, for another tenant's", async () => {
    const takes = ({ query = [] }: Route) => query !== "any" && query.some(({ name }) => name === "endpoint");
    const paths = api.routes.filter((route) => route.method === "GET" && takes(route)).map(({ path }) => path);
    expect(paths).toEqual(expect.arrayContaining([EVENTS, DELIVERIES, "/v1/webhooks/stream", "/v1/webhooks/stats"]));
    for (const path of paths.map((each) => each.replace(":id", event))) {
      const [one, other] = [NOBODYS, theirs].map((id) => api.get(`${path}?endpoint=${id}`, { key }));
      const answer = await one!;
      const { status, body } = answer;
      expect({ status, errors: body.errors }, path).toMatchObject({
        status: 422,
        errors: [{ pointer: "?endpoint", code: "unknown_endpoint" }],
      });
      expect(said(await other!, theirs), path).toEqual(said(answer, NOBODYS));
      expect((await api.get(`${path}?tenant=globex&endpoint=${ours}`)).status, path).toBeOneOf([404, 422]);
    }
  });

  it("is refused for an event, too", async () => {
    const { body } = await api.get(`${DELIVERIES}?event=evt_${"0".repeat(26)}`, { key });
    expect(body.errors).toMatchObject([{ pointer: "?event", code: "unknown_event" }]);
    expect((await api.get(`${DELIVERIES}?event=${event}`, { key })).body.data).toHaveLength(1);
    expect((await api.get(`${DELIVERIES}?event=${event}`, { key: await api.addKey(["read"], "globex") })).status).toBe(
      422,
    );
  });

  it("is none where there was such a thing once", async () => {
    const old = await api.get(`${EVENTS}?type=order.removed`, { key });
    expect(old.body.data).toMatchObject([{ type: "order.removed" }]);
    const { id } = (
      await api.post("/v1/webhooks", { url: "https://example.com/h", events: ["goal.achieved"] }, { key: api.adminKey })
    ).body;
    await api.request("DELETE", `/v1/webhooks/${id}`);
    expect(await api.get(`${EVENTS}?endpoint=${id}`)).toMatchObject({ status: 200, body: { data: [] } });
  });

  it("of a job is refused, and points at the field", async () => {
    const make = (filter: object) =>
      api.post("/v1/webhooks/jobs", { action: "replay", filter, dry_run: true }, { key });
    const mistyped = await make({ type: "budget.exceded" });
    expect(mistyped).toMatchObject({ status: 422, body: { code: "validation_failed" } });
    expect(mistyped.body.errors).toMatchObject([{ pointer: "/filter/type", code: "unknown_event_type" }]);
    expect(mistyped.body.detail).toContain("did you mean budget.exceeded?");
    const foreign = await make({ endpoint: theirs });
    expect(foreign.body.errors).toMatchObject([{ pointer: "/filter/endpoint", code: "unknown_endpoint" }]);
    expect(said(foreign, theirs)).toEqual(said(await make({ endpoint: NOBODYS }), NOBODYS));
    expect((await make({ endpoint: ours, type: "budget.exceeded" })).body.matched).toBe(1);
  });
});

describe("an endpoint that an event was never owed to", () => {
  it.each(["retry", "cancel"])("is a fault of a %s, which never advises force", async (verb) => {
    const ask = (endpoint: string) => api.post(`${EVENTS}/${event}/${verb}`, { endpoint }, { key });
    const other = (await api.post("/v1/webhooks", { url: "https://example.com/h", events: ["goal.achieved"] }, { key }))
      .body.id;
    for (const endpoint of ["garbage", NOBODYS, theirs, other]) {
      const { status, body, text } = await ask(endpoint);
      expect({ status, code: body.code }, endpoint).toEqual({ status: 422, code: "validation_failed" });
      expect(body.errors).toMatchObject([{ pointer: "/endpoint" }]);
      expect(text).not.toContain("force");
    }
    expect(said(await ask(theirs), theirs)).toEqual(said(await ask(NOBODYS), NOBODYS));
    expect((await api.post(`${EVENTS}/evt_${"0".repeat(26)}/${verb}`, { endpoint: ours }, { key })).status).toBe(404);
  });
});

describe("a type that there is not", () => {
  it("is refused with the nearest one, wherever it is written", async () => {
    const mistyped = { type: "budget.exceded", data: {} };
    const register = { url: "https://example.com/h", events: ["budget.exceded"] };
    const answers = [
      await api.post(EVENTS, mistyped),
      await api.post(`${EVENTS}/batch`, { events: [mistyped] }),
      await api.post("/v1/webhooks", register),
      await api.request("PATCH", `/v1/webhooks/${ours}`, { body: JSON.stringify({ events: register.events }) }),
      await api.post(`/v1/webhooks/${ours}/test`, { type: "budget.exceded" }),
    ];
    for (const { status, body } of answers) {
      expect({ status, code: body.errors[0].code }).toEqual({ status: 422, code: "unknown_event_type" });
      expect(body.errors[0].detail).toContain("did you mean budget.exceeded?");
    }
    const { body } = await api.post(EVENTS, { type: "x", data: {} });
    expect(body.errors[0].detail).toContain("GET /v1/webhooks/event-types");
  });
});

describe("a tenant that the query names", () => {
  const event = { type: "budget.exceeded", data: {} };

  it("may not contradict the body", async () => {
    const answers = [
      [await api.post(`${EVENTS}?tenant=acme`, { ...event, tenant: "globex" }), "/tenant"],
      [
        await api.post(`${EVENTS}/batch?tenant=acme`, { events: [event, { ...event, tenant: "b" }] }),
        "/events/1/tenant",
      ],
      [await api.post("/v1/keys?tenant=acme", { scopes: ["read"], tenant: "globex" }), "/tenant"],
      [await api.post("/v1/keys?tenant=acme", { scopes: ["read"], tenant: "*" }), "/tenant"],
    ] as const;
    for (const [{ status, body }, pointer] of answers) {
      expect({ status, code: body.code }).toEqual({ status: 422, code: "validation_failed" });
      expect(body.errors).toMatchObject([{ pointer, code: "conflicting_fields" }]);
    }
    expect((await api.post(`${EVENTS}?tenant=acme`, { ...event, tenant: "acme" })).status).toBe(202);
    expect((await api.post("/v1/keys?tenant=acme", { scopes: ["read"], tenant: "acme" })).status).toBe(201);
  });

  it("is refused when it is not a tenant name, whatever the body says", async () => {
    for (const [path, body] of [
      ["/v1/keys", { scopes: ["read"], tenant: "acme" }],
      [EVENTS, { ...event, tenant: "acme" }],
    ] as const) {
      const answer = await api.post(`${path}?tenant=a%20b`, body);
      expect(answer.body, path).toMatchObject({ status: 422, code: "invalid_query" });
    }
  });
});
