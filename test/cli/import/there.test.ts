/** The attempts of other senders, in answers made from the published descriptions of their APIs. */
import { describe, expect, it } from "vitest";
import { payloadHash, type Sent } from "../../../cli/import/shadow/sides.ts";
import { attemptsOf } from "../../../cli/import/shadow/there.ts";
import { foreignServer } from "../../harness/foreign-server.ts";
import { FakeIo } from "../fake-io.ts";

const KEY = "foreign-key";
const [SINCE, UNTIL] = [Date.parse("2026-11-20T09:00:00Z"), Date.parse("2026-11-20T10:00:00Z")];
const PAYLOAD = { order: 17 };

async function read(source: string, answer: (url: URL) => unknown): Promise<{ sent: Sent[]; seen: string[] }> {
  const { url, seen } = await foreignServer(KEY, answer);
  const io = new FakeIo({ env: { SVIX_AUTH_TOKEN: KEY, CONVOY_API_KEY: KEY, OUTPOST_API_KEY: KEY } });
  const args = { source, from: url, "from-key-file": undefined, project: "prj", log: undefined };
  const sent: Sent[] = [];
  const place = { id: "ep 1", tenant: "acme" };
  for await (const one of attemptsOf(args, io)!(place, { since: SINCE, until: UNTIL })) sent.push(one);
  return { sent, seen: seen.map((path) => decodeURIComponent(path)) };
}

const SENT = { type: "order.paid", payload: payloadHash(PAYLOAD), at: Date.parse("2026-11-20T09:30:00Z") };

describe("what another sender sent to an endpoint", () => {
  it("is read from Svix: each message once, and none from before the span", async () => {
    const msg = { id: "msg_1", eventId: "ord_17", eventType: "order.paid", payload: PAYLOAD };
    const at = "2026-11-20T09:30:00Z";
    const pages = [
      [{ id: "atmpt_2", msgId: "msg_1", status: 0, timestamp: "2026-11-20T09:31:00Z", msg: { ...msg, timestamp: at } }],
      [
        { id: "atmpt_1", msgId: "msg_1", status: 2, timestamp: at, msg: { ...msg, timestamp: at } },
        { id: "atmpt_0", msgId: "msg_0", status: 2, timestamp: at, msg: { ...msg, timestamp: "2026-11-20T08:00:00Z" } },
      ],
    ];
    const { sent, seen } = await read("svix", ({ searchParams }) => {
      const from = Number(searchParams.get("iterator") ?? 0);
      return { data: pages[from], iterator: String(from + 1), prevIterator: null, done: from === 1 };
    });
    expect(sent).toEqual([{ ...SENT, event: "msg_1", publisherId: "ord_17" }]);
    expect(seen[0]).toContain("/api/v1/app/acme/attempt/endpoint/ep 1?");
    expect(seen[0]).toContain("after=2026-11-20T09:00:00.000Z&before=2026-11-20T10:00:00.000Z");
  });

  it("is read from Convoy: what was attempted", async () => {
    const delivery = {
      uid: "01D",
      event_id: "01E",
      event_type: "order.paid",
      idempotency_key: "ord_17",
      endpoint_id: "ep 1",
      status: "Success",
      created_at: "2026-11-20T09:30:00Z",
      metadata: { data: PAYLOAD, num_trials: 1 },
    };
    const { sent, seen } = await read("convoy", ({ searchParams }) => {
      const isFirst = !searchParams.has("next_page_cursor");
      const content = isFirst ? [delivery] : [{ ...delivery, uid: "01F", status: "Scheduled" }];
      const pagination = { per_page: 100, has_next_page: isFirst, next_page_cursor: isFirst ? "c1" : "" };
      return { status: true, message: "", data: { content, pagination } };
    });
    expect(sent).toEqual([{ ...SENT, event: "01E", publisherId: "ord_17" }]);
    expect(seen[0]).toContain("/api/v1/projects/prj/eventdeliveries?");
    expect(seen[0]).toContain("endpointId=ep+1&startDate=2026-11-20T09:00:00&endDate=2026-11-20T10:00:01");
  });

  it("is read from Outpost: each event once", async () => {
    const event = { id: "ord_17", topic: "order.paid", time: "2026-11-20T09:30:00Z", metadata: {}, data: PAYLOAD };
    const attempt = { id: "att_1", status: "failed", time: event.time, attempt_number: 0, event };
    const { sent, seen } = await read("outpost", ({ searchParams }) => {
      const next = searchParams.has("next") ? null : "n1";
      return { models: [{ ...attempt, id: next }], pagination: { order_by: "time", dir: "desc", limit: 100, next } };
    });
    expect(sent).toEqual([{ ...SENT, event: "ord_17", publisherId: "ord_17" }]);
    expect(seen[0]).toContain("/attempts?limit=100&tenant_id=acme&destination_id=ep+1&include=event.data&time[gte]=");
  });
});
