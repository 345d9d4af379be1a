import { describe, expect, it } from "vitest";
import { aStore, anEvent } from "./sqlite.ts";
import { ApiServer } from "./server.ts";

const EVENTS = "/v1/webhooks/events";
const DATA = '{"n":9007199254740993,"m":1.0,"h":1e400, "2":1,"1":"\\u0041é"}';

async function serve() {
  return ApiServer.start(await aStore());
}

async function register(api: ApiServer, more: Record<string, unknown> = {}, query = ""): Promise<string> {
  const url = "https://example.com/h";
  const { body } = await api.post(`/v1/webhooks${query}`, { url, events: ["budget.exceeded"], ...more });
  return body.id;
}

describe("an event", () => {
  it("comes back with the bytes of its data, its status and its deliveries", async () => {
    const api = await serve();
    const endpoint = await register(api);
    const { id } = (await api.post(EVENTS, `{"type":"budget.exceeded","data":${DATA}}`)).body;
    const { status, text, body } = await api.get(`${EVENTS}/${id}`);
    expect(status).toBe(200);
    expect(text).toContain(`"data":${DATA},"deliveries":`);
    expect({ ...body, data: null }).toEqual({
      id,
      type: "budget.exceeded",
      created_at: "2026-11-20T09:55:00.000Z",
      received_at: "2026-11-20T09:55:00.000Z",
      tenant: "default",
      test: false,
      publisher_id: null,
      tags: [],
      ordering_key: null,
      erased_at: null,
      status: "pending",
      data: null,
      deliveries: [
        {
          id: expect.stringMatching(/^dlv_/),
          endpoint,
          status: "pending",
          attempts: 0,
          next_attempt_at: "2026-11-20T09:55:00.000Z",
          sequence: null,
          waits_behind: null,
          last_attempt: null,
        },
      ],
      delivery_count: 1,
      more_deliveries: null,
    });
  });

  it("says how many deliveries it has, and where the rest is when it does not show all", async () => {
    const api = await serve();
    for (let n = 0; n < 103; n++) await register(api);
    const { body: published } = await api.post(EVENTS, { type: "budget.exceeded", data: {} });
    expect(published).toMatchObject({ delivery_count: 103 });
    const { body } = await api.get(`${EVENTS}/${published.id}`);
    expect(body.deliveries).toHaveLength(100);
    expect(body.delivery_count).toBe(103);
    const more = `/v1/webhooks/deliveries?event=${published.id}`;
    expect(body.more_deliveries).toBe(more);
    const [listed] = (await api.get(`${EVENTS}?include=deliveries`)).body.data;
    expect({ count: listed.delivery_count, more: listed.more_deliveries }).toEqual({ count: 103, more });
    const all = new Set<string>();
    for (let next = `${more}&limit=60`; next !== "";) {
      const page = await api.get(next);
      for (const { id } of page.body.data) all.add(id);
      next = /<(.*)>/.exec(String(page.headers.link ?? ""))?.[1] ?? "";
    }
    expect(all.size).toBe(103);
    for (const { id } of body.deliveries) expect(all).toContain(id);
  });

  it("shows what came back, decoded as far as it goes", async () => {
    const api = await serve();
    const endpoint = await register(api);
    const id = await anEvent(api.store, api.clock.now(), "failed");
    const { deliveries, status } = (await api.get(`${EVENTS}/${id}`)).body;
    expect(status).toBe("failed");
    const { body } = await api.get(`${EVENTS}/${id}/attempts`);
    expect(body).toEqual({ data: [deliveries[0].last_attempt], next_cursor: null });
    expect(body.data[0]).toEqual({
      id: expect.stringMatching(/^att_/),
      event: id,
      delivery: deliveries[0].id,
      endpoint,
      url: "https://example.com/h",
      number: 1,
      trigger: "ladder",
      started_at: "2026-11-20T09:55:00.000Z",
      duration_ms: 12,
      round: 1,
      retry: 0,
      outcome: "failed",
      status_code: 503,
      error: "http_status",
      body_error: null,
      detail: "the receiver answered 503",
      remote_address: null,
      secret: "current",
      phases: { dns_ms: null, connect_ms: null, tls_ms: null, first_byte_ms: null },
      response_headers: { "content-type": "text/plain" },
      response_body: "ok\ufffd",
      response_truncated: false,
    });
  });

  it("of another tenant is as if it were not there", async () => {
    const api = await serve();
    const id = await anEvent(api.store, api.clock.now(), "failed", { tenant: "acme" });
    const key = await api.addKey(["manage"], "globex");
    for (const path of [`${EVENTS}/${id}`, `${EVENTS}/${id}/attempts`]) {
      expect((await api.get(path, { key })).status).toBe(404);
      expect((await api.get(path)).status).toBe(200);
    }
    expect((await api.request("POST", `${EVENTS}/${id}/retry`, { key })).status).toBe(404);
    expect((await api.get(EVENTS, { key })).body.data).toEqual([]);
  });
});

describe("the list of events", () => {
  it("leaves out data and deliveries unless they are asked for", async () => {
    const api = await serve();
    await register(api);
    const { id } = (await api.post(EVENTS, `{"type":"budget.exceeded","data":${DATA}}`)).body;
    const [plain] = (await api.get(EVENTS)).body.data;
    expect(Object.keys(plain)).toEqual([
      "id",
      "type",
      "created_at",
      "received_at",
      "tenant",
      "test",
      "status",
      "publisher_id",
      "tags",
      "ordering_key",
      "erased_at",
    ]);
    expect((await api.get(`${EVENTS}?include=data`)).text).toContain(`"data":${DATA}}]`);
    const whole = (await api.get(`${EVENTS}?include=data,deliveries`)).body.data[0];
    expect(whole).toEqual((await api.get(`${EVENTS}/${id}`)).body);
    expect((await api.get(`${EVENTS}?include=secrets`)).body.code).toBe("invalid_query");
  });

  it("ends a page that shows data before it gets too large for memory, and goes on from there", async () => {
    const api = await serve();
    const body = { type: "budget.exceeded", data: { text: "x".repeat(250_000) } };
    const ids: string[] = [];
    for (let n = 0; n < 40; n++) ids.unshift((await api.post(EVENTS, body)).body.id);
    const first = (await api.get(`${EVENTS}?limit=100&include=data&total=true`)).body;
    expect(first).toMatchObject({ cut_short: true, total: 40, total_is: "exact" });
    // These events have 8 MiB together.
    expect(first.data).toHaveLength(34);
    const next = (await api.get(`${EVENTS}?limit=100&include=data&cursor=${first.next_cursor}`)).body;
    expect(next).toMatchObject({ next_cursor: null });
    expect(next.cut_short).toBeUndefined();
    expect([...first.data, ...next.data].map(({ id }: { id: string }) => id)).toEqual(ids);
    expect((await api.get(`${EVENTS}?limit=100`)).body.data).toHaveLength(40);
  });

  it("shows the data of many small events on one page, which is read in parts", async () => {
    const api = await serve();
    const events = Array.from({ length: 70 }, () => ({ type: "budget.exceeded", data: { k: 1 } }));
    const made = (await api.post(`${EVENTS}/batch`, { events })).body.data.map(({ id }: { id: string }) => id);
    for (const query of ["", "&data=k:1"]) {
      const { data, ...rest } = (await api.get(`${EVENTS}?limit=100&order=oldest&include=data&total=true${query}`))
        .body;
      expect(data.map(({ id }: { id: string }) => id)).toEqual(made);
      expect(rest).toMatchObject({ next_cursor: null, total: 70, total_is: "exact" });
      expect(rest.cut_short).toBeUndefined();
      expect(rest.searched).toEqual(query === "" ? undefined : { events: 70, until: null });
    }
    const half = (await api.get(`${EVENTS}?limit=35&include=data&total=true&data=k:1`)).body;
    expect(half.data).toHaveLength(35);
    expect(half).toMatchObject({ next_cursor: expect.any(String) });
    // A search says how far it got instead: a number that grows from page to page would not be a total.
    expect(half).not.toHaveProperty("total");
  });

  it("goes by when events were received, whatever they say of when they happened", async () => {
    const api = await serve();
    await register(api);
    const received: string[] = [];
    for (const created_at of ["2026-11-20T09:59:59.000Z", "1999-12-31T23:59:59.999Z", "2026-11-20T09:00:00+01:00"]) {
      received.push((await api.post(EVENTS, { type: "budget.exceeded", data: {}, created_at })).body.id);
      api.clock.advance("1s");
    }
    const list = (query: string) => api.get(`${EVENTS}?order=oldest${query}`).then(({ body }) => body.data);
    const all = await list("");
    expect(all.map(({ id }: { id: string }) => id)).toEqual(received);
    expect(all.map(({ created_at, received_at }: Record<string, string>) => [created_at, received_at])).toEqual([
      ["2026-11-20T09:59:59.000Z", "2026-11-20T09:55:00.000Z"],
      ["1999-12-31T23:59:59.999Z", "2026-11-20T09:55:01.000Z"],
      ["2026-11-20T08:00:00.000Z", "2026-11-20T09:55:02.000Z"],
    ]);
    expect(await list("&since=2026-11-20T09:55:01Z&until=2026-11-20T09:55:02Z")).toEqual([all[1]]);
  });

  it("is filtered and walked to its end", async () => {
    const api = await serve();
    const endpoint = await register(api);
    const failed = await anEvent(api.store, api.clock.now(), "failed");
    api.clock.advance("1h");
    const delivered = await anEvent(api.store, api.clock.now(), "delivered");
    const unmatched = await anEvent(api.store, api.clock.now(), "delivered", { type: "goal.achieved" });
    const ids = async (query: string) =>
      (await api.get(`${EVENTS}?${query}`)).body.data.map(({ id }: { id: string }) => id);
    expect(await ids("")).toEqual([unmatched, delivered, failed]);
    expect(await ids("status=failed")).toEqual([failed]);
    expect(await ids("status=unmatched")).toEqual([unmatched]);
    expect(await ids("status=failed,unmatched")).toEqual([unmatched, failed]);
    expect(await ids("status=failed,held")).toEqual([failed]);
    expect(await ids("type=goal.achieved,budget.exceeded&order=oldest")).toEqual([failed, delivered, unmatched]);
    expect(await ids("error=timeout,http_status")).toEqual([failed]);
    expect(await ids(`endpoint=${endpoint}&order=oldest`)).toEqual([failed, delivered]);
    expect(await ids("type=goal.achieved")).toEqual([unmatched]);
    expect(await ids("since=2026-11-20T10:00:00Z&until=2026-11-20T12:00:00%2B01:00")).toEqual([unmatched, delivered]);
    const { body: counted } = await api.get(`${EVENTS}?limit=1&total=true&status=delivered,failed`);
    expect(counted).toMatchObject({ data: [{ id: delivered }], total: 2, total_is: "exact" });
    const { body: uncounted } = await api.get(`${EVENTS}?total=false`);
    expect(uncounted).not.toHaveProperty("total");
    const walked: string[] = [];
    for (let cursor: string | null = ""; cursor !== null;) {
      const { body } = await api.get(`${EVENTS}?limit=1${cursor && `&cursor=${cursor}`}`);
      walked.push(...body.data.map(({ id }: { id: string }) => id));
      cursor = body.next_cursor;
    }
    expect(walked).toEqual([unmatched, delivered, failed]);
  });

  it("are sorted by what there is an index for", async () => {
    const api = await serve();
    const far = await register(api, { url: "https://b.example.com/" });
    const near = await register(api, { url: "https://a.example.com/" });
    const by = async (query: string) =>
      (await api.get(`/v1/webhooks?${query}`)).body.data.map(({ id }: { id: string }) => id);
    expect(await by("sort=host")).toEqual([near, far]);
    expect(await by("sort=-host")).toEqual([far, near]);
    expect(await by("sort=oldest")).toEqual([far, near]);
    const { headers } = await api.get("/v1/webhooks?sort=host&limit=1");
    expect(headers.link).toContain("sort=host");
    for (const [path, detail] of [
      [`${EVENTS}?sort=host`, "must be one of newest, oldest"],
      ["/v1/webhooks?sort=hots", "did you mean host?"],
      ["/v1/webhooks?sort=host&order=newest", "cannot be given with sort"],
    ] as const) {
      const { status, body } = await api.get(path);
      expect([status, body.code], path).toEqual([422, "invalid_query"]);
      expect(body.detail, path).toContain(detail);
    }
  });

  it("are found by what their data says, as far as a page got", async () => {
    const api = await serve();
    const endpoint = await register(api);
    const ids: string[] = [];
    for (const customer of ["cus_1", "cus_2", "cus_1"]) {
      const data = { customer: { id: customer }, n: ids.length };
      ids.push((await api.post(EVENTS, { type: "budget.exceeded", data })).body.id);
    }
    const asked = async (query: string, path = EVENTS) => (await api.get(`${path}?${query}`)).body;
    const found = await asked("data=customer.id:cus_1");
    expect(found.data.map(({ id }: { id: string }) => id)).toEqual([ids[2], ids[0]]);
    expect(found.searched).toEqual({ events: 3, until: null });
    expect(found.next_cursor).toBeNull();
    const first = await asked("data=customer.id:cus_1&limit=1&total=true");
    expect(first.data).toHaveLength(1);
    expect(first).toMatchObject({ searched: { until: first.data[0].received_at } });
    expect(first).not.toHaveProperty("total");
    const next = await asked(`data=customer.id:cus_1&limit=1&cursor=${first.next_cursor}`);
    expect(next.data[0].id).toBe(ids[0]);
    const both = await asked("data=customer.id:cus_1+n:2", "/v1/webhooks/deliveries");
    expect(both.data).toMatchObject([{ event: ids[2], endpoint }]);
    expect((await asked("data=customer.id:cus_3")).data).toEqual([]);
    const { status, body } = await api.get(`${EVENTS}?data=cus_1`);
    expect([status, body.code]).toEqual([422, "invalid_query"]);
    expect(body.detail).toContain("customer.id:cus_123");
  });

  it("are found by their publisher's id and tags until their data is erased", async () => {
    const api = await serve();
    const ids = async (query: string) =>
      (await api.get(`${EVENTS}?${query}`)).body.data.map(({ id }: { id: string }) => id);
    const labelled = await api.post(EVENTS, {
      type: "goal.achieved",
      data: {},
      created_at: "2026-11-20T09:00:00Z",
      publisher_id: "order-7",
      tags: ["eu", "acme"],
    });
    const { id } = labelled.body;
    for (const query of [
      "publisher_id=order-7",
      "tag=acme",
      "tag=nothing,eu",
      "label=order-7",
      "label=acme&type=goal.achieved",
    ]) {
      expect(await ids(query), query).toEqual([id]);
    }
    expect(await ids("tag=order-7")).toEqual([]);
    expect((await api.get(`${EVENTS}?tag=acme`)).body.data[0]).toMatchObject({
      publisher_id: "order-7",
      tags: ["acme", "eu"],
    });
    expect((await api.get(`${EVENTS}/${id}`)).body).toMatchObject({ publisher_id: "order-7", tags: ["acme", "eu"] });
    await api.request("DELETE", `${EVENTS}/${id}/data`);
    expect(await ids("tag=acme")).toEqual([]);
    expect((await api.get("/v1/webhooks/deliveries?tag=acme")).status).toBe(200);
  });

  it("are others with other tags, as far as their idempotency key goes", async () => {
    const api = await serve();
    const publish = (tags: string[]) =>
      api.post(EVENTS, { type: "goal.achieved", data: {}, tags }, { headers: { "idempotency-key": "labels" } });
    const one = await publish(["a", "b"]);
    expect(one.status).toBe(202);
    expect((await publish(["b", "a"])).body.id).toBe(one.body.id);
    expect((await publish(["a"])).body.code).toBe("idempotency_mismatch");
  });

  it.each([
    "limit=0",
    "limit=101",
    "limit=1e3",
    "limit=",
    "limit=1&limit=2",
    "cursor=AAAA",
    "cursor=%00",
    "status=nope",
    "status=failed,nope",
    "status=failed,",
    "status=failed,failed",
    "type=budget.exceeded,nope.nope",
    "error=timeout,nope",
    "sort=id;drop",
    "since=2026-13-45T00:00:00Z",
    "since=2026-11-20T09:55:00+01:00",
    "since=%ff",
    "%ff=1",
    "__proto__=1",
    "order=up",
    "test=yes",
    "endpoint=ep_1",
  ])("refuses ?%s", async (query) => {
    const api = await serve();
    const { status, body } = await api.get(`${EVENTS}?${query}`);
    expect({ status, code: body.code }).toEqual({ status: 422, code: "invalid_query" });
  });
});

it("an instant whose + was not escaped is refused with how to write it", async () => {
  const api = await serve();
  const { body } = await api.get(`${EVENTS}?since=2026-11-20T09:55:00+01:00`);
  expect(body.detail).toBe("since must be an instant such as 2026-11-20T09:55:00Z; write the + of its offset as %2B");
  expect((await api.get(`${EVENTS}?since=2026-11-20T09:55:00%2B01:00`)).status).toBe(200);
});

describe("a retry", () => {
  it("starts a new round for what failed, hands it over and answers the event", async () => {
    const api = await serve();
    const endpoint = await register(api);
    const id = await anEvent(api.store, api.clock.now(), "failed");
    const { status, body } = await api.request("POST", `${EVENTS}/${id}/retry`);
    expect(status).toBe(202);
    expect(body).toMatchObject({ id, status: "pending", left_alone: [] });
    expect(api.accepted).toEqual([{ fresh: [], waiting: [{ endpoint, event: id, dueAt: api.clock.now() }] }]);
    const again = await api.request("POST", `${EVENTS}/${id}/retry`);
    expect({ status: again.status, code: again.body.code }).toEqual({ status: 409, code: "event_not_failed" });
    expect(again.body.detail).toContain("force");
  });

  it("says of an event that nobody chose that there is nothing to send", async () => {
    const api = await serve();
    const { body } = await api.post(EVENTS, { type: "budget.exceeded", data: {} });
    const { status, body: problem } = await api.post(`${EVENTS}/${body.id}/retry`, { force: true });
    expect({ status, code: problem.code }).toEqual({ status: 409, code: "event_not_failed" });
    expect(problem.detail).toContain("no endpoint had chosen its type");
  });

  it("makes one round of twenty at once", async () => {
    const api = await serve();
    await register(api);
    const id = await anEvent(api.store, api.clock.now(), "failed");
    const answers = await Promise.all(Array.from({ length: 20 }, () => api.request("POST", `${EVENTS}/${id}/retry`)));
    expect(answers.map(({ status }) => status).sort()).toEqual([202, ...Array<number>(19).fill(409)]);
    expect(api.accepted).toHaveLength(1);
  });

  it("says of a cancelled event that nothing brings it back, not even force", async () => {
    const api = await serve();
    await register(api);
    const { body: published } = await api.post(EVENTS, { type: "budget.exceeded", data: {} });
    const id = String(published.id);
    await api.post(`${EVENTS}/${id}/cancel`, {});
    for (const scope of [{}, { force: true }]) {
      const { status, body } = await api.post(`${EVENTS}/${id}/retry`, scope);
      expect({ status, code: body.code }).toEqual({ status: 409, code: "event_not_failed" });
      expect(body.detail).toBe("the selected deliveries were cancelled, and what is cancelled is never sent again");
    }
  });

  it("sends a delivered event again only by force", async () => {
    const api = await serve();
    await register(api);
    const id = await anEvent(api.store, api.clock.now(), "delivered");
    expect((await api.post(`${EVENTS}/${id}/retry`, {})).body.code).toBe("event_not_failed");
    expect((await api.post(`${EVENTS}/${id}/retry`, { force: true })).status).toBe(202);
  });

  it("stays within the endpoint that it names", async () => {
    const api = await serve();
    const [one, other] = [await register(api), await register(api)];
    const id = await anEvent(api.store, api.clock.now(), "failed");
    expect((await api.post(`${EVENTS}/${id}/retry`, { endpoint: one })).body.status).toBe("failed");
    expect(api.accepted.flatMap(({ waiting }) => waiting)).toMatchObject([{ endpoint: one }]);
    expect((await api.post(`${EVENTS}/${id}/retry`, { endpoint: other })).body.status).toBe("pending");
  });

  it("leaves deliveries to a deleted endpoint alone, and says so", async () => {
    const api = await serve();
    const [kept, deleted] = [await register(api), await register(api)];
    const both = await anEvent(api.store, api.clock.now(), "failed");
    await api.request("DELETE", `/v1/webhooks/${deleted}`);
    const { body } = await api.request("POST", `${EVENTS}/${both}/retry`);
    expect(body.left_alone).toEqual([
      { delivery: expect.stringMatching(/^dlv_/), endpoint: deleted, reason: "endpoint_deleted" },
    ]);
    await api.request("DELETE", `/v1/webhooks/${kept}`);
    const refused = await api.post(`${EVENTS}/${both}/retry`, { endpoint: deleted });
    expect({ status: refused.status, code: refused.body.code }).toEqual({ status: 409, code: "endpoint_disabled" });
    expect(refused.body.detail).toContain(deleted);
  });

  it("refuses what it does not know", async () => {
    const api = await serve();
    const id = await anEvent(api.store, api.clock.now(), "failed");
    expect((await api.post(`${EVENTS}/${id}/retry`, { fource: true })).body.errors[0].code).toBe("unknown_field");
    expect((await api.post(`${EVENTS}/evt_1/retry`, {})).status).toBe(404);
  });
});
