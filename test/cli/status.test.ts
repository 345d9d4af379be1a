import { anOutbox } from "../../src/api/daemon/outboxes.ts";
import { describe, expect, it } from "vitest";
import { EXIT } from "../../cli/exit-code.ts";
import { anEndpoint } from "../../src/api/endpoints/fields.ts";
import { someFailures } from "../../src/api/reports/failures.ts";
import { someStatistics } from "../../src/api/reports/statistics.ts";
import { aHalt, aNode, aPause } from "../../src/api/daemon/sending.ts";
import { aStatus } from "../../src/api/daemon/status.ts";
import { aJob } from "../../src/api/jobs/schemas.ts";
import { fakeDaemon, problem } from "./fake-daemon.ts";
import { FakeIo } from "./fake-io.ts";
import { webhookd } from "./runs.ts";

const ENDPOINT = someFailures.data[0]!.endpoint;
const NOW = 1_700_000_000_000;
const at = (ago: number) => new Date(NOW - ago).toISOString();

interface Scene {
  readonly status?: object;
  readonly health?: object;
  readonly pending?: number;
  readonly jobs?: readonly { readonly status: string }[];
  readonly isTTY?: boolean;
  readonly columns?: number;
  readonly env?: Record<string, string>;
  /** Runs at each request for the status. It may return an object to make the daemon refuse the request. */
  readonly looks?: readonly (((io: FakeIo) => object | null) | undefined)[];
}

async function status(
  { status: own = {}, health, pending = 1978, jobs = [], looks = [], ...terminal }: Scene,
  ...words: string[]
) {
  const io = new FakeIo(terminal);
  let look = 0;
  const daemon = await fakeDaemon(({ path }) => {
    const ok = (body: unknown) => ({ status: 200, body });
    if (path === "/v1/status") {
      const does = looks[look++]?.(io) ?? null;
      return does === null
        ? ok({ ...aStatus, deliveries: { pending, held: 5, failed: 441 }, ...own })
        : problem(503, "storage_unavailable", "not now");
    }
    if (path.startsWith("/v1/webhooks/stats")) return ok(someStatistics);
    if (path.startsWith("/v1/webhooks/jobs")) {
      const wanted = new URL(path, "http://daemon").searchParams.get("status")?.split(",");
      const page = jobs.filter((job) => wanted === undefined || wanted.includes(job.status)).slice(0, 100);
      return ok({ data: page, next_cursor: null });
    }
    if (path.startsWith("/v1/tenants")) {
      const tenant = (name: string, events: number) => ({ name, endpoints: 1, published_last_hour: events });
      return ok({ data: [tenant("acme", 3400), tenant("globex", 170), tenant("initech", 0)], next_cursor: null });
    }
    if (path.startsWith("/v1/webhooks/failures"))
      return ok(health === undefined ? { ...someFailures, data: [] } : someFailures);
    const url = "https://user:secret@billing.example.com/hook?token=hidden";
    return ok({ ...anEndpoint, id: ENDPOINT, url, health: { ...health, pending: 0, held: 0, failed: 0 } });
  });
  const code = await webhookd(io, "status", "--socket", daemon.socket, ...words);
  return { code, io, daemon, looked: look };
}

const WAITS = { endpoint: ENDPOINT, tenant: "default", at_once: 1 };
const failing = { consecutive_failures: 1204, last_failure_at: at(3000), last_success_at: at(7_800_000) };

describe("webhookd status", () => {
  it("says how deliveries fare, which endpoints fail, and what to type next", async () => {
    const { code, io } = await status({ health: failing });
    expect([code, io.err]).toEqual([EXIT.ok, ""]);
    expect(io.out).toContain("  last hour 3,570 published, 1/s; 3,560 delivered, 2 failed\n");
    expect(io.out).toContain("            40 of 3,600 attempts failed, 1.008/s\n");
    expect(io.out).toContain("  busiest   acme published 3,400, globex published 170\n");
    expect(io.out).toContain("  now       441 failed, 5 held, 1,978 pending\n");
    expect(io.out).toContain("  due       nothing overdue; 2 due within a minute, 7 within the hour\n");
    const worst = [ENDPOINT, "billing\\.example\\.com/hook", "503 from the receiver", "1,204", "2h 10m ago"];
    expect(io.out).toMatch(new RegExp(`^ {2}FAILING .+\n {2}${worst.join(" +")}\n`, "m"));
    expect(io.out).toMatch(/ {2}next {6}webhookd failures\n$/);
    expect((await status({ status: { paused: aPause } })).io.out).toMatch(/webhookd resume\n$/);
    expect((await status({})).io.out).toMatch(/webhookd replay --all-failed --dry-run\n$/);
  });

  it("names the jobs that run, or wait for somebody to resume them", async () => {
    const paused = { ...aJob, status: "paused" };
    expect((await status({ jobs: [paused] })).io.out).toContain(
      `  jobs      1 paused: webhookd jobs show ${aJob.id}\n`,
    );
    const several = await status({ jobs: [paused, aJob, { ...aJob, status: "done" }] });
    expect(several.io.out).toContain("  jobs      1 running, 1 paused: webhookd jobs list\n");
    expect((await status({ jobs: [{ ...aJob, status: "done" }] })).io.out).not.toContain("  jobs ");
  });

  it("names a paused job that has many newer ones before it, all of them done", async () => {
    const newer = Array.from({ length: 100 }, () => ({ ...aJob, status: "done" }));
    const { io } = await status({ jobs: [...newer, { ...aJob, status: "paused" }] });
    expect(io.out).toContain(aJob.id);
  });

  it("says how many are overdue, and behind whom they wait for their turn", async () => {
    const behind = [
      { ...WAITS, url: "https://user:secret@slow.example/hook?token=hidden", oldest_due_at: at(243_000) },
    ];
    const own = { oldest_due_at: at(243_000), overdue: { deliveries: 1402, behind } };
    const { io } = await status({ status: own });
    expect(io.out).toContain("  due       1,402 overdue, the oldest due 4m 3s ago; 2 due");
    expect(io.out).toContain(
      "  behind    slow.example/hook: deliveries wait for their turn, 1 at a time, the oldest due 4m 3s ago\n",
    );
  });

  it("says how many keys are held, since when, and what to type", async () => {
    const held = { endpoint: ENDPOINT, count: 3, since: at(7200_000), ordering_key: "k", event: "evt_1" };
    const { io } = await status({ status: { held_keys: [held, { ...held, count: 1, since: at(60_000) }] } });
    expect(io.out).toContain(
      `  HELD      4 ordering keys at 2 endpoints, since 2h ago: webhookd endpoints show ${ENDPOINT}\n`,
    );
  });

  it("names the client certificates that have expired or soon do, and what to type", async () => {
    const of = { endpoint: ENDPOINT };
    const all = [at(60_000), at(-86_400_000)].map((not_after) => ({ ...of, not_after }));
    const { io } = await status({ status: { client_certificates: all } });
    const todo = `webhookd endpoints update ${ENDPOINT} --client-certificate FILE --client-key FILE\n`;
    expect(io.out).toContain(`  CERTIFICATE of ${ENDPOINT} has expired, at ${at(60_000)}: ${todo}`);
    expect(io.out).toContain(`  CERTIFICATE of ${ENDPOINT} expires at ${at(-86_400_000)}: ${todo}`);
  });

  it("says how each outbox is doing", async () => {
    const trouble = { what: "it is away", todo: "start it" };
    const outboxes = [
      { ...anOutbox, waiting: 12, oldest_seconds: 3.2, set_aside: 0 },
      { ...anOutbox, name: "other", trouble, waiting: null, set_aside: null },
    ];
    const { io } = await status({ status: { outboxes } });
    expect(io.out).toContain("  outbox    shop is read, 12 waiting, the oldest for 3s\n");
    expect(io.out).toContain("  outbox    nothing is published from other: it is away; start it\n");
  });

  it("names the hosts whose clocks are not PostgreSQL's", async () => {
    const nodes = [aNode, { ...aNode, this: false, name: "webhooks-2", clock_ahead_ms: -86_400_000 }];
    const said = "PostgreSQL's clock, by which everything goes\n";
    const { io } = await status({ status: { nodes, clock_ahead_ms: 2 } });
    expect(io.out.split("CLOCK")).toHaveLength(2);
    expect(io.out).toContain(`  CLOCK     webhooks-2: 86400.0 s behind ${said}`);
    const alone = await status({ status: { clock_ahead_ms: 1001 } });
    expect(alone.io.out).toContain(`  CLOCK     this host: 1.0 s ahead of ${said}`);
    expect((await status({ status: { clock_ahead_ms: undefined } })).io.out).not.toContain("CLOCK");
    const once = await status({ status: { ids_ahead_ms: 3_600_000, put_off_deliveries: 2 } });
    expect(once.io.out).toContain("  CLOCK     the latest event's id is 1h ahead of the clock\n");
    expect(once.io.out).toContain("  CLOCK     2 deliveries were due later than the ladder allows");
  });

  it("says how old its counts are where they are not of now", async () => {
    const now = "  now       441 failed, 5 held, 1,978 pending";
    for (const counted_at of [at(1000), null, undefined])
      expect((await status({ status: { counted_at } })).io.out).toContain(`${now}\n`);
    expect((await status({ status: { counted_at: at(31_000) } })).io.out).toContain(`${now}, counted 31s ago\n`);
  });

  it("blames nobody for what waits while sending is paused", async () => {
    const own = { oldest_due_at: at(243_000), overdue: { deliveries: 0, behind: [WAITS] } };
    expect((await status({ status: own })).io.out).toContain("  behind ");
    expect((await status({ status: { ...own, paused: aPause } })).io.out).not.toContain("  behind ");
  });

  it("says of an open move of the store how old it is, and what to type", async () => {
    const { io } = await status({ status: { open_move: { since: at(10_800_000) } } });
    expect(io.out).toContain("  MOVE OPEN an online move to PostgreSQL began 3h ago and has not ended");
    expect(io.out).toContain("webhookd migrate --to postgres://… --give-up\n");
    const disk = { ...aStatus.disk, free_bytes: Number.MAX_SAFE_INTEGER };
    const back = await status({ status: { disk, open_move: { since: null } } });
    expect(back.io.out).toContain("  MOVE OPEN an online move into a file began and has not ended");
    expect(back.io.out).toContain("webhookd migrate --from postgres://… --give-up\n");
  });

  it("says in 80 columns since when and why nothing is sent, what failed and which three are the worst", async () => {
    const paused = { ...aPause, at: at(7_380_000), reason: "a flood" };
    const { io } = await status({ health: failing, isTTY: true, columns: 80, status: { paused } });
    const said = io.out.split("\n").map((line) => line.slice(0, 80));
    expect(said[1]).toMatch(/^ {2}sending {3}PAUSED for 2h 3m: a flood$/);
    const answers = [
      /^ {2}now .+441 failed/,
      /billing.+ 503 from the .+ 1,204 /,
      /^ {2}backup .+ ago/,
      /^ {2}disk .+ free/,
    ];
    for (const answer of answers) expect(said).toContainEqual(expect.stringMatching(answer));
    expect(said.indexOf(said.find((line) => line.includes("next"))!)).toBeLessThan(24);
  });

  it("opens with what is the matter, exits 8 of troubles and 0 of the brake", async () => {
    const halt = { ...aHalt, since: at(12_000) };
    const cut = await status({ status: { not_sending: [halt] } });
    expect(cut.code).toBe(EXIT.answer_is_no);
    expect(cut.io.out).toMatch(/^webhookd \S+: CANNOT SEND, up /);
    const why = "nothing can be sent (for 12s so far): no DNS resolver could be reached. No attempt is used up";
    expect(cut.io.out).toContain(`\n  TROUBLE   ${why}\n`);
    expect(cut.io.out).not.toContain("sending   on");
    expect(cut.io.out).toMatch(/ {2}next {6}webhookd doctor\n$/);
    const short = { ...halt, reason: "shortage", detail: "this process has no file descriptors left" };
    const slow = await status({ status: { not_sending: [short] } });
    expect([slow.code, slow.io.out]).toEqual([EXIT.answer_is_no, expect.stringContaining("some attempts cannot be")]);
    const paused = await status({ status: { paused: aPause, not_sending: [{ ...halt, reason: "operator" }] } });
    expect([paused.code, paused.io.out]).toEqual([EXIT.ok, expect.stringMatching(/^webhookd \S+: paused, up /)]);
    expect(paused.io.out).not.toContain("TROUBLE");
  });

  it("--ready exits 0 while events are accepted, whatever is sent", async () => {
    const cut = await status({ status: { not_sending: [aHalt] } }, "--ready");
    expect([cut.code, cut.io.out]).toEqual([EXIT.ok, expect.stringContaining("CANNOT SEND")]);
    const full = await status({ status: { state: "disk_full" } }, "--ready");
    expect(full.code).toBe(EXIT.answer_is_no);
  });

  it("--brief looks at the daemon alone, as probes do every few seconds", async () => {
    const { io, daemon } = await status({}, "--brief", "--json");
    expect(daemon.seen.map(({ path }) => path)).toEqual(["/v1/status"]);
    expect(JSON.parse(io.out)).toMatchObject({ ...aStatus, deliveries: { pending: 1978 } });
  });

  it.each([
    ["failing", { health: failing }, `${ENDPOINT} is failing`],
    ["failing", { health: { ...failing, consecutive_failures: 1, last_success_at: at(300_000) } }, "is failing"],
    ["failing", { health: { ...failing, consecutive_failures: 1, last_success_at: at(299_000) } }, null],
    ["failing", {}, null],
    ["backlog>1977", {}, "1,978 deliveries are waiting"],
    ["backlog>1978", {}, null],
    ["oldest>10m", { status: { oldest_due_at: at(660_000) } }, "the oldest delivery has been due for 11m"],
    ["oldest>10m", { status: { oldest_due_at: at(600_000) } }, null],
    ["oldest>10m", {}, null],
  ])("--fail-on %s of %j is %s", async (condition, scene, met) => {
    const { code, io } = await status(scene, "--fail-on", `backlog>5000,${condition}`);
    expect(code).toBe(met === null ? EXIT.ok : EXIT.answer_is_no);
    if (met === null) expect(io.err).toBe("");
    else expect(io.err).toMatch(new RegExp(`^-- ${condition}: .*${met} --\n$`));
    const machine = JSON.parse((await status(scene, "--fail-on", condition, "--json")).io.out) as {
      failed_on: object[];
    };
    expect(machine.failed_on).toHaveLength(met === null ? 0 : 1);
  });

  it.each([
    ["failng", "Did you mean failing?"],
    ["backlog>", "It takes failing, damaged, backlog>1000, oldest>10m"],
    ["backlog>many", "--fail-on backlog> must be a number"],
    ["oldest>10", '--fail-on oldest> must be a duration such as 30s, 2h or 30d, not "10"'],
  ])("--fail-on refuses %s", async (condition, said) => {
    const { code, io, daemon } = await status({}, "--fail-on", condition);
    expect([code, daemon.seen.length]).toEqual([EXIT.usage, 0]);
    expect(io.err).toContain(said);
  });

  it("fails when it cannot look at what --fail-on is about", async () => {
    const io = new FakeIo();
    const daemon = await fakeDaemon(({ path }) =>
      path === "/v1/status" ? { status: 200, body: aStatus } : problem(503, "storage_unavailable", "not now"),
    );
    expect(await webhookd(io, "status", "--fail-on", "failing", "--socket", daemon.socket)).toBe(EXIT.refused);
  });
});

describe("webhookd status --watch", () => {
  const interrupted = (io: FakeIo) => (io.signal("SIGINT"), null);

  it("says it again and again, through a restart, until it is interrupted", async () => {
    const away = () => ({});
    const { code, io, looked } = await status({ looks: [undefined, away, undefined, interrupted] }, "--watch", "2s");
    expect([code, looked]).toEqual([EXIT.sigint, 4]);
    expect(io.out.match(/^webhookd 1\.0\.0: ready/gm)).toHaveLength(2);
    expect(io.err).toBe("-- not now; trying again --\n");
    expect(io.out).not.toContain("\x1b");
    expect(io.watchesSignals).toBe(false);
  });

  it("checks every two seconds by default", async () => {
    const slept: number[] = [];
    const looks = [(io: FakeIo) => void (io.sleep = async (ms) => void slept.push(ms)), undefined, interrupted];
    const { code } = await status({ looks: looks as never }, "--watch");
    expect([code, slept[0]]).toEqual([EXIT.sigint, 2000]);
  });

  it("draws over itself on a terminal that can", async () => {
    const looks = [undefined, undefined, interrupted];
    const { io } = await status({ isTTY: true, looks }, "--watch", "2s");
    expect(io.out.startsWith("\x1b[2J\x1b[H\x1b[Jwebhookd 1.0.0")).toBe(true);
    const dumb = await status({ isTTY: true, env: { TERM: "dumb" }, looks }, "--watch", "2s");
    expect(dumb.io.out).not.toContain("\x1b");
  });

  it("ends with 8 as soon as a condition is met, and with an error when it never saw the daemon", async () => {
    const { code, looked } = await status({ health: failing }, "--watch", "1s", "--fail-on", "failing");
    expect([code, looked]).toEqual([EXIT.answer_is_no, 1]);
    expect((await status({ looks: [() => ({})] }, "--watch", "1s")).code).toBe(EXIT.refused);
  });
});
