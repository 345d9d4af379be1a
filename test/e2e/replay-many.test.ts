import { afterEach, expect, it } from "vitest";
import { EXIT } from "../../cli/exit-code.ts";
import { FakeIo } from "../cli/fake-io.ts";
import { webhookd } from "../cli/runs.ts";
import { ManualClock } from "../harness/clock.ts";
import { TestDaemon } from "../harness/daemon.ts";
import { TestReceiver, type Answer } from "../harness/receiver.ts";

const EVENTS = 30;
const SETTINGS = { RETRY_DELAYS: "1s" };

let receiver: TestReceiver | undefined;
afterEach(() => receiver?.close());

/** A daemon with failed deliveries on which commands are run. Its time passes while they wait. */
class Site {
  readonly clock = new ManualClock();
  daemon!: TestDaemon;
  receiver!: TestReceiver;
  /** Called after the tick of each second. */
  onSecond: () => Promise<void> = async () => {};

  /**
   * Starts a daemon all of whose events have failed for good. From then on the receiver gives `answers`, and then 200.
   */
  static async open(...answers: Answer[]): Promise<Site> {
    const site = new Site();
    site.receiver = receiver = await TestReceiver.start(Array.from({ length: 2 * EVENTS }, () => 503));
    site.receiver.answer(...answers);
    site.daemon = await TestDaemon.start({ clock: site.clock, settings: SETTINGS });
    await site.daemon.register(site.receiver.url);
    const events = Array.from({ length: EVENTS }, (_, n) => ({ type: "budget.exceeded", data: { n } }));
    await site.daemon.request("POST", "/v1/webhooks/events/batch", { events });
    await site.daemon.daemon.idle();
    await site.second();
    if (site.receiver.requests.length !== 2 * EVENTS) throw new Error("not all of them failed");
    site.receiver.requests.length = 0;
    return site;
  }

  /** True while the daemon is down. It starts again in the next second. */
  isAway = false;

  async second(): Promise<void> {
    if (this.isAway) return this.#startAgain();
    this.clock.advance("1s");
    await this.daemon.daemon.tick();
    await this.daemon.settle(this.clock);
    await this.onSecond();
  }

  async #startAgain(): Promise<void> {
    this.isAway = false;
    this.daemon = await TestDaemon.start({ clock: this.clock, dir: this.daemon.dir, settings: SETTINGS });
  }

  async type(line: string, { input = [] as string[], isTTY = false, asked = async () => {} } = {}) {
    const io = new TickingIo(this, { input, isTTY }, asked);
    const code = await webhookd(io, ...line.split(" "), "--socket", this.daemon.config.server.socket);
    return { code, out: io.out, err: io.err };
  }

  async failedIds(): Promise<string[]> {
    const { body } = await this.daemon.request("GET", "/v1/webhooks/events?status=failed&limit=100");
    return body.data.map(({ id }: { id: string }) => id);
  }
}

class TickingIo extends FakeIo {
  constructor(site: Site, options: ConstructorParameters<typeof FakeIo>[0], asked: () => Promise<void>) {
    super(options);
    const sleep = this.sleep;
    this.sleep = async (ms) => {
      await sleep(ms);
      await site.second();
    };
    const { ask } = this.stdin;
    const stdin = {
      ...this.stdin,
      ask: async (question: string) => {
        await asked();
        return ask(question);
      },
    };
    Object.defineProperty(this, "stdin", { value: stdin });
  }
}

const idOf = (out: string) => /job_\w{26}/.exec(out)![0];

it("many are replayed after a canary, in the number that was typed, and the command waits for the last", async () => {
  const site = await Site.open();
  const afterFirst: number[] = [];
  site.onSecond = async () => void afterFirst.push(site.receiver.requests.length);
  const { code, out, err } = await site.type("replay --status-code 503 --canary --pace 10/s --wait", {
    isTTY: true,
    input: [String(EVENTS)],
  });
  expect({ code, out }).toEqual({
    code: EXIT.ok,
    out: expect.stringMatching(/^job_\w+ done in \d+s: 30 delivered, 0 failed of 30\.\n$/),
  });
  expect(err).toContain("30 deliveries to replay, the oldest received ");
  expect(err).toContain("still failing: 60 in a row");
  expect(afterFirst[0]).toBe(1);
  expect(new Set(site.receiver.requests.map(({ headers }) => headers["webhook-id"])).size).toBe(EVENTS);
  expect(site.receiver.requests).toHaveLength(EVENTS);
});

it("a canary that fails pauses the job, and what was not sent waits for somebody's word", async () => {
  const site = await Site.open(500);
  const { code, out } = await site.type("replay --all-failed --yes --canary --wait");
  expect(code).toBe(EXIT.partly_done);
  expect(out).toContain("paused itself because the canary to ep_");
  expect(site.receiver.requests).toHaveLength(1);
  expect((await site.type(`jobs resume ${idOf(out)}`)).code).toBe(EXIT.conflict);
  expect((await site.type(`jobs resume ${idOf(out)} --send-all`)).code).toBe(EXIT.ok);
  const watched = await site.type(`jobs show ${idOf(out)} --watch`);
  expect(watched.code).toBe(EXIT.partly_done);
  expect(watched.out).toMatch(/ done in \d+s: 29 delivered, 1 failed of 30\./);
});

it("a job is cancelled while somebody waits for it, and the rest stays failed", async () => {
  const site = await Site.open();
  const started = await site.type("replay --all-failed --yes --pace 10/s");
  site.onSecond = async () => {
    site.onSecond = async () => {};
    expect((await site.type(`jobs cancel ${idOf(started.out)}`)).out).toContain("is cancelled, 10 of 30 done");
  };
  const { code, out } = await site.type(`jobs show ${idOf(started.out)} --watch`);
  expect(code).toBe(EXIT.partly_done);
  expect(out).toMatch(/ cancelled in \d+s: 10 delivered, 0 failed of 30\./);
  await site.second();
  expect(await site.failedIds()).toHaveLength(EVENTS - 10);
  expect((await site.type(`jobs resume ${idOf(started.out)}`)).code).toBe(EXIT.conflict);
});

it("a plan that grew while its number was typed is not carried out", async () => {
  const site = await Site.open(503, 503);
  const fails = async () => {
    await site.daemon.publish();
    await site.daemon.daemon.idle();
    await site.second();
  };
  const { code, err } = await site.type("replay --all-failed", { isTTY: true, input: ["30"], asked: fails });
  expect(code).toBe(EXIT.conflict);
  expect(err).toContain("the set now contains 31 deliveries, not 30");
  expect(await site.failedIds()).toHaveLength(EVENTS + 1);
  expect((await site.type("replay --all-failed --yes --expect 30")).code).toBe(EXIT.conflict);
  expect((await site.type("replay --all-failed --yes --expect 31 --wait")).code).toBe(EXIT.ok);
});

it("the command waits through a restart of the daemon, and nothing is sent twice", async () => {
  const site = await Site.open();
  site.onSecond = async () => {
    site.onSecond = async () => {};
    await site.daemon.stop();
    site.isAway = true;
  };
  const { code, out, err } = await site.type("replay --all-failed --yes --pace 10/s --wait");
  expect(err).toMatch(/-- cannot reach the daemon at \S+ .+ continues once it is back --\n-- the daemon is back --\n/);
  expect({ code, out }).toEqual({
    code: EXIT.ok,
    out: expect.stringMatching(/^job_\w+ done in \d+s: 30 delivered, 0 failed of 30\.\n$/),
  });
  expect(site.receiver.requests).toHaveLength(EVENTS);
});

it("a thousand ids are piped from one command into the other", async () => {
  const site = await Site.open();
  const failed = await site.failedIds();
  const ghosts = Array.from(
    { length: 1000 - EVENTS },
    (_, n) => `evt_06fbqxvy4r2s4t6v8w0x2${String(n).padStart(5, "0")}`,
  );
  const { code, err } = await site.type("replay - --yes --wait --expect 30", { input: [...failed, ...ghosts] });
  expect(code).toBe(EXIT.ok);
  expect(err).toContain("at least 970 of the named events have nothing to replay");
  expect(site.receiver.requests).toHaveLength(EVENTS);
});
