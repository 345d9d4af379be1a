import { describe, expect, it } from "vitest";
import { ApiServer } from "../server.ts";
import { aStore } from "../sqlite.ts";

const PATH = "/v1/webhooks";
const EVENTS = `${PATH}/events`;
const LARGE = { data: { amount: { $gt: 1000 }, currency: "EUR" } };

async function serve() {
  const api = await ApiServer.start(await aStore());
  const register = async (more: object = {}): Promise<string> => {
    const body = { url: "https://example.com/h", events: ["budget.exceeded"], ...more };
    const { status, body: answer } = await api.post(PATH, body);
    expect(status).toBe(201);
    return answer.id;
  };
  const patch = (id: string, body: object, key?: string) =>
    api.request("PATCH", `${PATH}/${id}`, { body: JSON.stringify(body), ...(key !== undefined && { key }) });
  const publish = (data: object, more: object = {}) => api.post(EVENTS, { type: "budget.exceeded", data, ...more });
  const attempt = (id: string, body: object, key?: string) =>
    api.post(`${PATH}/${id}/filter/test`, body, key === undefined ? {} : { key });
  const link = async (can: string[], endpoints?: string[]): Promise<string> => {
    const { body } = await api.post("/v1/portal-links", { can, endpoints });
    return body.url.split("#")[1];
  };
  return { api, register, patch, publish, attempt, link };
}

describe("the filter of an endpoint", () => {
  it("is set, shown, replaced as a whole, and removed", async () => {
    const { api, register, patch, publish } = await serve();
    const id = await register({ filter: LARGE });
    expect((await api.get(`${PATH}/${id}`)).body.filter).toEqual(LARGE);
    expect((await publish({ amount: 5, currency: "EUR" })).body.delivery_count).toBe(0);
    expect((await publish({ amount: 5000, currency: "EUR" })).body.delivery_count).toBe(1);
    const other = { data: { note: null } };
    expect((await patch(id, { filter: other })).body.filter).toEqual(other);
    expect((await patch(id, { description: "d" })).body.filter).toEqual(other);
    expect((await publish({ note: null })).body.delivery_count).toBe(1);
    expect((await patch(id, { filter: null })).body.filter).toBeNull();
    expect((await publish({})).body.delivery_count).toBe(1);
    expect((await api.get(`${PATH}/${await register()}`)).body.filter).toBeNull();
  });

  it("is refused with the place of each fault, and what was probably meant", async () => {
    const { api, register, patch } = await serve();
    const id = await register();
    const filter = { data: { "a/b": { $gte2: 5 } }, $or: [{ type: { $startsWith: 5 } }] };
    const { status, body } = await patch(id, { filter });
    expect(status).toBe(422);
    expect(body.errors).toEqual([
      { pointer: "/filter/data/a~1b/$gte2", code: "invalid_filter", detail: expect.stringMatching(/mean \$gte\?$/) },
      { pointer: "/filter/$or/0/type/$startsWith", code: "invalid_filter", detail: "takes a text" },
    ]);
    const refused = await api.post(PATH, { url: "https://example.com/h", events: ["budget.exceeded"], filter: {} });
    expect(refused.body.errors).toMatchObject([{ pointer: "/filter", code: "invalid_filter" }]);
    expect((await patch(id, { filter: [] })).body.errors).toMatchObject([{ pointer: "/filter" }]);
  });

  it("may look at tags, but not through a portal link, which does not see them", async () => {
    const { register, patch, attempt, link } = await serve();
    const id = await register({ filter: { tags: "vip" } });
    const customer = await link(["manage"]);
    for (const { status, body } of [
      await patch(id, { filter: { $not: { tags: "eu" } } }, customer),
      await attempt(id, { type: "budget.exceeded", data: {} }, customer),
      await attempt(id, { filter: { tags: "vip" }, type: "budget.exceeded", data: {} }, customer),
    ]) {
      expect(status).toBe(422);
      expect(body.errors).toMatchObject([{ pointer: "/filter", code: "invalid_filter" }]);
    }
    expect((await patch(id, { description: "d" }, customer)).body.filter).toEqual({ tags: "vip" });
    expect((await patch(id, { filter: LARGE }, customer)).body.filter).toEqual(LARGE);
  });
});

describe("trying a filter", () => {
  it("says which condition decides, with the value found", async () => {
    const { register, publish, attempt } = await serve();
    const id = await register({ filter: LARGE });
    const { body: event } = await publish({ amount: 250, currency: "EUR" }, { tags: ["vip"] });
    expect((await attempt(id, { event: event.id })).body).toEqual({
      matches: false,
      too_large: false,
      decided: [{ pointer: "/data/amount/$gt", path: "/data/amount", found: "250", holds: false }],
    });
    const other = { tags: "vip", data: { currency: { $neq: "USD" }, gone: { $exist: false } } };
    const { body } = await attempt(id, { event: event.id, filter: other });
    expect(body).toMatchObject({ matches: true, decided: { length: 3 } });
    expect(body.decided).toContainEqual({
      pointer: "/data/gone/$exist",
      path: "/data/gone",
      found: null,
      holds: true,
    });
    const given = { type: "budget.exceeded", data: { amount: 1001, currency: "EUR" } };
    expect((await attempt(id, given)).body.matches).toBe(true);
    expect((await attempt(id, { ...given, filter: null })).body).toEqual({
      matches: true,
      too_large: false,
      decided: [],
    });
    const long = await attempt(id, { ...given, filter: { data: { note: "y" } }, data: { note: "x".repeat(500) } });
    expect(long.body.decided[0].found).toHaveLength(201);
  });

  it("needs an event that the key may see, or one that is given", async () => {
    const { api, register, publish, attempt, link } = await serve();
    const [id, other] = [await register(), await register({ filter: LARGE })];
    const { body: event } = await publish({ amount: 5 });
    const errors = async (body: object, key?: string) =>
      (await attempt(other, body, key)).body.errors?.map(({ pointer, code }: any) => `${pointer} ${code}`);
    expect(await errors({})).toEqual(["/type missing_field", "/data missing_field"]);
    expect(await errors({ type: "x" })).toEqual(["/data missing_field"]);
    expect(await errors({ event: event.id, data: {} })).toEqual(["/event conflicting_fields"]);
    expect(await errors({ event: "evt_06fbqxwbd21qccbzvcs4v8x7pt" })).toEqual(["/event unknown_event"]);
    // The event went only to the first endpoint.
    expect(await errors({ event: event.id }, await link(["read"], [other]))).toEqual(["/event unknown_event"]);
    expect(await errors({ event: event.id }, await link(["read"], [id, other]))).toBeUndefined();
    expect((await attempt(id, { event: event.id }, await link(["read"], [other]))).status).toBe(404);
    await api.request("DELETE", `${EVENTS}/${event.id}/data`);
    expect(await errors({ event: event.id })).toEqual(["/event unknown_event"]);
  });
});
