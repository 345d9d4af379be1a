import { existsSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { healthText } from "../../cli/endpoints/text.ts";
import { EXIT } from "../../cli/exit-code.ts";
import { aHealth } from "../../src/api/endpoints/schemas.ts";
import { anEndpoint } from "../../src/api/endpoints/fields.ts";
import { aHalt } from "../../src/api/daemon/sending.ts";
import { aStatus } from "../../src/api/daemon/status.ts";
import type { Answering } from "./described-daemon.ts";
import { typed, type Typing } from "./typed.ts";

const { id } = anEndpoint;
const SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwMfKQ9r8GKYo=";

async function endpoints(words: readonly string[], typing?: Typing) {
  const result = await typed(["endpoints", ...words], typing);
  // The catalogue, read at the end, only adds notes.
  return { ...result, last: result.daemon.seen.findLast(({ path }) => !path.endsWith("/event-types")) };
}

describe("webhookd endpoints add", () => {
  const words = ["add", "https://example.com/hook", "--events"];

  it("sends what was said of it and nothing else", async () => {
    const files = { "headers.json": '{"authorization":"Bearer x"}' };
    const more = ["--uid=u", "--rate=0.5", "--max-in-flight=4", "--when-disabled=skip", "--metadata", '{"a":1}'];
    const { code, last, daemon } = await endpoints(
      [...words, "budget.exceeded, goal.achieved", ...more, "--headers-from={dir}/headers.json", "--tenant=acme"],
      { files },
    );
    expect(code).toBe(EXIT.ok);
    expect(daemon.seen[0]!.path).toBe("/v1/webhooks?tenant=acme");
    expect(last!.body).toEqual({
      url: "https://example.com/hook",
      events: ["budget.exceeded", "goal.achieved"],
      uid: "u",
      rate_per_second: 0.5,
      max_in_flight: 4,
      when_disabled: "skip",
      headers: { authorization: "Bearer x" },
      metadata: { a: 1 },
      enabled: true,
    });
  });

  it("reads what the receiver asks for from files, and never from a flag", async () => {
    const files = { "auth.json": '{"type":"bearer","token":"hushhush"}', "c.pem": "C", "k.pem": "K", "ca.pem": "A" };
    const bearer = ["--auth-from={dir}/auth.json", "--ca-from={dir}/ca.pem"];
    const { code, last, out, err } = await endpoints([...words, "goal.achieved", ...bearer], { files });
    expect([code, last!.body]).toMatchObject([EXIT.ok, { auth: { type: "bearer", token: "hushhush" }, ca: "A" }]);
    expect(out + err).not.toContain("hushhush");
    const certificate = ["--client-certificate={dir}/c.pem", "--client-key={dir}/k.pem"];
    const { last: mtls } = await endpoints([...words, "goal.achieved", ...certificate], { files });
    expect(mtls!.body).toMatchObject({ auth: { type: "mtls", certificate: "C", key: "K" } });
    const { last: bare } = await endpoints(["update", id, "--auth-from=none", "--ca-from=none"]);
    expect(bare!.body).toEqual({ auth: null, ca: null });
  });

  it("--secret-file holds the secret for its owner alone, and it is printed nowhere", async () => {
    for (const more of [[], ["--json"]]) {
      const { code, out, err, daemon } = await endpoints([...words, "goal.achieved", "--secret-file={dir}/s", ...more]);
      const file = join(daemon.dir, "s");
      expect([code, readFileSync(file, "utf8"), statSync(file).mode & 0o777]).toEqual([EXIT.ok, `${SECRET}\n`, 0o600]);
      expect(out + err).not.toContain("whsec_");
      expect(out).toContain(id);
    }
  });

  it("makes no endpoint when the file cannot be made, and no file when there is no endpoint", async () => {
    const there = await endpoints([...words, "goal.achieved", "--secret-file={dir}/s"], { files: { s: "mine" } });
    expect([there.code, there.daemon.seen]).toEqual([EXIT.usage, []]);
    expect(readFileSync(join(there.daemon.dir, "s"), "utf8")).toBe("mine");
    const refuse = () => ({ status: 409, code: "endpoint_limit" });
    const refused = await endpoints([...words, "goal.achieved", "--secret-file={dir}/s"], { refuse });
    expect(refused.code).toBe(EXIT.conflict);
    expect(existsSync(join(refused.daemon.dir, "s"))).toBe(false);
  });

  it("--secret-from signs nothing with another secret: it is registered with that one", async () => {
    const files = { s: `${SECRET}\n` };
    const { code, out, err, daemon } = await endpoints([...words, "goal.achieved", "--secret-from={dir}/s"], { files });
    expect(code).toBe(EXIT.ok);
    expect(daemon.asked()).toEqual(["registerEndpoint", "listEventTypes"]);
    expect(daemon.seen[0]!.body).toMatchObject({ secret: SECRET, enabled: true });
    expect([out, err]).toEqual([`${id}\n`, expect.not.stringContaining("whsec_")]);
  });

  it("says what each pattern matches today", async () => {
    const events = ["transaction.*", "later.*", "budget.exceeded"];
    const answers = { registerEndpoint: { ...anEndpoint, events, signing_secret: SECRET } };
    const { code, err, daemon } = await endpoints([...words, events.join(",")], { answers });
    expect([code, daemon.asked()]).toEqual([EXIT.ok, ["registerEndpoint", "listEventTypes"]]);
    expect(err).toContain("transaction.* matches today: transaction.enriched\n");
    expect(err).toContain("later.* matches no event type today\n");
    const shown = await endpoints(["show", id], {
      answers: { getEndpoint: { ...anEndpoint, events, health: aHealth } },
    });
    expect(shown.out).toContain("later.* matches no event type today\n");
  });

  it("takes all types of the catalogue", async () => {
    const { last, daemon } = await endpoints([...words, "all"]);
    expect(daemon.asked()).toEqual(["listEventTypes", "registerEndpoint", "listEventTypes"]);
    expect(last!.body).toMatchObject({ events: ["transaction.enriched"] });
  });

  it.each([
    ["transaction.enrichd", 'there is no event type "transaction.enrichd"', "Did you mean transaction.enriched?"],
    ["nothing.like.it", 'there is no event type "nothing.like.it"', "The event types are transaction.enriched."],
  ])("of the unknown type %s it says what was meant", async (type, what, hint) => {
    const fault = { pointer: "/events/0", code: "unknown_event_type", detail: "is not a known event type" };
    const { code, err } = await endpoints([...words, type], { refuse: refusing(fault) });
    expect(code).toBe(EXIT.usage);
    expect(err).toBe(`webhookd: ${what}\n  ${hint} Nothing was done.\n`);
  });

  it("of plain http it says how to try that on one machine", async () => {
    const fault = { pointer: "/url", code: "url_scheme", detail: "must be https" };
    const { code, err } = await endpoints(["add", "http://localhost:4000", "--events", "goal.achieved"], {
      refuse: refusing(fault),
    });
    expect(code).toBe(EXIT.usage);
    expect(err).toMatch(/; url: must be https\n {2}.*--dev/);
  });

  it.each([
    [["--rate=fast"], "--rate must be a number"],
    [["--rate=0"], "--rate must be a number"],
    [["--max-in-flight=0"], "--max-in-flight must be a number from 1"],
    [["--metadata=[1]"], "--metadata is not a JSON object"],
    [["--headers-from={dir}/none"], "there is no such file"],
    [["--headers-from={dir}/s"], "--headers-from is not JSON"],
    [["--auth-from={dir}/s"], "--auth-from is not JSON"],
    [["--client-certificate={dir}/s"], "a client certificate needs its key"],
    [["--auth-from={dir}/s", "--client-certificate=a", "--client-key=b"], "an endpoint has one auth"],
    [["--ca-from={dir}/none"], "there is no such file"],
    [["--secret-from={dir}/s"], "does not contain a signing secret"],
    [["--secret-from={dir}/s", "--secret-file={dir}/t"], "Use one of them"],
  ])("refuses %j before it asks anybody, and repeats no secret", async (more, message) => {
    const { code, err, daemon } = await endpoints([...words, "goal.achieved", ...more], { files: { s: "hushhush" } });
    expect([code, daemon.seen]).toEqual([EXIT.usage, []]);
    expect(err).toContain(message);
    expect(err).not.toContain("hushhush");
  });
});

describe("webhookd endpoints update", () => {
  it("changes what was said, and takes away what is none", async () => {
    const words = [
      "update",
      id,
      "--to=https://example.com/new",
      "--uid=none",
      "--rate=none",
      "--remove-event",
      "budget.exceeded",
    ];
    const { last } = await endpoints([...words, "--add-event=goal.achieved", "--add-event=carbon.threshold"]);
    expect(last!.body).toEqual({
      url: "https://example.com/new",
      uid: null,
      rate_per_second: null,
      events: ["goal.achieved", "carbon.threshold"],
    });
  });

  it("says what is other than before and nothing else; of headers only their names", async () => {
    const files = { h: '{"authorization":"new"}' };
    const { out } = await endpoints(["update", id, "--headers-from={dir}/h"], { files });
    expect(out).toBe(`${id} changed:\n  headers: now authorization\n`);
    const auth = { type: "basic", username: "me", password: "***" };
    const changeEndpoint = { ...anEndpoint, auth };
    const basic = { files: { a: JSON.stringify({ ...auth, password: "new" }) }, answers: { changeEndpoint } };
    const { out: authed } = await endpoints(["update", id, "--auth-from={dir}/a"], basic);
    expect(authed).toBe(`${id} changed:\n  auth: now basic, user me\n`);
    const { out: same } = await endpoints(["update", id, "--rate=none"]);
    expect(same).toBe(`${id} is unchanged.\n`);
  });

  it.each([
    [[], "there is nothing to change"],
    [["--url=https://example.com/new"], "--url is the daemon's address; the new one is --to URL."],
    [["--events=all", "--add-event=goal.achieved"], "--events replaces all event types"],
  ])("refuses %j before it asks anybody", async (more, message) => {
    const { code, err, daemon } = await endpoints(["update", id, ...more]);
    expect([code, daemon.seen]).toEqual([EXIT.usage, []]);
    expect(err).toContain(message);
  });

  it("refuses to take away a type that was not chosen", async () => {
    const { code, err, daemon } = await endpoints(["update", id, "--remove-event=goal.achieved"]);
    expect([code, daemon.asked()]).toEqual([EXIT.usage, ["getEndpoint"]]);
    expect(err).toContain("It chose budget.exceeded.");
  });
});

describe("webhookd endpoints enable and disable", () => {
  it("say what becomes of what is held", async () => {
    const held = { ...anEndpoint, enabled: false, health: { ...aHealth, pending: 0, held: 806 } };
    const enabled = await endpoints(["enable", id], { answers: { getEndpoint: held } });
    expect(enabled.last!.body).toEqual({ enabled: true, held: "release" });
    expect(enabled.out).toBe(`${id} is enabled; 806 held deliveries are sent now, slowly at first.\n`);
    const cancelled = await endpoints(["enable", id, "--cancel-held"], {
      answers: { getEndpoint: held },
      isTTY: true,
      input: ["yes"],
    });
    expect(cancelled.last!.body).toEqual({ enabled: true, held: "cancel" });
    expect(cancelled.io.asked).toEqual([{ question: "Type yes to continue: ", hidden: false }]);
  });

  it("change what happens to its events only if the flags say so", async () => {
    expect((await endpoints(["disable", id])).last!.body).toEqual({ enabled: false });
    const skipping = await endpoints(["disable", id, "--skip"], {
      answers: { changeEndpoint: { ...anEndpoint, enabled: false, when_disabled: "skip" } },
    });
    expect(skipping.last!.body).toEqual({ enabled: false, when_disabled: "skip" });
    expect(skipping.out).toContain("Its new events are skipped; deliveries that were already waiting are held.");
    expect((await endpoints(["disable", id, "--skip", "--hold"])).code).toBe(EXIT.usage);
  });
});

describe("an endpoint that was disabled with --skip", () => {
  const skipping = {
    ...anEndpoint,
    enabled: false,
    when_disabled: "skip",
    health: { ...aHealth, pending: 0, held: 0 },
  };

  it("is shown with what enables it", async () => {
    expect((await endpoints(["show", id], { answers: { getEndpoint: skipping } })).out).toMatch(
      new RegExp(`^ {2}to enable +webhookd endpoints enable ${id}$`, "m"),
    );
    expect((await endpoints(["show", id])).out).not.toContain("to enable");
  });

  it("is enabled with a word on the events that it missed, and what sends them", async () => {
    const enabled = await endpoints(["enable", id], { answers: { getEndpoint: skipping } });
    expect(enabled.out).toBe(`${id} is enabled.\n`);
    expect(enabled.err).toBe(
      `Events that came while it was disabled were skipped. To see how many: webhookd replay --missing --endpoint ${id} --since 24h --dry-run\n`,
    );
    const shadowing = { ...skipping, when_disabled: "shadow" };
    expect((await endpoints(["enable", id], { answers: { getEndpoint: shadowing } })).err).toBe(
      `Events that came while it was disabled were shadowed, and are never sent.\nIf it is disabled again, so are its next ones. To hold them: webhookd endpoints update ${id} --when-disabled hold\n`,
    );
    const held = { ...skipping, when_disabled: "hold" };
    expect((await endpoints(["enable", id], { answers: { getEndpoint: held } })).err).toBe("");
  });
});

describe("webhookd endpoints show", () => {
  it("says until when a rotation overlaps", async () => {
    const at = "2026-11-22T09:55:00.000Z";
    const getEndpoint = { ...anEndpoint, health: aHealth, secret_switches_at: at };
    expect((await endpoints(["show", id], { answers: { getEndpoint } })).out).toContain(
      `takes over at ${at}; to let it take over now: webhookd endpoints rotate-secret ${id} --complete\n`,
    );
    expect((await endpoints(["show", id])).out).not.toContain("rotation");
  });

  it("says which keys are held, and how the oldest goes on", async () => {
    const event = "evt_01m7w8bx02jeyjr53r14y5rmma";
    const held_keys = { count: 3, since: "2026-11-20T08:00:00.000Z", ordering_key: "order_7", event };
    const getEndpoint = { ...anEndpoint, health: { ...aHealth, held_keys } };
    const { out } = await endpoints(["show", id], { answers: { getEndpoint } });
    expect(out).toMatch(
      /held keys +3 keys, the oldest is order_7: nothing of it is sent, because evt_\w+ failed .+ ago$/m,
    );
    expect(out).toMatch(new RegExp(`to send it again +webhookd replay ${event} --endpoint ${id}$`, "m"));
    expect(out).toMatch(new RegExp(`to skip it +webhookd events cancel ${event} --endpoint ${id}$`, "m"));
  });

  it("shows a field that it knows nothing of, as a newer daemon may have", async () => {
    const getEndpoint = { ...anEndpoint, health: aHealth, cost_centre: "4711", no_value: null };
    const { out } = await endpoints(["show", id], { answers: { getEndpoint } });
    expect(out).toMatch(/^ {2}cost centre +4711$/m);
    expect(out).not.toContain("no value");
  });
});

describe("the health of an endpoint in a list", () => {
  it.each([
    [{ last_success_at: null }, "untried"],
    [{ last_failure_at: null }, "ok"],
    [{ last_failure_at: "2026-11-20T09:00:00.000Z" }, "ok"],
    // Enabling an endpoint resets its failures in a row.
    [{ last_failure_at: "2026-11-20T10:00:00.000Z" }, "untried"],
  ])("with %j is %s", (health, text) => {
    expect(healthText({ enabled: true, damaged: null }, { ...aHealth, ...health }, 0)).toBe(text);
  });
});

describe("webhookd endpoints test", () => {
  const attempt = {
    endpoint: id,
    event: "evt_1",
    outcome: "succeeded",
    status_code: 200,
    duration_ms: 143,
    error: null,
  };

  it("says what came back in a line", async () => {
    const answers = { sendTestEvent: { ...attempt, response_body: "ok", detail: "" } };
    const { code, out, daemon } = await endpoints(["test", id], { answers });
    expect([code, out]).toEqual([EXIT.ok, `${id}  200 in 143 ms  evt_1\n`]);
    expect(daemon.seen[0]).toMatchObject({ path: `/v1/webhooks/${id}/test?wait=true`, body: {} });
  });

  it("says what was wrong with the response of a success", async () => {
    const detail = "the receiver answered 200; the response is malformed: a line ends in LF without CR (bare_lf)";
    const answers = { sendTestEvent: { ...attempt, response_body: "ok", detail } };
    const { code, out } = await endpoints(["test", id], { answers });
    expect([code, out]).toEqual([EXIT.ok, `${id}  200 in 143 ms  evt_1\n  ${detail}\n`]);
  });

  it("shows no more than 200 bytes of what a receiver says, and lets none of it steer the terminal", async () => {
    const body = `\x1b]0;gone\x07 ${"é".repeat(5000)}`;
    const failed = { ...attempt, outcome: "failed", status_code: 500, detail: "the receiver answered 500" };
    const { code, out } = await endpoints(["test", id], {
      answers: { sendTestEvent: { ...failed, response_body: body } },
    });
    expect(code).toBe(EXIT.answer_is_no);
    expect(out).toContain("<U+001B>]0;gone<U+0007> éé");
    expect(out).not.toContain("\x1b");
    expect(Buffer.byteLength(out)).toBeLessThan(400);
  });

  it("exits 9 when there is no answer, as with the brake on, and 0 when none was waited for", async () => {
    const detail = "all sending was paused by socket: bank maintenance";
    const answers = {
      sendTestEvent: { id: "evt_1", type: "t", created_at: "", delivery_count: 1 },
      getStatus: { ...aStatus, not_sending: [{ ...aHalt, reason: "operator", detail }] },
    };
    const waited = await endpoints(["test", id], { answers });
    const why = `Not attempted yet: ${detail}. To resume: webhookd resume. To check again`;
    expect([waited.code, waited.out]).toEqual([EXIT.wait_ran_out, expect.stringContaining(why)]);
    const sent = await endpoints(["test", id, "--no-wait"], { answers });
    expect([sent.code, sent.out, sent.daemon.seen[0]!.path]).toEqual([
      EXIT.ok,
      `${id}  queued  evt_1\n`,
      `/v1/webhooks/${id}/test`,
    ]);
  });
});

/** Responds with 422 and one field at fault. */
function refusing(fault: object): NonNullable<Answering["refuse"]> {
  return (operation) => (operation === "listEventTypes" ? undefined : { status: 422, errors: [fault] });
}
