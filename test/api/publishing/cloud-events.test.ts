import { describe, expect, it } from "vitest";
import { FakeStore } from "../fake-store.ts";
import { ApiServer } from "../server.ts";
import { aStore } from "../sqlite.ts";

const EVENTS = "/v1/webhooks/events";
const BATCH = `${EVENTS}/batch`;
const DATA = '{"n":9007199254740993,"m":1.0, "s":"é"}';
const TIME = "2026-11-20T09:00:00Z";
const ATTRIBUTES = { specversion: "1.0", id: "order-7", source: "/shop", type: "budget.exceeded" };
const STRUCTURED = { headers: { "content-type": "application/cloudevents+json; charset=utf-8" } };
const BATCHED = { headers: { "content-type": "application/cloudevents-batch+json" } };
const binary = (more: Record<string, string> = {}) => ({
  headers: {
    "content-type": "application/json",
    ...Object.fromEntries(Object.entries(ATTRIBUTES).map(([name, value]) => [`ce-${name}`, value])),
    ...more,
  },
});
const text = (more: object = {}) => JSON.stringify({ ...ATTRIBUTES, data: {}, ...more });

async function serve() {
  const fake = new FakeStore();
  return { fake, api: await ApiServer.start(fake.asStore()) };
}

describe("a CloudEvent", () => {
  it("becomes the same event in each mode, with the bytes of its data, under the same key", async () => {
    const { api, fake } = await serve();
    const more = `"time":"${TIME}","partitionkey":"order_7","subject":"left out","data":${DATA}`;
    const whole = `${JSON.stringify(ATTRIBUTES).slice(0, -1)},${more}}`;
    expect((await api.post(EVENTS, whole, STRUCTURED)).status).toBe(202);
    const headers = { "ce-time": TIME, "ce-partitionkey": "order%5F7", "ce-subject": "left out" };
    expect((await api.post(EVENTS, DATA, binary(headers))).status).toBe(202);
    const batched = await api.post(BATCH, `[${whole}]`, BATCHED);
    expect([batched.status, batched.body.data.length]).toEqual([202, 1]);
    const [first, ...others] = fake.drafts;
    expect(first).toMatchObject({
      type: "budget.exceeded",
      createdAt: Date.parse(TIME),
      labels: { publisherId: "order-7", tags: [] },
      orderingKey: "order_7",
      idempotency: { key: expect.stringMatching(/^cloudevent:[\w-]{43}$/) },
    });
    for (const draft of fake.drafts) expect(Buffer.from(draft.data).toString()).toBe(DATA);
    expect(others).toEqual([first, first]);
  });

  it("has a key of its own for each source and id, whatever characters they have", async () => {
    const { api, fake } = await serve();
    const events = [{}, { id: "8" }, { source: "/shopo", id: "rder-7" }, { id: "é ü" }, { source: "x".repeat(2000) }];
    await api.post(BATCH, `[${events.map(text).join(",")}]`, BATCHED);
    expect(new Set(fake.drafts.map(({ idempotency }) => idempotency!.key)).size).toBe(5);
    expect(fake.drafts[3]!.labels).toBeUndefined();
    await api.post(EVENTS, "{}", binary({ "ce-id": "%C3%A9 ü".replace("ü", "%C3%BC") }));
    expect(fake.drafts[5]!.idempotency!.key).toBe(fake.drafts[3]!.idempotency!.key);
    await api.post(EVENTS, "{}", binary({ "ce-id": String.raw`"order-\7"` }));
    expect(fake.drafts[6]!.idempotency!.key).toBe(fake.drafts[0]!.idempotency!.key);
  });

  it("takes an attribute that is null as one that is left out, alone and in a batch", async () => {
    const { api, fake } = await serve();
    const nulls = { time: null, partitionkey: null, datacontenttype: null, data_base64: null, subject: null };
    expect((await api.post(EVENTS, text(nulls), STRUCTURED)).status).toBe(202);
    expect((await api.post(BATCH, `[${text(nulls)}]`, BATCHED)).status).toBe(202);
    expect((await api.post(EVENTS, text(), STRUCTURED)).status).toBe(202);
    const [alone, batched, without] = fake.drafts;
    expect([alone, batched]).toEqual([without, without]);
  });

  it.each([
    ["a source that is null", { source: null }, "missing_field", "/source"],
    ["data that is null", { data: null }, "invalid_type", "/data"],
    ["another version", { specversion: "0.3" }, "out_of_range", "/specversion"],
    ["no source", { source: undefined }, "missing_field", "/source"],
    ["an empty id", { id: "" }, "too_few", "/id"],
    ["an id that is a number", { id: 7 }, "invalid_type", "/id"],
    ["no type", { type: undefined }, "missing_field", "/type"],
    ["an unknown type", { type: "nope" }, "unknown_event_type", "/type"],
    ["a time that is none", { time: "today" }, "invalid_type", "/time"],
    ["no data", { data: undefined }, "missing_field", "/data"],
    ["data that is no object", { data: [1] }, "invalid_type", "/data"],
    ["data in base64", { data_base64: "e30=" }, "unknown_field", "/data_base64"],
    ["data of another type", { datacontenttype: "text/xml" }, "invalid_type", "/datacontenttype"],
    ["a key that is too long", { partitionkey: "k".repeat(257) }, "too_long", "/partitionkey"],
  ])("with %s is refused, alone and in a batch", async (_what, more, code, pointer) => {
    const { api, fake } = await serve();
    const alone = await api.post(EVENTS, text(more), STRUCTURED);
    expect([alone.status, alone.body.errors]).toEqual([422, [expect.objectContaining({ code, pointer })]]);
    const batch = await api.post(BATCH, `[${text()},${text(more)}]`, BATCHED);
    expect([batch.status, batch.body.errors]).toEqual([
      422,
      [expect.objectContaining({ code, pointer: `/1${pointer}` })],
    ]);
    expect(fake.drafts).toEqual([]);
  });

  it.each([
    ["no type", { "ce-type": "" }, "{}", "", "the header ce-type must not be empty"],
    ["a time that is none", { "ce-time": "today" }, "{}", "", "the header ce-time must be an RFC 3339 instant"],
    ["a broken escape", { "ce-id": "%C3" }, "{}", "", "the header ce-id is not percent-encoded UTF-8"],
    ["another version", { "ce-specversion": "2.0" }, "{}", "", 'the header ce-specversion must be "1.0"'],
    ["no data", {}, "", "", "the data is required"],
    ["data that closes its object", {}, '{}, "type":"goal.achieved"', "", undefined],
    ["a list as data", {}, "[]", "", "the data must be an object"],
  ])("in binary mode with %s is refused, and the answer says where", async (_what, more, body, pointer, detail) => {
    const { api, fake } = await serve();
    const answer = await api.post(EVENTS, body, binary(more as Record<string, string>));
    expect(answer.status).toBeOneOf([400, 422]);
    expect(answer.body.errors[0].pointer).toBe(pointer);
    if (detail !== undefined) expect(answer.body.errors[0].detail).toContain(detail);
    expect(fake.drafts).toEqual([]);
  });

  it("is refused with a key of the request, which would name another event", async () => {
    const { api } = await serve();
    const headers = { ...STRUCTURED.headers, "idempotency-key": "mine" };
    const answer = await api.post(EVENTS, text(), { headers });
    expect([answer.status, answer.body.errors[0].code]).toEqual([422, "conflicting_fields"]);
  });

  it("may be repeated in a batch under a key of the request, which is that of the whole batch", async () => {
    const api = await ApiServer.start(await aStore());
    const send = (key: string | null, ...events: readonly string[]) => {
      const headers = { ...BATCHED.headers, ...(key !== null && { "idempotency-key": key }) };
      return api.post(BATCH, `[${events.join(",")}]`, { headers });
    };
    const [one, two] = [text({ time: TIME }), text({ time: TIME, id: "order-8" })];
    const first = await send("mine", one, two);
    const again = await send("mine", one, two);
    expect([first.status, again.status, again.headers["idempotency-replayed"]]).toEqual([202, 202, "true"]);
    expect(again.text).toBe(first.text);
    const other = await send("mine", one);
    expect([other.status, other.body.code, other.body.errors]).toEqual([422, "idempotency_mismatch", undefined]);
    // The events keep their own keys, whatever request they are in.
    const moved = await send("another", two);
    expect(moved.body.data).toEqual([{ ...first.body.data[1], duplicate: true }]);
    const changed = await send(null, one, text({ time: TIME, id: "order-8", data: { changed: true } }));
    expect([changed.status, changed.body.code, changed.body.errors[0].pointer]).toEqual([
      422,
      "idempotency_mismatch",
      "/1/id",
    ]);
  });

  it("is taken as a list by the batch alone, and nothing else as a list", async () => {
    const { api } = await serve();
    expect((await api.post(EVENTS, `[${text()}]`, BATCHED)).status).toBe(415);
    expect((await api.post(BATCH, text(), STRUCTURED)).status).toBe(415);
    expect((await api.post(BATCH, text(), BATCHED)).body.errors[0].code).toBe("invalid_body");
    expect((await api.post(BATCH, "[]", BATCHED)).body.errors[0]).toMatchObject({ code: "too_few", pointer: "" });
    expect((await api.post(BATCH, "[7]", BATCHED)).body.errors[0]).toMatchObject({
      code: "invalid_type",
      pointer: "/0",
    });
    expect((await api.post(EVENTS, "", STRUCTURED)).status).toBe(400);
  });
});
