import { describe, expect, it } from "vitest";
import { FakeStore } from "../fake-store.ts";
import { ApiServer, sendRaw } from "../server.ts";

const EVENTS = "/v1/webhooks/events";
const BATCH = `${EVENTS}/batch`;
const DATA = '{"n":9007199254740993,"m":1.0,"e":1E2,"z":-0,"h":1e400, "2":1,"1":"\\u0041é"}';

async function serve() {
  const fake = new FakeStore();
  return { fake, api: await ApiServer.start(fake.asStore()) };
}

function event(more: Record<string, unknown> = {}) {
  return { type: "budget.exceeded", data: { a: 1 }, ...more };
}

describe("a publish", () => {
  it("keeps the bytes of data and answers what was made", async () => {
    const { api, fake } = await serve();
    const { status, body } = await api.post(EVENTS, `{ "data" : ${DATA} , "type":"budget.exceeded"}`);
    expect(status).toBe(202);
    expect(body).toEqual({
      id: expect.stringMatching(/^evt_/),
      type: "budget.exceeded",
      created_at: "2026-11-20T09:55:00.000Z",
      delivery_count: 0,
    });
    expect(Buffer.from(fake.drafts[0]!.data).toString()).toBe(DATA);
    expect(api.accepted).toHaveLength(1);
  });

  it("takes the publisher's id and tags, which receivers do not get", async () => {
    const { api, fake } = await serve();
    expect((await api.post(EVENTS, event({ publisher_id: "order-7", tags: ["b", "a"] }))).status).toBe(202);
    expect(fake.drafts[0]!.labels).toEqual({ publisherId: "order-7", tags: ["a", "b"] });
    expect(Buffer.from(fake.drafts[0]!.data).toString()).toBe('{"a":1}');
    await api.post(EVENTS, event({ tags: [] }));
    expect(fake.drafts[1]!.labels).toBeUndefined();
    const wrong = await api.post(BATCH, {
      events: [event(), event({ publisher_id: "a b", tags: ["x", "x", 1, "a,b"] })],
    });
    expect(wrong.body.errors).toMatchObject([
      { pointer: "/events/1/publisher_id", code: "invalid_syntax" },
      { pointer: "/events/1/tags", code: "conflicting_fields" },
      { pointer: "/events/1/tags/2", code: "invalid_type" },
      { pointer: "/events/1/tags/3", code: "invalid_syntax" },
    ]);
  });

  it("takes an instant of its own, up to five minutes ahead", async () => {
    const { api, fake } = await serve();
    await api.post(EVENTS, event({ created_at: "2026-11-20T10:59:59.1239+01:00" }));
    expect(fake.drafts[0]!.createdAt).toBe(Date.parse("2026-11-20T09:59:59.123Z"));
    const ahead = await api.post(EVENTS, event({ created_at: "2026-11-20T10:00:00.001Z" }));
    expect(ahead.body.errors).toMatchObject([{ pointer: "/created_at", code: "out_of_range" }]);
    for (const created_at of ["2026-11-20", "2026-02-30T00:00:00Z", 1, null]) {
      const { status, body } = await api.post(EVENTS, event({ created_at }));
      expect({ status, ...body.errors[0] }).toMatchObject({
        status: 422,
        pointer: "/created_at",
        code: "invalid_type",
      });
    }
  });

  it("may be sent before the one ahead of it is answered, and each has its answer in turn", async () => {
    const { api, fake } = await serve();
    const waiting: (() => void)[] = [];
    fake.publishing = () => new Promise((resolve) => void waiting.push(resolve));
    const post = (type: string) => {
      const body = JSON.stringify(event({ type }));
      const head = `POST ${EVENTS} HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: Bearer ${api.adminKey}\r\n`;
      return `${head}content-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;
    };
    const types = ["goal.achieved", "nope", "budget.exceeded"];
    const answered = sendRaw(api.port, types.map(post).join(""), (text) => text.split("HTTP/1.1 ").length > 3);
    await expect.poll(() => waiting.length).toBe(2);
    for (const commit of waiting.toReversed()) commit();
    const answers = (await answered).split("HTTP/1.1 ").slice(1);
    expect(answers.map((text) => text.slice(0, 3))).toEqual(["202", "422", "202"]);
    expect(answers[0]).toContain('"type":"goal.achieved"');
    expect(answers[2]).toContain('"type":"budget.exceeded"');
  });

  it("names every fault with a pointer", async () => {
    const { api, fake } = await serve();
    const { body } = await api.post(EVENTS, '{"type":"nope","data":[],"a/b~c":1,"tenant":"a b"}');
    expect(body.code).toBe("validation_failed");
    expect(body.errors.map(({ pointer, code }: { pointer: string; code: string }) => [pointer, code])).toEqual([
      ["/a~1b~0c", "unknown_field"],
      ["/type", "unknown_event_type"],
      ["/data", "invalid_type"],
      ["/tenant", "forbidden_char"],
    ]);
    expect(fake.drafts).toEqual([]);
  });

  it("goes to the key's tenant, or to the one that a key of * names", async () => {
    const { api, fake } = await serve();
    const key = await api.addKey(["publish"], "acme");
    await api.post(EVENTS, event(), { key });
    await api.post(EVENTS, event({ tenant: "acme" }), { key });
    await api.post(EVENTS, event());
    await api.post(`${EVENTS}?tenant=globex`, event());
    expect(fake.drafts.map(({ tenant }) => tenant)).toEqual(["acme", "acme", "default", "globex"]);
    expect((await api.post(EVENTS, event({ tenant: "globex" }), { key })).body.code).toBe("forbidden");
    expect((await api.post(`${EVENTS}?tenant=globex`, event(), { key })).body.code).toBe("forbidden");
    expect((await api.post(`${EVENTS}?tenant=a%20b`, event())).body.code).toBe("invalid_query");
  });
});

describe("a batch", () => {
  it("answers in the order of the request", async () => {
    const { api, fake } = await serve();
    const types = ["goal.achieved", "budget.exceeded", "carbon.threshold"];
    const { status, body } = await api.post(BATCH, { events: types.map((type) => event({ type })) });
    expect(status).toBe(202);
    expect(body.data.map(({ type }: { type: string }) => type)).toEqual(types);
    expect(fake.drafts).toHaveLength(3);
    expect(api.accepted).toHaveLength(3);
  });

  it("that is long holds its memory until it is answered, and no longer", async () => {
    const { api, fake } = await serve();
    let kept = "";
    const data = { text: "x".repeat(200_000) };
    fake.publishing = async ([draft]) => void (kept = Buffer.from(draft!.data).toString());
    expect((await api.post(BATCH, { events: [event({ data })] })).status).toBe(202);
    expect(kept).toBe(JSON.stringify(data));
    expect((await api.post(BATCH, { events: [event({ data })] })).status).toBe(202);
    expect(fake.drafts[1]!.data.buffer).toBe(fake.drafts[0]!.data.buffer);
  });

  it("stores nothing when one item is bad, and names it", async () => {
    const { api, fake } = await serve();
    const { status, body } = await api.post(BATCH, { events: [event(), event({ type: "nope" }), 1] });
    expect(status).toBe(422);
    expect(body.errors).toMatchObject([
      { pointer: "/events/1/type", code: "unknown_event_type" },
      { pointer: "/events/2", code: "invalid_type" },
    ]);
    expect(fake.drafts).toEqual([]);
  });

  it.each([
    ["no event", { events: [] }, "/events", "too_few"],
    ["too many events", { events: Array.from({ length: 1001 }, () => event()) }, "/events", "too_long"],
    ["no list", { events: {} }, "/events", "invalid_type"],
    ["nothing", {}, "/events", "missing_field"],
    ["something else", { events: [event()], more: 1 }, "/more", "unknown_field"],
  ])("with %s is refused", async (_name, body, pointer, code) => {
    const { api } = await serve();
    expect((await api.post(BATCH, body)).body.errors[0]).toMatchObject({ pointer, code });
  });

  it("is measured per event and as a whole", async () => {
    const { api } = await serve();
    const large = event({ data: { x: "a".repeat(262_144) } });
    const one = await api.post(BATCH, { events: [event(), large] });
    expect({ status: one.status, at: one.body.errors[0].pointer }).toEqual({ status: 413, at: "/events/1" });
    const almost = event({ data: { x: "a".repeat(250_000) } });
    expect((await api.post(BATCH, { events: Array.from({ length: 16 }, () => almost) })).status).toBe(202);
    expect((await api.post(BATCH, { events: Array.from({ length: 17 }, () => almost) })).status).toBe(413);
  });

  it("gives each event the limits of values for itself", async () => {
    const { api } = await serve();
    const many = event({ data: { x: Array.from({ length: 30_000 }, () => 0) } });
    expect((await api.post(BATCH, { events: [many, many] })).status).toBe(202);
    const more = event({ data: { x: Array.from({ length: 60_000 }, () => 0) } });
    expect((await api.post(BATCH, { events: [event(), more] })).body.errors[0].code).toBe("too_many_values");
  });
});

describe("a batch as lines", () => {
  const LINES = { headers: { "content-type": "application/x-ndjson" } };
  const text = (...items: unknown[]) => items.map((item) => JSON.stringify(item)).join("\n");

  it("is answered like any other, whatever its line ends and blank lines", async () => {
    const { api, fake } = await serve();
    const lines = `\n{"type":"goal.achieved","data":${DATA}}\r\n  \n\t{"data":{}, "type":"budget.exceeded"}\n`;
    const { status, body } = await api.post(BATCH, lines, LINES);
    expect(status).toBe(202);
    expect(body.data.map(({ type }: { type: string }) => type)).toEqual(["goal.achieved", "budget.exceeded"]);
    expect(Buffer.from(fake.drafts[0]!.data).toString()).toBe(DATA);
  });

  it.each([
    ["a field at fault", text(event(), event({ type: "nope" })), 422, "unknown_event_type", "/events/1/type"],
    ["no object", text(event(), 7), 422, "invalid_body", "/events/1"],
    ["a key twice", `${text(event())}\n{"type":"a","type":"b"}`, 400, "duplicate_key", "/events/1/type"],
    ["a line that is no JSON", `${text(event())}\n{"type":}`, 400, "invalid_syntax", "/events/1/type"],
    ["a line that is cut", `${text(event(), event())}\n{"type":"a"`, 400, "invalid_syntax", "/events/2/type"],
    ["a line that is no value", `${text(event())}\nx`, 400, "invalid_syntax", "/events/1"],
    ["an event too large", text(event(), event({ data: { x: "a".repeat(262_144) } })), 413, "too_long", "/events/1"],
    ["nothing", "\n\n", 422, "too_few", "/events"],
    ["too many lines", text(...Array.from({ length: 1001 }, () => event())), 422, "too_long", "/events"],
  ])("with %s names its index and stores nothing", async (_name, lines, status, code, pointer) => {
    const { api, fake } = await serve();
    const answer = await api.post(BATCH, lines, LINES);
    expect({ status: answer.status, ...answer.body.errors[0] }).toMatchObject({ status, code, pointer });
    expect(fake.drafts).toEqual([]);
  });

  it("is taken by the batch alone, and in UTF-8 alone", async () => {
    const { api } = await serve();
    expect((await api.post(EVENTS, text(event()), LINES)).status).toBe(415);
    const latin = { headers: { "content-type": "application/x-ndjson; charset=latin1" } };
    expect((await api.post(BATCH, text(event()), latin)).status).toBe(415);
    const utf8 = { headers: { "content-type": "Application/X-NDJSON; charset=utf-8" } };
    expect((await api.post(BATCH, text(event()), utf8)).status).toBe(202);
  });
});
