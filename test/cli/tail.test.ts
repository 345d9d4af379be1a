import { describe, expect, it } from "vitest";
import { EXIT } from "../../cli/exit-code.ts";
import { aWholeDelivery } from "../../src/api/deliveries/deliveries.ts";
import { fakeDaemon, problem, type Seen } from "./fake-daemon.ts";
import { FakeIo } from "./fake-io.ts";
import { webhookd } from "./runs.ts";
import { Following } from "../../cli/tail/follow.ts";
import { changeOf } from "../../cli/tail/change.ts";
import type { Client } from "../../src/client/client.ts";
import type { Delivery } from "../../src/client/operations.ts";

const ENDPOINT = "ep_06fbqxvx8r4m8q2v6ng0c3kz7t";
const event = (n: number) => `evt_06fbqxw6v8s2d4f6g8h0j2k4m${n}`;
/** Types by the last digit of the event's id. */
const TYPES: Record<string, string> = { 1: "budget.exceeded", 3: "usage" };
const id = (n: number) => `id: life-${n}\n\n`;
const message = (kind: string, data: object) => `event: ${kind}\ndata: ${JSON.stringify(data)}\n\n`;
const READY = message("ready", {});
const RELOAD = message("reload", { reason: "gone" });

/** The attempt of the nth event, n seconds past nine. */
function attempt(n: number, more: object = {}): string {
  const at = `2026-11-20T09:00:0${n}.000Z`;
  const about = {
    at,
    tenant: "default",
    endpoint: ENDPOINT,
    event: event(n),
    delivery: `dlv_${n}`,
    status: "delivered",
  };
  const result = {
    number: 1,
    outcome: "succeeded",
    error: null,
    status_code: 200,
    duration_ms: 12,
    next_attempt_at: null,
  };
  return message("attempt", { ...about, ...result, ...more });
}
const failed = {
  status: null,
  outcome: "failed",
  error: "http_status",
  status_code: 503,
  next_attempt_at: "2026-11-20T09:10:03.000Z",
};
const COUNTED = {
  kind: "attempt",
  tenant: "t",
  endpoint: ENDPOINT,
  status: null,
  outcome: "failed",
  error: "timeout",
};
const pending = (n: number) =>
  message("delivery", {
    at: `2026-11-20T09:00:0${n}.000Z`,
    tenant: "default",
    endpoint: ENDPOINT,
    event: event(n),
    delivery: `dlv_${n}`,
    status: "pending",
  });
/** The nth delivery as a list shows it. */
function delivery(n: number) {
  const last_attempt = {
    ...aWholeDelivery.last_attempt,
    number: 1,
    outcome: "succeeded",
    error: null,
    status_code: 200,
    started_at: `2026-11-20T09:00:0${n}.000Z`,
    duration_ms: 0,
  };
  return {
    ...aWholeDelivery,
    id: `dlv_${n}`,
    event: event(n),
    endpoint: ENDPOINT,
    status: "delivered",
    next_attempt_at: null,
    last_attempt,
  };
}

interface Scene {
  /**
   * The text that each connection sends before it ends. Text without a colon is the code of a refusal. The last one is
   * repeated.
   */
  readonly streams: readonly string[];
  readonly lists?: readonly (readonly object[])[];
  readonly env?: Record<string, string>;
  readonly prepare?: (io: FakeIo) => void;
  readonly onStream?: (io: FakeIo, connection: number) => void;
}

async function tail({ streams, lists = [], env = {}, prepare, onStream }: Scene, ...words: string[]) {
  let [connection, listed] = [0, 0];
  const io = new FakeIo({ env });
  prepare?.(io);
  const daemon = await fakeDaemon(({ path }) => {
    if (path.startsWith("/v1/webhooks/stream")) {
      onStream?.(io, connection);
      const body = streams[Math.min(connection++, streams.length - 1)]!;
      return body.includes(":") ? { status: 200, body, type: "text/event-stream" } : problem(403, body, "no");
    }
    if (path.startsWith("/v1/webhooks/deliveries?"))
      return { status: 200, body: { data: lists[listed++] ?? [], next_cursor: null } };
    return { status: 200, body: { type: TYPES[path.at(-1)!] ?? "other" } };
  });
  const code = await webhookd(io, "events", "tail", "--socket", daemon.socket, ...words);
  const streamed = daemon.seen.filter(({ path }: Seen) => path.startsWith("/v1/webhooks/stream"));
  return { code, io, daemon, streamed, lines: io.out.trimEnd().split("\n") };
}

describe("webhookd events tail", () => {
  it("begins with existing deliveries, oldest first, and reports nothing twice", async () => {
    const streams = [READY + id(0) + attempt(2) + attempt(3, failed) + pending(4) + id(1)];
    const { code, io, lines } = await tail({ streams, lists: [[delivery(2), delivery(1)]] }, "--exit-after", "4");
    expect([code, io.err]).toEqual([EXIT.ok, ""]);
    expect(lines).toEqual([
      `09:00:01Z + ${event(1)} ${ENDPOINT} try 1: 200 in 0 ms, delivered`,
      `09:00:02Z + ${event(2)} ${ENDPOINT} try 1: 200 in 0 ms, delivered`,
      `09:00:03Z ~ ${event(3)} ${ENDPOINT} try 1: 503 from the receiver in 12 ms, next in 10m`,
      `09:00:04Z . ${event(4)} ${ENDPOINT} waits`,
    ]);
  });

  it("hands the filter on to the stream and the list, and looks itself at what the stream does not know", async () => {
    const wrong = [attempt(2, { ...failed }), attempt(1), attempt(1, { ...failed, error: "timeout" })].join("");
    const streams = [READY + id(0) + wrong + pending(1) + attempt(1, failed) + id(1)];
    const filter = `status:failed endpoint:${ENDPOINT} type:budget.exceeded status_code:5xx error:http_status`;
    const { lines, daemon } = await tail({ streams }, "--filter", filter, "--exit-after", "1", "-n", "5");
    expect(lines).toEqual([
      `09:00:01Z ~ ${event(1)} ${ENDPOINT} try 1: 503 from the receiver in 12 ms, next in 10m 2s`,
    ]);
    expect(daemon.seen[0]!.path).toBe(`/v1/webhooks/stream?status=failed&endpoint=${ENDPOINT}`);
    expect(daemon.seen[1]!.path).toContain("type=budget.exceeded");
    expect(daemon.seen[1]!.path).toContain("limit=5");
  });

  it("takes several types and errors with commas between them, in its history too", async () => {
    const counted = (error: string) => ({ ...COUNTED, error, count: 2 });
    const counts = message("counts", { data: ["timeout", "connection", "http_status"].map(counted) });
    const wrong = attempt(1, { ...failed, error: "connection" }) + attempt(2, failed);
    const streams = [
      READY + id(0) + wrong + attempt(3, { ...failed, error: "timeout", status_code: null }) + counts + id(1),
    ];
    const old = delivery(1);
    const lists = [[{ ...old, status: "failed", last_attempt: { ...old.last_attempt, ...failed } }]];
    const words = ["--type", "budget.exceeded,usage", "--error", "timeout,http_status"];
    const { lines } = await tail({ streams, lists, onStream: (io, n) => n === 1 && io.signal("SIGINT") }, ...words);
    expect(lines).toEqual([
      `09:00:01Z x ${event(1)} ${ENDPOINT} try 1: 503 from the receiver in 0 ms, failed`,
      `09:00:03Z ~ ${event(3)} ${ENDPOINT} try 1: no answer in time in 12 ms, next in 10m`,
      `2 attempts more at ${ENDPOINT}: failed, timeout; too many at once to show each`,
      `2 attempts more at ${ENDPOINT}: failed, http_status; too many at once to show each`,
    ]);
  });

  it("comes back with the last id, and says what was missed before it shows it", async () => {
    const counts = message("counts", { data: [{ ...COUNTED, count: 40 }] });
    const streams = [
      READY + id(7),
      READY + attempt(1) + id(8) + attempt(2) + counts + id(9) + id(9) + attempt(3) + id(10),
    ];
    const { io, lines, streamed } = await tail({ streams }, "-n", "0", "--exit-after", "4");
    expect(streamed[1]!.headers["last-event-id"]).toBe("life-7");
    expect(io.err).toBe(
      "-- connection lost: the daemon ended the stream; reconnecting --\n-- reconnected; the missed changes follow (42) --\n",
    );
    expect(lines[2]).toBe(`40 attempts more at ${ENDPOINT}: failed, timeout; too many at once to show each`);
    expect(lines).toHaveLength(4);
  });

  it("requests the missed changes again if the connection breaks while they arrive", async () => {
    const streams = [
      READY + id(7),
      READY + attempt(1) + id(8) + attempt(2),
      READY + attempt(1) + id(8) + attempt(2) + id(9) + id(9),
      READY + id(9) + id(9),
    ];
    const onStream = (io: FakeIo, connection: number) => connection === 4 && io.signal("SIGINT");
    const { io, lines, streamed } = await tail({ streams, onStream }, "-n", "0");
    expect(lines.map((line) => line.slice(0, 9))).toEqual(["09:00:01Z", "09:00:02Z"]);
    const ids = streamed.map(({ headers }) => headers["last-event-id"]);
    expect(ids.slice(0, 4)).toEqual([undefined, "life-7", "life-7", "life-9"]);
    expect(io.err).toContain("the missed changes follow (2)");
  });

  it("reads the lists for what the daemon does not keep any more, and says that this is all", async () => {
    const streams = [READY + id(0) + attempt(2) + id(1), RELOAD + id(0) + attempt(4) + attempt(5) + id(1)];
    const lists = [[delivery(4), delivery(3), delivery(2), delivery(1)]];
    const { io, lines } = await tail({ streams, lists }, "-n", "0", "--exit-after", "4", "--json");
    expect(lines.map((line) => JSON.parse(line) as { kind: string; event?: string })).toMatchObject([
      { kind: "attempt", event: event(2) },
      { kind: "lost" },
      { kind: "reload", since: "2026-11-20T09:00:02.000Z", shown: 2, whole: true },
      { kind: "attempt", event: event(3) },
      { kind: "attempt", event: event(4) },
      { kind: "attempt", event: event(5) },
    ]);
    expect(io.err).toBe("");
    const human = await tail({ streams, lists }, "-n", "0", "--exit-after", "4");
    expect(human.io.err).toContain("are lost. 2 deliveries have changed; shown in their present state --\n");
    const quiet = await tail({ streams, lists: [[]] }, "-n", "0", "--exit-after", "2");
    expect(quiet.io.err).toContain("are lost. No delivery has changed --\n");
  });

  it("remembers the latest that lists have shown, however many there were", async () => {
    const START = Date.parse("2026-11-20T09:00:00Z");
    const nth = (n: number) => {
      const last_attempt = { ...aWholeDelivery.last_attempt, started_at: new Date(START + n).toISOString() };
      return { ...aWholeDelivery, id: `dlv_${n}`, last_attempt } as Delivery;
    };
    const lists = [0, 5000, 10_000, 15_000].map((from) => Array.from({ length: 5000 }, (_, n) => nth(from + n + 1)));
    lists.push([nth(20_001)]);
    const end = new AbortController();
    const client = {
      async *changes() {
        while (lists.length > 0) yield { kind: "reload" };
        yield changeOf(nth(20_000));
        end.abort();
      },
      async *every() {
        yield* lists.shift()!;
      },
    } as unknown as Client;
    const options = { query: {}, listQuery: {}, history: 0, signal: end.signal };
    const told = await Array.fromAsync(new Following(client, options, new FakeIo()).changes());
    expect(told.filter(({ kind }) => kind === "attempt")).toHaveLength(20_001);
  });

  it("ends quietly when it is interrupted, and when its reader goes away", async () => {
    const streams = [READY + id(0) + attempt(1) + attempt(2) + id(1)];
    const interrupted = await tail({ streams, onStream: (io, n) => n === 1 && io.signal("SIGINT") }, "-n", "0");
    expect([interrupted.code, interrupted.lines.length]).toEqual([EXIT.sigint, 2]);
    expect(interrupted.io.watchesSignals).toBe(false);
    const oneLine = (out: string) => !out.includes("\n");
    const left = await tail({ streams, prepare: (io) => void (io.reader = oneLine) }, "-n", "0");
    expect([left.code, left.lines.length, left.io.err]).toEqual([EXIT.ok, 1, ""]);
  });

  it("--attempts leaves out all else", async () => {
    const streams = [
      READY +
        id(0) +
        pending(1) +
        message("endpoint", { at: "2026-11-20T09:00:00Z", endpoint: ENDPOINT }) +
        attempt(2) +
        id(1),
    ];
    const { lines } = await tail({ streams }, "-n", "0", "--attempts", "--exit-after", "1");
    expect(lines[0]).toContain(event(2));
  });

  it("fails at once when the first connection does, and later when its key is taken away", async () => {
    expect((await tail({ streams: ["forbidden"] })).code).toBe(EXIT.not_allowed);
    expect((await tail({ streams: [READY + id(0), "forbidden"] }, "-n", "0")).code).toBe(EXIT.not_allowed);
    const io = new FakeIo();
    expect(await webhookd(io, "events", "tail", "--socket", "/nowhere")).toBe(EXIT.unreachable);
  });

  it.each([
    [["--status", "held"], "a delivery never changes to held"],
    [["--filter", "until:2h"], "until: does not apply here"],
    [["--lines", "1001"], "--lines must be a number from 0 to 1000"],
    [["--exit-after", "0"], "--exit-after must be a number from 1"],
  ])("refuses %j", async (words, said) => {
    const { code, io, daemon } = await tail({ streams: [READY] }, ...words);
    expect([code, daemon.seen.length]).toEqual([EXIT.usage, 0]);
    expect(io.err).toContain(said);
  });
});
