import { expect, it } from "vitest";
import { ApiServer } from "../server.ts";
import { aStore } from "../sqlite.ts";

const GIVEN = {
  url: "https://example.com/h",
  events: ["budget.exceeded"],
  uid: "crm",
  headers: { "X-Api-Key": "hunter2" },
  metadata: { team: "a" },
};

const api = await ApiServer.start(await aStore());
const { id } = (await api.post("/v1/webhooks", GIVEN)).body as { id: string };
await api.post("/v1/webhooks/event-types", { name: "order.created", group: "orders", deprecated: true });
/** An object of each route that replaces what another one shows. */
const OBJECTS: Record<string, string> = { "/v1/webhooks/:id": id, "/v1/webhooks/event-types/:id": "order.created" };

function put(path: string, body: object, key = api.adminKey) {
  return api.request("PUT", path, { body: JSON.stringify(body), key });
}

it("what was read can be sent back, by every route that replaces it, and changes nothing", async () => {
  const paths = api.routes.filter(({ method }) => method === "PUT").map(({ path }) => path);
  for (const path of paths) {
    expect(OBJECTS, "name an object for this route").toHaveProperty([path]);
    const at = path.replace(":id", OBJECTS[path]!);
    const { body: before } = await api.get(at);
    api.clock.advance("1s");
    const { status, body } = await put(at, before);
    expect({ status, errors: body.errors }, path).toEqual({ status: 200, errors: undefined });
    const { updated_at: _, ...after } = (await api.get(at)).body;
    expect(before).toMatchObject(after);
  }
});

it("a masked header keeps its value, by its uid too, and its other settings may change", async () => {
  const { body: read } = await api.get("/v1/webhooks/uid:crm?tenant=default");
  const changed = { ...read, description: "new", headers: { "x-api-key": "***", "X-Team": "a" } };
  expect((await put("/v1/webhooks/uid:crm", changed)).body).toMatchObject({ id, description: "new" });
  expect((await api.store.endpoints.target(id))!).toMatchObject({ headers: { "x-api-key": "hunter2", "X-Team": "a" } });
  const key = await api.addKey(["manage"]);
  const own = { ...read, headers: { "x-api-key": "***" } };
  expect((await put(`/v1/webhooks/${id}`, own, key)).status).toBe(200);
  expect((await api.store.endpoints.target(id))!).toMatchObject({ headers: { "x-api-key": "hunter2" } });
  // Without the scope secrets, nobody may send the value elsewhere.
  const moved = await put(`/v1/webhooks/${id}`, { ...own, url: "https://example.org/h" }, key);
  expect(moved).toMatchObject({ status: 403, body: { code: "forbidden" } });
  expect((await put("/v1/webhooks/uid:crm", { ...own, url: "https://example.org/h" }, key)).status).toBe(403);
});

it.each([
  [{ id: `ep_${"0".repeat(26)}` }, "/id"],
  [{ tenant: "acme" }, "/tenant"],
  [{ headers: { "X-Nope": "***" } }, "/headers/X-Nope"],
  [{ health: "fine" }, "/health"],
])("what belongs to another object is refused: %j", async (more, pointer) => {
  const { body } = await api.get(`/v1/webhooks/${id}`);
  const answer = await put(`/v1/webhooks/${id}`, { ...body, ...more });
  expect(answer).toMatchObject({ status: 422, body: { errors: [{ pointer }] } });
});

it("another type's name is refused, and what was deleted is not made anew under its old id", async () => {
  const { body: type } = await api.get("/v1/webhooks/event-types/order.created");
  const other = await put("/v1/webhooks/event-types/order.paid", type);
  expect(other).toMatchObject({ status: 422, body: { errors: [{ pointer: "/name", code: "conflicting_fields" }] } });
  const { body: read } = await api.get("/v1/webhooks/uid:crm?tenant=default");
  await api.request("DELETE", `/v1/webhooks/${id}`);
  const again = await put("/v1/webhooks/uid:crm", { ...read, headers: {} });
  expect(again).toMatchObject({ status: 422, body: { errors: [{ pointer: "/id" }] } });
});
