import { execFile, spawnSync } from "node:child_process";
import { once } from "node:events";
import { Webhook } from "standardwebhooks";
import { describe, expect, it } from "vitest";
import { EXIT } from "../../cli/exit-code.ts";
import { curlScript } from "../../cli/events/curl.ts";
import { anAttempt } from "../../src/api/deliveries/attempts.ts";
import { aDelivery, aWholeDelivery } from "../../src/api/deliveries/deliveries.ts";
import { anEndpoint } from "../../src/api/endpoints/fields.ts";
import { aHealth } from "../../src/api/endpoints/schemas.ts";
import { anEvent, anEventSummary } from "../../src/api/events/schemas.ts";
import { verifyingKey } from "../../src/domain/endpoints/secret.ts";
import { receiverOf } from "../harness/exchange.ts";
import { typed, type Typing } from "./typed.ts";

const { id } = anEvent;
/**
 * Text that a JSON parser would change: key order, digits, escapes, white space, characters beyond ASCII and terminal
 * controls.
 */
const DATA =
  '{"z": 1.10, "a":12345678901234567890,\n "e":1e400,"s":"\\u0041\\/é%s %% \'quoted\' \u202e\x7f$(id)`id`\\\\n"}';
const BODY = `{"id":"${id}","type":"budget.exceeded","created_at":"${anEvent.created_at}","data":${DATA}}`;
const ANSWER = JSON.stringify({ ...anEvent, data: 0 }).replace('"data":0', () => `"data":${DATA}`);

const events = (words: readonly string[], typing?: Typing) => typed(["events", ...words], typing);

describe("webhookd events show", () => {
  const answers = { getEvent: ANSWER };

  it("--raw is the body as it was signed, byte for byte, and nothing else", async () => {
    const { code, out, err } = await events(["show", id, "--raw"], { answers });
    expect({ code, out, err }).toEqual({ code: EXIT.ok, out: BODY, err: "" });
  });

  it("--raw escapes on a terminal what could steer it, unless it is forced not to", async () => {
    const shown = await events(["show", id, "--raw"], { answers, isTTY: true });
    expect([shown.code, shown.out]).toEqual([
      EXIT.ok,
      `${BODY.replace("\u202e", "<U+202E>").replace("\x7f", "<U+007F>")}\n`,
    ]);
    expect(shown.err).toContain("Some characters are escaped here");
    expect((await events(["show", id, "--raw", "--force"], { answers, isTTY: true })).out).toBe(`${BODY}\n`);
  });

  it("takes the id that the publisher gave, and says which events share it", async () => {
    const page = (...data: object[]) => ({ data, next_cursor: null });
    const one = await events(["show", "ord-77"], { answers: { ...answers, listEvents: page(anEventSummary) } });
    expect([one.code, one.daemon.seen[0]!.path]).toEqual([EXIT.ok, "/v1/webhooks/events?publisher_id=ord-77&limit=6"]);
    expect(one.out).toContain(`${id}  budget.exceeded`);
    const two = await events(["show", "ord-77"], { answers: { listEvents: page(anEventSummary, anEventSummary) } });
    expect([two.code, two.err]).toEqual([
      EXIT.usage,
      expect.stringContaining("webhookd events list --publisher-id ord-77"),
    ]);
    const none = await events(["show", "ord-77"], { answers: { listEvents: page() } });
    expect([none.code, none.err]).toEqual([EXIT.not_found, expect.stringContaining("webhookd events list ord-77")]);
  });

  it.each([
    [["replay", "ord_77"], `/v1/webhooks/events/${id}/retry`],
    [["events", "cancel", "ord_77", "--yes"], `/v1/webhooks/events/${id}/cancel`],
    [["events", "erase", "ord_77", "--yes"], `/v1/webhooks/events/${id}/data`],
    [["replay", "ord_77", "ord-78", "--yes"], "/v1/webhooks/jobs"],
  ])("is meant by the publisher's id in %j too, and nothing is done where several share it", async (words, path) => {
    const page = (...data: object[]) => ({ data, next_cursor: null });
    const changes = (one: Awaited<ReturnType<typeof typed>>) =>
      one.daemon.seen.filter(({ method }) => method !== "GET").map((request) => request.path);
    const one = await typed(words, { answers: { ...answers, listEvents: page(anEventSummary) } });
    expect(changes(one), one.err).toContain(path);
    expect(one.daemon.seen[0]!.path).toBe("/v1/webhooks/events?publisher_id=ord_77&limit=6");
    const two = await typed(words, { answers: { ...answers, listEvents: page(anEventSummary, anEventSummary) } });
    expect([two.code, changes(two)]).toEqual([EXIT.usage, []]);
    expect(two.err).toContain('more than one event has "ord_77" as its publisher\'s id');
  });

  it.each(["whsec_c2VjcmV0IG9mIHNvbWVib2R5", "ep_01m7w8bx02jeyjr53r14y5rmma"])(
    "asks nobody for what can be no event: %s",
    async (word) => {
      for (const words of [
        ["replay", word],
        ["replay", "ord_77", word],
        ["events", "show", word],
      ]) {
        const { code, err, daemon } = await typed(words, { answers });
        expect([code, daemon.seen]).toEqual([EXIT.usage, []]);
        expect(err).toContain("is not the id of an event");
        expect(err).not.toContain("c2VjcmV0");
      }
    },
  );

  it("--json keeps numbers as they were published, in ASCII on one line", async () => {
    const { out } = await events(["show", id, "--json"], { answers });
    expect(out).toMatch(/^[\x20-\x7e]+\n$/);
    expect(out).toContain('{"z": 1.10, "a":12345678901234567890,  "e":1e400,');
    expect(JSON.parse(out)).toEqual(JSON.parse(ANSWER));
  });

  it("shows data as it came, and lets none of it steer the terminal", async () => {
    const { out } = await events(["show", id], { answers });
    expect(out).toContain('data\n  {"z": 1.10, "a":12345678901234567890,\n   "e":1e400,');
    expect(out).toContain("é%s %% 'quoted' <U+202E><U+007F>$(id)");
  });

  it("shows the beginning of large data, and how to get all of it", async () => {
    const plain = ANSWER.replace(/"publisher_id".*?\],/, '"publisher_id":null,"tags":[],');
    const large = plain.replace(DATA, () => JSON.stringify({ s: "x".repeat(10_000) }));
    const { out } = await events(["show", id], { answers: { getEvent: large } });
    expect(out.length).toBeLessThan(5000);
    expect(out).toMatch(/x…\n {2}for the whole body: webhookd events show evt_\S+ --raw\n$/);
  });

  it("says of what is due that it waits for its turn, and how many go at a time", async () => {
    const due = { ...aDelivery, status: "pending", next_attempt_at: "2023-11-14T22:09:17.000Z" };
    const health = { ...aHealth, at_once: 1 };
    const { out } = await events(["show", id], {
      answers: {
        getEvent: { ...anEvent, deliveries: [due] },
        getEndpoint: { ...anEndpoint, id: due.endpoint, health },
      },
    });
    expect(out).toContain("  due 4m 3s ago, waiting for its turn, 1 at a time to this endpoint; to see who is slow");
    const row = { ...aWholeDelivery, status: "pending", next_attempt_at: due.next_attempt_at };
    const list = await typed(["deliveries", "list"], {
      answers: { listDeliveries: { data: [row], next_cursor: null } },
    });
    expect(list.out).toContain("its turn, due 4m 3s ago");
    expect(list.out).not.toContain("now");
  });

  it("says of each delivery what was tried, what is to come and what to type", async () => {
    const endpoint = aDelivery.endpoint;
    const deliveries = (["pending", "held", "failed", "cancelled", "delivered"] as const).map((status, index) => ({
      ...aDelivery,
      id: `dlv_0000000000000000000000000${index}`,
      status,
      next_attempt_at: status === "pending" ? "2023-11-14T22:43:32.000Z" : null,
    }));
    const attempts = deliveries.map(({ id: delivery }) => ({ ...anAttempt, delivery, detail: `why of ${delivery}` }));
    const { out } = await events(["show", id], {
      answers: {
        getEvent: { ...anEvent, status: "failed", deliveries },
        listEventAttempts: [
          { data: attempts.slice(0, 2), next_cursor: "more" },
          { data: attempts.slice(2), next_cursor: null },
        ],
      },
    });
    for (const line of [
      "  next attempt in 30m 12s, at 2023-11-14T22:43:32.000Z; to try now: webhookd deliveries attempt dlv_",
      `  held while its endpoint is disabled; to send it: webhookd endpoints enable ${endpoint}\n`,
      `  no attempts left; to start over: webhookd replay ${id} --endpoint ${endpoint}\n`,
      "  cancelled: nothing more will be sent\n",
    ]) {
      expect(out).toContain(line);
    }
    for (const { id: delivery } of deliveries) expect(out).toContain(`  ladder  why of ${delivery}\n`);
  });

  it("begins with what failed, even if it is not among the deliveries that an event answers", async () => {
    const of = (status: string, index: number) => ({ ...aDelivery, id: `dlv_${String(index).repeat(26)}`, status });
    const some = ["delivered", "held", "pending"].map(of);
    const getEvent = { ...anEvent, deliveries: some, delivery_count: 120, more_deliveries: "/v1/webhooks/deliveries" };
    const failed = { ...aWholeDelivery, ...of("failed", 7) };
    const { out } = await events(["show", id], { answers: { getEvent, listDeliveries: { data: [failed] } } });
    const shown = [...out.matchAll(/^(\w+) after \d+ attempts?/gm)].map(([, status]) => status);
    expect(shown).toEqual(["failed", "pending", "held", "delivered"]);
    expect(out).toContain("\n4 of 120 deliveries shown");
  });

  it("says how many deliveries there are, and where the rest is, when not all are shown", async () => {
    const many = { ...anEvent, delivery_count: 2345, more_deliveries: `/v1/webhooks/deliveries?event=${id}` };
    const { out } = await events(["show", id], { answers: { getEvent: many, listDeliveries: { data: [] } } });
    expect(out).toContain(`\n1 of 2,345 deliveries shown; for all: webhookd deliveries list --event ${id}\n`);
    expect((await events(["show", id], { answers })).out).not.toContain("deliveries shown");
  });

  it("says when its data was erased; then there is no body", async () => {
    const erased = { getEvent: { ...anEvent, data: null, erased_at: "2026-11-20T09:56:00.000Z" } };
    const { out } = await events(["show", id], { answers: erased });
    expect(out).toMatch(/\nthe data was erased 2026-11-20T09:56:00\.000Z, .* ago\n$/);
    const lost = { getEvent: { ...anEvent, data: null } };
    expect((await events(["show", id], { answers: lost })).out).toMatch(/\nthe data was lost: the store is damaged\n$/);
    const raw = await events(["show", id, "--raw"], { answers: erased });
    expect([raw.code, raw.out]).toEqual([EXIT.conflict, ""]);
    expect(raw.err).toContain(`webhookd attempts list ${anEvent.id}\n`);
  });

  it.each([
    [["--raw", "--json"], "cannot be combined"],
    [["--raw", "--curl"], "cannot be combined"],
    [["--endpoint=ep_06fbqxvx8r4m8q2v6ng0c3kz7t"], "needs --curl"],
    [["--force"], "needs --raw"],
  ])("refuses %j before it asks anybody", async (flags, message) => {
    const { code, err, daemon } = await events(["show", id, ...flags]);
    expect([code, daemon.seen]).toEqual([EXIT.usage, []]);
    expect(err).toContain(message);
  });
});

describe("webhookd events show --curl", () => {
  const missing = ["curl", "openssl"].filter((tool) => spawnSync(tool, ["--version"]).error !== undefined);
  if (missing.length > 0) console.warn(`SKIPPED: ${missing.join(" and ")} not installed, so no script is run`);

  it
    .skipIf(missing.length > 0)
    .each(["whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwMfKQ9r8GKYo=", "It's a Secret to Everybody"])(
    "prints a script that sends the same bytes with fresh signatures by the secret %s, which it does not hold",
    async (secret) => {
      const receiver = await receiverOf(200);
      const getEndpoint = { url: `${receiver.url}/it's?a=b`, headers: { authorization: "***" } };
      const { code, out } = await events(["show", id, "--curl"], { answers: { getEvent: ANSWER, getEndpoint } });
      expect(code).toBe(EXIT.ok);
      expect(out).toMatch(/^[\n\x20-\x7e]+$/);
      expect(out).not.toContain("whsec_M");
      expect(out).toContain("authorization");
      const child = execFile("sh", ["-eu", "-c", out], { env: { PATH: process.env.PATH!, WEBHOOKD_SECRET: secret } });
      const [exit] = await once(child, "close");
      const { body, headers, path } = await receiver.next();
      expect([exit, path]).toEqual([0, "/hook/it's?a=b"]);
      expect(body.toString()).toBe(BODY);
      expect(verifyingKey(secret).verifyBody(body, headers["x-service-signature"]!)).toBe(true);
      expect(headers["webhook-id"]).toBe(id);
      const standard = secret.startsWith("whsec_") ? new Webhook(secret) : new Webhook(secret, { format: "raw" });
      expect(() => standard.verify(body.toString(), headers)).not.toThrow();
    },
  );

  it("asks which endpoint where there are several", async () => {
    const deliveries = [aDelivery, { ...aDelivery, endpoint: "ep_2" }];
    const { code, out, err } = await events(["show", id, "--curl"], {
      answers: { getEvent: { ...anEvent, deliveries } },
    });
    expect([code, out]).toEqual([EXIT.usage, ""]);
    expect(err).toContain(`It went to ${aDelivery.endpoint}, ep_2.`);
  });

  it("quotes what the daemon says, and refuses characters that could control a terminal", async () => {
    const getEndpoint = { url: "https://h/", headers: {}, format: "cloudevents_binary" };
    const show = (type: string, more: object = {}) =>
      events(["show", id, "--curl"], {
        answers: { getEvent: { ...anEvent, type }, getEndpoint: { ...getEndpoint, ...more } },
      });
    const quoted = await show("it's; exit 7; ");
    expect([quoted.code, quoted.err]).toEqual([EXIT.ok, ""]);
    expect(quoted.out).toContain(String.raw`-H 'ce-type: it'\''s; exit 7; '`);
    for (const answer of [
      await show("a\u001b[2J"),
      await show("a.\u202eb"),
      await show("a.b", { headers: { "x-a\nexit 7": "***" } }),
      await show("a.b", { url: "not a URL" }),
    ]) {
      expect([answer.code, answer.out]).toEqual([EXIT.refused, ""]);
      expect(answer.err).toMatch(/^webhookd: .+ cannot stand in a script\n {2}Look at it with: .+\n$/);
    }
    const [event, endpoint] = ["evt_1; exit 7", "ep_1; exit 7"];
    const sent = { contentType: "application/json", headers: [], body: Buffer.from("{}") };
    const script = curlScript({ event, endpoint, url: "https://h/", sent, headers: [] });
    expect(script).toContain("webhookd endpoints secret 'ep_1; exit 7')");
    expect(script).toContain("'%s.%s.%s' 'evt_1; exit 7' ");
    expect(script).toContain("-H 'webhook-id: evt_1; exit 7' ");
  });

  it("says what to do where the endpoint has a format of a newer daemon", async () => {
    const answers = { getEvent: anEvent, getEndpoint: { url: "https://h/", headers: {}, format: "protobuf" } };
    const { code, out, err } = await events(["show", id, "--curl"], { answers });
    expect([code, out]).toEqual([EXIT.refused, ""]);
    expect(err).toBe(
      "webhookd: this webhookd does not know the format protobuf of the endpoint's body\n  The daemon is newer: use the webhookd of its version.\n",
    );
  });

  it("is ASCII whatever the body holds", () => {
    const bytes = Buffer.from(Array.from({ length: 256 }, (_, byte) => byte));
    const sent = { contentType: "application/json", headers: [["ce-id", "evt_1"]] as const, body: bytes };
    const script = curlScript({ event: "evt_1", endpoint: "ep_1", url: "https://h/é", sent, headers: [] });
    expect(script).toContain("-H 'ce-id: evt_1'");
    expect(script).toMatch(/^[\n\x20-\x7e]+$/);
  });
});

describe("webhookd events send", () => {
  it("says which types there are when it does not know one", async () => {
    const errors = [{ pointer: "/type", code: "unknown_event_type", detail: "is not a known event type" }];
    const refuse: Typing["refuse"] = (operation) =>
      operation === "publishEvent" ? { status: 422, errors } : undefined;
    const { code, err } = await events(["send", "--type=nothing.like.it", "--data={}"], { refuse });
    expect([code, err]).toEqual([
      EXIT.usage,
      'webhookd: there is no event type "nothing.like.it"\n  The event types are transaction.enriched. Nothing was done.\n',
    ]);
  });

  const words = ["send", "--type=budget.exceeded", "--data"];
  const sent = async (data: string, more: Typing = {}) => {
    const { code, daemon } = await events([...words, data], more);
    return [code, daemon.seen[0]?.text];
  };

  it.each([
    ["as it stands", DATA, {}],
    ["from a file", "@{dir}/data.json", { files: { "data.json": `  ${DATA}\n` } }],
    ["from stdin", "-", { input: [DATA] }],
    ["from stdin, as curl reads it", "@-", { input: [DATA] }],
  ])("passes data %s on byte for byte", async (_, data, more) => {
    expect(await sent(data, more)).toEqual([EXIT.ok, `{"type":"budget.exceeded","data":${DATA}}`]);
  });

  it("sends what else was said, and the idempotency key as a header", async () => {
    const more = ["--tenant=acme", "--created-at=2026-11-20T09:00:00Z", "--idempotency-key=k/1"];
    const { daemon } = await events([...words, "{}", ...more]);
    expect(daemon.seen[0]!.body).toEqual({
      type: "budget.exceeded",
      tenant: "acme",
      created_at: "2026-11-20T09:00:00Z",
      data: {},
    });
    expect(daemon.seen[0]!.headers["idempotency-key"]).toBe("k/1");
  });

  it.each([
    ["@{dir}/data.json", '{"a": 1,\n "é": tru }', /data\.json:2:7: the JSON text has an unexpected character/],
    ["-", '{"a": ', /^webhookd: stdin:2:1: the JSON text has an unexpected end/],
    ['{"a":1,"a":2}', "", /^webhookd: --data:1:8: an object has the same key twice, at \/a/],
    ['{"a":"\n"}', "", /^webhookd: --data:1:6: the string at byte 5 does not end/],
    ["[1]", "", /^webhookd: --data contains a JSON array\n {2}An event's data must be a JSON object\./],
    ["@{dir}/none.json", "", /none\.json cannot be read \(there is no such file\)/],
    ["{} {}", "", /^webhookd: --data:1:4: /],
  ])("refuses %s %j, says where it is wrong, and publishes nothing", async (data, text, message) => {
    const { code, out, err, daemon } = await events([...words, data], { files: { "data.json": text }, input: [text] });
    expect({ code, out, seen: daemon.seen }).toEqual({ code: EXIT.usage, out: "", seen: [] });
    expect(err).toMatch(message);
  });

  it.skipIf(process.platform === "win32")("refuses a device without an end", async () => {
    const { code, err, daemon } = await events([...words, "@/dev/zero"]);
    expect([code, daemon.seen]).toEqual([EXIT.usage, []]);
    expect(err).toContain("--data: /dev/zero has more than 67108864 bytes, which is the limit");
  });

  it("refuses a file that is not UTF-8", async () => {
    const files = { "data.json": Buffer.from('{"a":"\xff"}', "latin1") };
    const { code, err } = await events([...words, "@{dir}/data.json"], { files });
    expect([code, err]).toEqual([EXIT.usage, expect.stringContaining("not UTF-8")]);
  });

  const outcome = (status: string, attempt: object | null) => ({
    ...anEvent,
    deliveries: [
      { ...aDelivery, status, next_attempt_at: null, last_attempt: attempt && { ...anAttempt, ...attempt } },
    ],
  });
  const open = outcome("pending", null);
  it.each([
    ["delivered", EXIT.ok, "Delivered.", outcome("delivered", { outcome: "succeeded", status_code: 200 })],
    ["failed", EXIT.answer_is_no, "Not delivered.", outcome("pending", {})],
    ["not attempted in time", EXIT.wait_ran_out, "No answer within 15s", open],
    ["interrupted", EXIT.wait_ran_out, "No answer within 15s", outcome("pending", { outcome: "interrupted" })],
    ["for nobody", EXIT.answer_is_no, "No endpoint of tenant default chose this type.", { ...anEvent, deliveries: [] }],
  ])("--wait ends an event that is %s with %s", async (_, exit, told, last) => {
    const { code, out } = await events([...words, "{}", "--wait"], { answers: { getEvent: [open, open, last] } });
    expect([code, out]).toEqual([exit, expect.stringContaining(told)]);
  });
});

describe("webhookd events list", () => {
  it("asks for what the flags and --filter say", async () => {
    const { daemon } = await events(["list", "--filter=status:failed since:2h", "--status-code=5xx", "--limit=7"]);
    const { searchParams } = new URL(daemon.seen[0]!.path, "http://d");
    expect(Object.fromEntries(searchParams)).toEqual({
      status: "failed",
      since: "2023-11-14T20:13:20.000Z",
      status_code: "5xx",
      include: "deliveries",
      order: "newest",
      limit: "7",
      total: "true",
    });
  });

  it.each([
    ["exact", "1 of 1,234 shown. For more: --cursor c"],
    ["at_least", "1 of >= 1,234 shown. For more: --cursor c"],
  ])("says how many there are in all, if the total is %s", async (is, text) => {
    const page = { data: [anEvent], next_cursor: "c", total: 1234, total_is: is };
    const { err } = await events(["list", "--limit=1"], { answers: { listEvents: page } });
    expect(err).toContain(text);
    const { out } = await events(["list", "--limit=1", "--json"], { answers: { listEvents: page } });
    expect(JSON.parse(out)).toMatchObject({ total: 1234, total_is: is });
    const { daemon } = await events(["list", "--ids"], { answers: { listEvents: { ...page, next_cursor: null } } });
    expect(daemon.seen[0]!.path).not.toContain("total");
  });

  it("finds a word by itself as a publisher's id or tag, with the same words as --filter beside it", async () => {
    const { code, daemon } = await events(["list", "order-1042", "tag:vip", "--status=failed", "--publisher-id=x"]);
    expect(code).toBe(EXIT.ok);
    const asked = daemon.seen.map(({ path }) => Object.fromEntries(new URL(path, "http://d").searchParams));
    expect(asked[0]).toEqual({ label: "order-1042", limit: "1" });
    expect(asked[1]).toMatchObject({ label: "order-1042", tag: "vip", status: "failed", publisher_id: "x" });
    expect(asked[1]).not.toHaveProperty("match");
  });

  it("looks into what events say, page by page, and says on a terminal how far it is", async () => {
    const pages = [
      { data: [], next_cursor: "c", cut_short: true, searched: { events: 800_000, until: anEvent.received_at } },
      { data: [anEvent], next_cursor: null, searched: { events: 204, until: null } },
    ];
    const words = ["list", "data.customer.id:cus_123", "data.name:Ann Smith", "--since=1h"];
    const { out, err, daemon } = await events([...words, "--ids"], { answers: { listEvents: pages }, isTTY: true });
    const [first, second] = daemon.seen.map(({ path }) => new URL(path, "http://d").searchParams);
    expect(first!.get("data")).toBe('customer.id:cus_123 name:"Ann Smith"');
    expect(first!.has("total")).toBe(false);
    expect(second!.get("cursor")).toBe("c");
    expect(err).toMatch(/0 found in 800,000 events, as far as .+ ago/);
    expect(err).toContain("Searched the data of 800,204 events.");
    expect(out).toBe(`${id}\n`);
    expect((await events(words, { answers: { listEvents: pages } })).err).toBe("");
  });

  it("finds a word that is none of them in what is known of endpoints", async () => {
    const none = { data: [], next_cursor: null };
    const { err, daemon } = await events(["list", "acme"], {
      answers: { listEvents: none, listEndpoints: { data: [anEndpoint], next_cursor: null } },
    });
    expect(err).toContain(
      `No event has "acme" as its publisher's id or tag; showing the endpoint ${anEndpoint.id} instead.`,
    );
    expect(daemon.asked()).toEqual(["listEvents", "listEndpoints", "listEvents"]);
    expect(daemon.seen.at(-1)!.path).toContain(`endpoint=${anEndpoint.id}`);
    const nowhere = await events(["list", "acme"], { answers: { listEvents: none, listEndpoints: none } });
    expect(nowhere.err).toContain('no endpoint has "acme" in its URL, uid or description');
  });

  it("asks for several statuses and errors at once", async () => {
    const { code, daemon } = await events(["list", "--status=failed,held", "--error=timeout,dns_failure"]);
    expect(code).toBe(EXIT.ok);
    const { searchParams } = new URL(daemon.seen[0]!.path, "http://d");
    expect(Object.fromEntries(searchParams)).toMatchObject({ status: "failed,held", error: "timeout,dns_failure" });
    const { err } = await events(["list", "--filter=status:failed,hled"]);
    expect(err).toContain("Did you mean held?");
  });

  it("sorts, and takes one order only", async () => {
    const { daemon } = await events(["list", "--sort=oldest"]);
    const { searchParams } = new URL(daemon.seen[0]!.path, "http://d");
    expect([searchParams.get("sort"), searchParams.has("order")]).toEqual(["oldest", false]);
    const refused = await events(["list", "--sort=oldest", "--order=newest"]);
    expect([refused.code, refused.daemon.seen]).toEqual([EXIT.usage, []]);
    const unknown = await events(["list", "--sort=host"]);
    expect([unknown.code, unknown.daemon.seen]).toEqual([EXIT.usage, []]);
    expect(unknown.err).toContain("newest, oldest");
    const endpoints = await typed(["endpoints", "list", "--sort=-failing"]);
    expect(endpoints.daemon.seen[0]!.path).toContain("sort=-failing");
  });

  it("reads no deliveries where none are shown, and says what ids alone are", async () => {
    const { out, daemon } = await events(["list", "--ids"]);
    expect(out).toBe(`${id}\n`);
    expect(daemon.seen[0]!.path).not.toContain("include");
  });

  it("shows to how many endpoints it went, and what the latest of them said", async () => {
    const later = { ...anAttempt, started_at: "2026-11-20T10:00:00.000Z", status_code: 204 };
    const deliveries = [{ ...aDelivery, status: "delivered", attempts: 3, last_attempt: later }, aDelivery];
    const { out } = await events(["list", "--plain", "--fields=attempts,last_attempt,endpoints"], {
      answers: { listEvents: { data: [{ ...anEvent, deliveries }], next_cursor: null } },
    });
    expect(out).toBe("attempts\tlast_attempt\tendpoints\n4\t204\t1 of 2\n");
    const some = { ...anEvent, deliveries, delivery_count: 120, more_deliveries: "/v1/webhooks/deliveries?event=" };
    const cut = await events(["list", "--plain", "--fields=endpoints"], {
      answers: { listEvents: { data: [some], next_cursor: null } },
    });
    expect(cut.out).toBe("endpoints\n1+ of 120\n");
  });

  it.each([
    ["--filter=event:evt_06fbqxw6v8s2d4f6g8h0j2k4m6", "--filter: event: does not apply here"],
    ["--filter=statsu:failed", "Did you mean status?"],
    ["--status=faild", "Did you mean failed?"],
    ["--fields=tyep", "Did you mean type?"],
    ["--limit=0", "--limit must be a number from 1"],
  ])("refuses %s before it asks anybody", async (flag, message) => {
    const { code, err, daemon } = await events(["list", flag]);
    expect([code, daemon.seen]).toEqual([EXIT.usage, []]);
    expect(err).toContain(message);
  });
});

it("webhookd events cancel names the endpoint, and counts what is open there", async () => {
  const deliveries = [aDelivery, { ...aDelivery, endpoint: "ep_2" }, { ...aDelivery, status: "delivered" }];
  const { err, daemon } = await events(["cancel", id, "--yes", `--endpoint=${aDelivery.endpoint}`], {
    answers: { getEvent: { ...anEvent, deliveries } },
  });
  expect(err).toContain("1 delivery is open");
  expect(daemon.seen.at(-1)!.body).toEqual({ endpoint: aDelivery.endpoint });
});

it("webhookd events cancel warns of a held key only at the endpoint that it is about", async () => {
  const failed = { ...aDelivery, status: "failed", sequence: 4 };
  const deliveries = [aDelivery, { ...failed, endpoint: "ep_2" }];
  const said = async (some: readonly object[], ...flags: string[]) =>
    (await events(["cancel", id, "--yes", ...flags], { answers: { getEvent: { ...anEvent, deliveries: some } } })).err;
  const only = `--endpoint=${aDelivery.endpoint}`;
  expect(await said(deliveries)).toContain("holds its ordering key");
  expect(await said(deliveries, only)).not.toContain("holds its ordering key");
  expect(await said([failed], only)).toContain("holds its ordering key");
});
