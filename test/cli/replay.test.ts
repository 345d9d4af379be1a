import { describe, expect, it } from "vitest";
import { EXIT } from "../../cli/exit-code.ts";
import type { EventDelivery } from "../../src/client/operations.ts";
import { fakeDaemon, problem, type FakeDaemon } from "./fake-daemon.ts";
import { FakeIo } from "./fake-io.ts";
import { webhookd } from "./runs.ts";

const ID = "evt_01m7w8bx02jeyjr53r14y5rmma";

function attempt(round: number, status: number, more: object = {}) {
  return {
    id: "att_1",
    url: "https://billing.example.com/webhook?token=hidden",
    number: 8,
    round,
    outcome: status < 300 ? "succeeded" : "failed",
    status_code: status,
    error: status < 300 ? null : "http_status",
    detail: "",
    duration_ms: 143,
    ...more,
  } as const;
}

function delivery(
  endpoint: string,
  status: EventDelivery["status"],
  last: ReturnType<typeof attempt> | null,
  next: string | null = null,
) {
  const last_attempt = last as unknown as EventDelivery["last_attempt"];
  const order = { sequence: null, waits_behind: null };
  return { id: `dlv_${endpoint}`, endpoint, status, attempts: 7, next_attempt_at: next, ...order, last_attempt };
}

/**
 * Shows these states of the event: before the replay, in the replay's response, and at each later look. The last state
 * is repeated.
 */
async function playing(states: EventDelivery[][], left: object[] = []): Promise<FakeDaemon> {
  let step = 0;
  return fakeDaemon(({ method }) => {
    const deliveries = states[Math.min(step++, states.length - 1)];
    const event = { id: ID, type: "budget.exceeded", status: "pending", deliveries };
    return method === "POST" ? { status: 202, body: { ...event, left_alone: left } } : { status: 200, body: event };
  });
}

const failed = delivery("ep_1", "failed", attempt(1, 503));
const due = delivery("ep_1", "pending", attempt(1, 503), "2023-11-14T22:13:20.000Z");
const delivered = delivery("ep_1", "delivered", attempt(2, 200));

async function replay(daemon: FakeDaemon, ...words: string[]) {
  const io = new FakeIo();
  const code = await webhookd(io, "replay", ID, "--socket", daemon.socket, ...words);
  return { code, io };
}

describe("webhookd replay", () => {
  it("waits for the first attempt of the new round, not for the failure that was there before", async () => {
    const daemon = await playing([[failed], [due], [due], [due], [delivered]]);
    const { code, io } = await replay(daemon);
    expect(code).toBe(EXIT.ok);
    expect(io.out).toBe(`${ID}  budget.exceeded\n  ep_1  billing.example.com/webhook  200 in 143 ms\nDelivered.\n`);
    expect(io.err).toBe("");
    expect(daemon.seen.map(({ method, path }) => `${method} ${path}`).slice(0, 3)).toEqual([
      `GET /v1/webhooks/events/${ID}`,
      `POST /v1/webhooks/events/${ID}/retry`,
      `GET /v1/webhooks/events/${ID}`,
    ]);
    expect(daemon.seen[1]!.body).toEqual({});
    expect(daemon.seen[1]!.headers).toMatchObject({ host: "localhost", "content-type": "application/json" });
    expect(daemon.seen[1]!.headers).not.toHaveProperty("authorization");
  });

  it("exits 8 when the attempt failed, and says when the next one is", async () => {
    const again = delivery("ep_1", "pending", attempt(2, 500), "2023-11-14T22:13:50.100Z");
    const { code, io } = await replay(await playing([[failed], [due], [again]]));
    expect(code).toBe(EXIT.answer_is_no);
    expect(io.out).toContain("500 in 143 ms; next attempt in 30s\nNot delivered.");
  });

  it("exits 8 when one of two endpoints failed, and 0 when both took it", async () => {
    const other = (round: number, status: number, shown: EventDelivery["status"]) =>
      delivery("ep_2", shown, attempt(round, status));
    const before = [failed, other(1, 500, "failed")];
    const pending = [due, other(1, 500, "pending")];
    expect((await replay(await playing([before, pending, [delivered, other(2, 500, "pending")]]))).code).toBe(8);
    expect((await replay(await playing([before, pending, [delivered, other(2, 204, "delivered")]]))).code).toBe(0);
  });

  it("does not look at deliveries outside the new round", async () => {
    const elsewhere = delivery("ep_2", "pending", attempt(1, 500));
    const { code, io } = await replay(
      await playing([
        [failed, elsewhere],
        [due, elsewhere],
        [delivered, elsewhere],
      ]),
    );
    expect(code).toBe(EXIT.ok);
    expect(io.out).not.toContain("ep_2");
  });

  it("waits on when an attempt was interrupted", async () => {
    const cut = delivery("ep_1", "pending", attempt(2, 500, { outcome: "interrupted" }));
    expect((await replay(await playing([[failed], [due], [cut], [delivered]]))).code).toBe(EXIT.ok);
  });

  it("takes a success of the old round that came late", async () => {
    const late = delivery("ep_1", "delivered", attempt(1, 200));
    expect((await replay(await playing([[failed], [due], [late]]))).code).toBe(EXIT.ok);
  });

  it("exits 9 when nothing came back in 15 s", async () => {
    const { code, io } = await replay(await playing([[failed], [due]]));
    expect(code).toBe(EXIT.wait_ran_out);
    expect(io.out).toContain("No answer within 15s; the daemon keeps trying");
    expect(io.now()).toBe(1_700_000_015_000);
  });

  it("exits 8 at once when the endpoint is deleted meanwhile", async () => {
    const gone = delivery("ep_1", "cancelled", attempt(1, 503));
    expect((await replay(await playing([[failed], [due], [gone]]))).code).toBe(EXIT.answer_is_no);
  });

  it("names what was left alone", async () => {
    const other = delivery("ep_2", "failed", attempt(1, 503));
    const left = [{ delivery: "dlv_ep_2", endpoint: "ep_2", reason: "endpoint_disabled" }];
    const { code, io } = await replay(
      await playing(
        [
          [failed, other],
          [due, other],
          [delivered, other],
        ],
        left,
      ),
    );
    expect(code).toBe(EXIT.ok);
    expect(io.out).toContain("  ep_2  not replayed: it is disabled; to enable it: webhookd endpoints enable ep_2\n");
  });

  it("sends its scope; --force waits for what was delivered before", async () => {
    const before = delivery("ep_1", "delivered", attempt(1, 200));
    const pending = delivery("ep_1", "pending", attempt(1, 200));
    const daemon = await playing([[before], [pending], [pending], [delivered]]);
    expect((await replay(daemon, "--endpoint", "ep_1", "--force")).code).toBe(EXIT.ok);
    expect(daemon.seen[1]!.body).toEqual({ endpoint: "ep_1", force: true });
    expect(daemon.seen).toHaveLength(4);
  });

  it("with --no-wait says what was queued", async () => {
    const daemon = await playing([[failed], [due]]);
    const { code, io } = await replay(daemon, "--no-wait");
    expect([code, daemon.seen.length]).toEqual([EXIT.ok, 3]);
    expect(io.out).toBe(`${ID}  budget.exceeded\n  ep_1  pending\nQueued.\n`);
  });

  it("with --json says the same as one object", async () => {
    const { code, io } = await replay(await playing([[failed], [due], [delivered]]), "--json");
    expect(code).toBe(EXIT.ok);
    expect(JSON.parse(io.out)).toEqual({
      id: ID,
      type: "budget.exceeded",
      deliveries: [
        {
          id: "dlv_ep_1",
          endpoint: "ep_1",
          status: "delivered",
          next_attempt_at: null,
          attempt: { id: "att_1", number: 8, outcome: "succeeded", status_code: 200, error: null, duration_ms: 143 },
        },
      ],
    });
  });

  it.each([
    [409, "event_not_failed", EXIT.conflict],
    [409, "endpoint_disabled", EXIT.conflict],
    [410, "gone", EXIT.conflict],
    [401, "unauthorized", EXIT.not_allowed],
    [403, "forbidden", EXIT.not_allowed],
    [422, "validation_failed", EXIT.usage],
    [503, "storage_unavailable", EXIT.refused],
    [500, "internal", EXIT.refused],
  ])("a %s %s ends it with %s", async (status, code, exit) => {
    const daemon = await fakeDaemon(({ method }) =>
      method === "GET"
        ? { status: 200, body: { id: ID, type: "t", deliveries: [failed] } }
        : problem(status, code, "because \x1b[31mred", [{ pointer: "/endpoint", code: "x", detail: "is wrong" }]),
    );
    const { code: human, io } = await replay(daemon);
    expect(human).toBe(exit);
    expect(io.out).toBe("");
    expect(io.err).toContain("webhookd: because <U+001B>[31mred; endpoint: is wrong\n");
    const machine = await replay(daemon, "--json");
    expect(machine.code).toBe(exit);
    expect(JSON.parse(machine.io.err)).toMatchObject({ error: { code } });
  });

  it("exits 3 for an event that is not there", async () => {
    const daemon = await fakeDaemon(() => problem(404, "not_found", "there is nothing here"));
    const { code, io } = await replay(daemon);
    expect(code).toBe(EXIT.not_found);
    expect(io.err).toContain(`webhookd: there is no event ${ID} at ${daemon.socket}\n`);
  });

  it("refuses what is not the id of an event before it calls anybody", async () => {
    const io = new FakeIo();
    expect(await webhookd(io, "replay", "dlv_1", "--socket", "/nowhere")).toBe(EXIT.usage);
    expect(io.err).toContain("dlv_1 is not the id of an event");
  });
});
