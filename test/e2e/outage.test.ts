import { connect, Socket } from "node:net";
import { Worker } from "node:worker_threads";
import { describe, expect, it } from "vitest";
import { systemClock } from "../../src/clock.ts";
import type { Dial } from "../../src/delivery/http/dial.ts";
import { dnsFault } from "../../src/delivery/http/resolver.ts";
import type { SenderThreadData } from "../../src/delivery/threads/messages.ts";
import type { Log } from "../../src/log.ts";
import { ManualClock } from "../harness/clock.ts";
import { onPostgres, TestDaemon } from "../harness/daemon.ts";
import { DialSpy } from "../harness/dial.ts";
import { SPECIFIED_LADDER } from "../harness/ladder.ts";
import { TestReceiver } from "../harness/receiver.ts";
import { unawaited } from "../../src/domain/unawaited.ts";

const ADDRESS = "93.184.216.34";

/**
 * Starts a daemon with one endpoint on each of the hosts, on a network that can be cut. All hosts lead to the same
 * receiver.
 */
async function onNetwork(hosts: readonly string[]) {
  const receiver = await TestReceiver.start();
  const clock = new ManualClock();
  /** `dns` is the error of look-ups in `silentDns`. The host's own resolvers answer unless `deaf` is set. */
  const network = {
    cut: false,
    noRoute: false,
    deaf: false,
    dns: ["ETIMEOUT"],
    silentDns: new Set<string>(),
    /** Names that need no look-up. */
    known: new Set<string>(),
  };
  const spy = new DialSpy(() => (network.cut ? "blackhole" : receiver.port));
  const dial: Dial = (ip, port) => {
    if (!network.noRoute) return spy.dial(ip, port);
    const socket = new Socket();
    queueMicrotask(() => socket.destroy(Object.assign(new Error(), { code: "ENETUNREACH", address: ip })));
    return socket;
  };
  const resolve = async (host: string) => {
    if ((network.deaf && !network.known.has(host)) || network.silentDns.has(host)) throw dnsFault(network.dns);
    return [ADDRESS];
  };
  const log = new TestLog();
  const daemon = await TestDaemon.start({
    clock,
    log,
    network: {
      resolve,
      dial,
      askResolvers: async () => (network.deaf ? "this host's DNS resolvers do not answer" : null),
    },
    settings: { EGRESS_PORTS: String(receiver.port) },
  });
  for (const host of hosts) await daemon.register(`http://${host}:${receiver.port}/hook`);
  /** Lets time pass second by second, finishing the work of each second. */
  const pass = async (seconds: number) => {
    for (let second = 0; second < seconds; second++) {
      clock.advance(1000);
      unawaited(daemon.daemon.tick());
      await rest();
    }
  };
  const halts = async () => (await daemon.request("GET", "/v1/status")).body.not_sending;
  return { daemon, clock, network, spy, receiver, pass, halts, log };
}

/** Records what the daemon logs. */
class TestLog implements Log {
  readonly lines: { level: string; message: string; fields: Record<string, unknown> }[] = [];
  readonly debug = this.#at("debug");
  readonly info = this.#at("info");
  readonly warn = this.#at("warn");
  readonly error = this.#at("error");
  isLevelEnabled = () => true;

  #at(level: string) {
    return (fields: object, message: string) => void this.lines.push({ level, message, fields: { ...fields } });
  }

  of(level: string): string[] {
    return this.lines.filter((line) => line.level === level).map(({ message }) => message);
  }
}

const TURNS = onPostgres ? 40 : 10;

/**
 * Waits long enough for a commit and for a request on this host. All of that happens in this process, so it takes turns
 * of the event loop, however long a turn is on a busy machine. PostgreSQL runs in another process and gets more time.
 */
async function rest(): Promise<void> {
  for (let turn = 0; turn < TURNS; turn++) await new Promise((resolve) => setTimeout(resolve, 4));
}

describe("when nothing at all can be reached", () => {
  const HOSTS = ["a.example.com", "b.example.com", "c.example.com"];

  it("nothing is sent but one probe a second, no attempt is lost, and the first answer ends it", async () => {
    const hosts = Array.from("abcdefghijkl", (name) => `${name}.example.com`);
    const { daemon, network, spy, receiver, pass } = await onNetwork(hosts);
    network.cut = true;
    const id = await daemon.publish();
    await expect.poll(() => spy.dialled.length).toBe(hosts.length);
    await pass(10);
    // The attempts timed out, but do not count: they are made again without using a rung.
    expect(await daemon.attempts(id)).toEqual([]);
    expect(await daemon.event(id)).toMatchObject({ status: "pending" });
    const before = spy.dialled.length;
    const later = await daemon.publish();
    await pass(20);
    expect(spy.dialled.length - before).toBeGreaterThanOrEqual(19);
    expect(spy.dialled.length - before).toBeLessThanOrEqual(21);
    expect(receiver.requests).toHaveLength(0);

    network.cut = false;
    await pass(2);
    // Connections that were begun during the outage still have to time out.
    await pass(12);
    await daemon.daemon.idle();
    for (const event of [id, later]) {
      expect(await daemon.event(event)).toMatchObject({ status: "delivered" });
      expect((await daemon.attempts(event)).map(({ number, outcome }) => [number, outcome])).toEqual(
        hosts.map(() => [1, "succeeded"]),
      );
    }
    expect(receiver.requests).toHaveLength(2 * hosts.length);
    await receiver.close();
  });

  it("deliveries that failed at once, before that was known, lose no attempt either", async () => {
    const { daemon, network, pass } = await onNetwork(HOSTS);
    for (const host of HOSTS) network.silentDns.add(host);
    const id = await daemon.publish();
    await pass(9);
    expect(await daemon.attempts(id)).toEqual([]);
    await pass(2);
    network.silentDns.clear();
    await pass(2);
    await daemon.daemon.idle();
    expect((await daemon.attempts(id)).map(({ outcome }) => outcome)).toEqual(HOSTS.map(() => "succeeded"));
  });

  it("a stop records what was cut off as interrupted", async () => {
    const { daemon, network, spy, pass } = await onNetwork(HOSTS);
    network.cut = true;
    const id = await daemon.publish();
    // If one were dialled a second after the others, they would time out alone, and count as their receivers' fault.
    await expect.poll(() => spy.dialled.length).toBe(HOSTS.length);
    await pass(13);
    const stopped = daemon.daemon.stop();
    await pass(11);
    await stopped;
    const unreachable = { resolve: () => new Promise<never>(() => {}) };
    const again = await TestDaemon.start({ dir: daemon.dir, network: unreachable });
    const attempts = await again.attempts(id);
    expect(attempts.every(({ outcome }) => outcome === "interrupted")).toBe(true);
    expect(await again.event(id)).toMatchObject({ status: "pending" });
    const stoppedAgain = again.stop();
    again.daemon.abort();
    await stoppedAgain;
  });
});

describe("this host's own word is enough, though there is one receiver:", () => {
  it.each([
    ["no route", { noRoute: true }, "this host has no route to the receiver's network", 61],
    ["no resolver", { deaf: true, dns: ["ECONNREFUSED"] }, "no DNS resolver could be reached", 5],
    ["a resolver that is silent", { deaf: true }, "this host's DNS resolvers do not answer", 5],
    ["a resolver that fails", { deaf: true, dns: ["ESERVFAIL"] }, "this host's DNS resolvers do not answer", 5],
  ])("%s", async (_, trouble, detail, seconds) => {
    const { daemon, network, receiver, pass, halts, log } = await onNetwork(["a.example.com"]);
    Object.assign(network, trouble);
    const ids = [];
    for (let n = 0; n < 20; n++) ids.push(await daemon.publish());
    await pass(1);
    expect(await halts()).toEqual([{ reason: "unreachable", since: expect.any(String), detail }]);
    await pass(seconds);
    // The alarm is logged at the start of the outage, and again after a minute.
    const alarms = Array(seconds > 60 ? 2 : 1).fill(expect.stringContaining(`nothing can be sent: ${detail}`));
    expect(log.of("error")).toEqual(alarms);
    expect(log.lines.filter(({ level }) => level !== "debug").length).toBeLessThan(10);
    expect((await daemon.request("GET", "/v1/webhooks/failures")).body.data).toEqual([]);

    Object.assign(network, { noRoute: false, deaf: false });
    await pass(5);
    await daemon.daemon.idle();
    expect(receiver.requests).toHaveLength(ids.length);
    expect(await halts()).toEqual([]);
    const over = log.lines.find(({ message }) => message.includes("can be reached again"));
    expect(over?.fields.lasted_ms).toBeGreaterThanOrEqual(1000 * seconds);
    expect((await daemon.attempts(ids[0]!)).map(({ number, outcome }) => [number, outcome])).toEqual([
      [1, "succeeded"],
    ]);
    await receiver.close();
  });

  it("a resolver that dies uses up no attempt while other endpoints need no look-up", async () => {
    const { daemon, network, receiver, pass, halts } = await onNetwork(["b.example.com"]);
    network.known.add("b.example.com");
    network.deaf = true;
    await daemon.register(`http://a.example.com:${receiver.port}/hook`);
    const id = await daemon.publish();
    await pass(1);
    expect((await daemon.attempts(id)).map(({ url, outcome }) => [new URL(url).hostname, outcome])).toEqual([
      ["b.example.com", "succeeded"],
    ]);
    network.deaf = false;
    await pass(6);
    await daemon.daemon.idle();
    expect(await halts()).toEqual([]);
    expect((await daemon.attempts(id)).map(({ outcome }) => outcome)).toEqual(["succeeded", "succeeded"]);
    await receiver.close();
  });
});

describe("a customer who alone cannot be reached", () => {
  it.each([["ETIMEOUT"], ["ESERVFAIL"]])(
    "has its own fault when its DNS says %s and the root's does not",
    async (code) => {
      const { daemon, network, pass, halts } = await onNetwork(["a.example.com"]);
      network.silentDns.add("a.example.com");
      network.dns = [code];
      const id = await daemon.publish();
      await pass(12);
      expect((await daemon.attempts(id)).map(({ outcome }) => outcome)).toEqual(["failed"]);
      expect(await halts()).toEqual([]);
    },
  );

  it("has a timeout of its own when its DNS is silent, recorded as of then, and nobody else waits", async () => {
    const { daemon, network, receiver, pass } = await onNetwork(["a.example.com", "b.example.com", "c.example.com"]);
    network.silentDns.add("a.example.com");
    const id = await daemon.publish();
    // All three attempts start before any time passes. Stores differ in how long they take to return the targets.
    await expect.poll(() => receiver.requests.length).toBe(2);
    await rest();
    await pass(1);
    await daemon.publish();
    await expect.poll(() => receiver.requests.length).toBe(4);
    await expect.poll(async () => (await daemon.attempts(id)).length).toBe(3);
    const attempts = await daemon.attempts(id);
    expect(attempts.map(({ outcome, error }) => [outcome, error]).toSorted()).toEqual([
      ["failed", "timeout"],
      ["succeeded", null],
      ["succeeded", null],
    ]);
    const [delivery] = (await daemon.event(id)).deliveries.filter((one: any) => one.status === "pending");
    expect(delivery.next_attempt_at).toBe("2026-11-20T09:55:30.000Z");
    expect(receiver.requests).toHaveLength(4);
    await receiver.close();
  });

  it("comes to the end of its ladder with others like it, alone in a quiet night", async () => {
    const { daemon, network, pass, clock } = await onNetwork(["a.example.com", "b.example.com", "c.example.com"]);
    await daemon.register(`http://well.example.com:${(await TestReceiver.start()).port}/hook`, {
      events: ["goal.achieved"],
    });
    for (const host of ["a", "b", "c"]) network.silentDns.add(`${host}.example.com`);
    const id = await daemon.publish();
    await daemon.publish({}, "goal.achieved");
    for (const rung of [0, ...SPECIFIED_LADDER]) {
      clock.advance(rung);
      await pass(13);
    }
    expect(await daemon.event(id)).toMatchObject({ status: "failed" });
    const { body } = await daemon.request("GET", `/v1/webhooks/events/${id}/attempts?limit=100`);
    expect(body.data).toHaveLength(21);
  });
});

it("an outage is seen across sender threads", async () => {
  const HOSTS = 6;
  const receiver = await TestReceiver.start([], { host: "0.0.0.0" });
  const threads: Worker[] = [];
  const dialled = new Int32Array(new SharedArrayBuffer(4));
  const startSender = (workerData: SenderThreadData) => {
    const options = { workerData: { ...workerData, dialled: dialled.buffer }, execArgv: [] };
    const thread = new Worker(new URL("../harness/cut-off-sender.ts", import.meta.url), options);
    threads.push(thread);
    return thread;
  };
  const cut = (isCut: boolean) => threads.forEach((thread) => thread.postMessage({ kind: "network", cut: isCut }));
  const daemon = await TestDaemon.start({
    clock: systemClock,
    startSender,
    settings: { DELIVERY_THREADS: "2", RETRY_TIMEOUT: "1s", RETRY_DELAYS: "10ms,10ms" },
  });
  for (let host = 2; host < 2 + HOSTS; host++) await daemon.register(`http://127.0.0.${host}:${receiver.port}/hook`);
  cut(true);
  const id = await daemon.publish();
  // A probe starts each second and lasts as long as an attempt may. With this ladder every delivery would have failed
  // after three attempts.
  await expect.poll(() => dialled[0]!).toBeGreaterThanOrEqual(HOSTS + 3);
  expect(await daemon.event(id)).toMatchObject({ status: "pending" });
  cut(false);
  while ((await daemon.event(id)).status === "pending") await daemon.daemon.idle();
  expect(await daemon.event(id)).toMatchObject({ status: "delivered" });
  await receiver.close();
});

it.each(["EMFILE", "ENOMEM"])(
  "%s is our own fault: the attempt is made again later, and uses no rung",
  async (code) => {
    const receiver = await TestReceiver.start();
    const clock = new ManualClock();
    let dialled = 0;
    const dial = (ip: string, port: number) => {
      if (++dialled > 2) return connect(port, ip);
      const socket = new Socket();
      queueMicrotask(() => socket.destroy(Object.assign(new Error(code), { code })));
      return socket;
    };
    const daemon = await TestDaemon.start({ clock, network: { dial } });
    await daemon.register(receiver.url);
    const id = await daemon.publish();
    while ((await daemon.event(id)).status === "pending") clock.advance(1000);
    expect(dialled).toBe(3);
    expect((await daemon.attempts(id)).map(({ number, outcome }) => [number, outcome])).toEqual([[1, "succeeded"]]);
    await receiver.close();
  },
);
