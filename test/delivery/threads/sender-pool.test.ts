import { EventEmitter } from "node:events";
import type { Worker } from "node:worker_threads";
import { expect, it } from "vitest";
import type { SenderThreadData, ToSender } from "../../../src/delivery/threads/messages.ts";
import type { SenderSettings } from "../../../src/delivery/send/open-sender.ts";
import { SenderPool } from "../../../src/delivery/threads/sender-pool.ts";
import type { Target } from "../../../src/domain/endpoints/endpoint.ts";
import type { AddressRules } from "../../../src/domain/network/address.ts";
import { silentLog } from "../../../src/log.ts";
import { claim } from "../../harness/egress.ts";
import { unawaited } from "../../../src/domain/unawaited.ts";
import { partly } from "../../harness/partly.ts";

const TARGET = { endpoint: "ep_01", signingSecret: "old" } as Target;
const ROTATED = { ...TARGET, signingSecret: "new" };

/** A thread that answers when the test says so. */
class FakeThread extends EventEmitter {
  readonly data: SenderThreadData;
  readonly messages: ToSender[] = [];

  constructor(data: SenderThreadData) {
    super();
    this.data = data;
  }

  postMessage(message: ToSender): void {
    this.messages.push(message);
  }

  /** Answers the last call. */
  answer(result?: unknown): void {
    const call = this.messages.findLast((message) => "call" in message)!.call;
    this.emit("message", { kind: "answer", call, result });
  }

  dieOnTheWire(): void {
    new Uint8Array(this.data.onWire).fill(1);
    this.emit("exit");
  }
}

function aSending() {
  const threads: FakeThread[] = [];
  const waits: [number, () => void][] = [];
  const sending = new SenderPool({
    threads: 1,
    start: (data) => {
      const thread = new FakeThread(data);
      threads.push(thread);
      return thread as unknown as Worker;
    },
    settings: { maxInFlight: 8, endpointMaxInFlight: 8 } as SenderSettings,
    clock: {
      nextTurn: (run) => void setImmediate(run),
      after: (delayMs, run) => {
        waits.push([delayMs, run]);
        return () => {};
      },
    },
    now: () => 0,
    log: silentLog,
    onEnded: () => {},
  });
  return { sending, threads, waits };
}

async function isSettled(promise: Promise<void>): Promise<boolean> {
  const no = Symbol("no");
  await new Promise(setImmediate);
  return (await Promise.race([promise, Promise.resolve(no)])) !== no;
}

it("settings are in use once the endpoint's thread says so", async () => {
  const { sending, threads } = aSending();
  const set = sending.setTarget(TARGET);
  expect(await isSettled(set)).toBe(false);
  threads[0]!.answer();
  expect(await isSettled(set)).toBe(true);
});

it("settings are in use once the quarantine has them too", async () => {
  const { sending, threads } = aSending();
  unawaited(sending.setTarget(TARGET));
  sending.send([claim()]);
  threads[0]!.dieOnTheWire();
  const [, replacement, quarantine] = threads;
  const set = sending.setTarget(ROTATED);
  replacement!.answer();
  expect(await isSettled(set)).toBe(false);
  expect(quarantine!.messages.at(-1)).toMatchObject({ kind: "target", target: ROTATED });
  quarantine!.answer();
  expect(await isSettled(set)).toBe(true);
});

it("a thread that takes the place of a dead one has the settings before it has work", async () => {
  const { sending, threads } = aSending();
  unawaited(sending.setTarget(TARGET));
  unawaited(sending.setTarget(ROTATED));
  sending.send([claim()]);
  threads[0]!.answer();
  threads[0]!.emit("exit");
  await new Promise(setImmediate);
  const kinds = threads[1]!.messages.map((message) => (message.kind === "target" ? message.target : message.kind));
  expect(kinds).toEqual([ROTATED, "sends"]);
});

it("a thread that takes the place of a dead one keeps to the rules of now, and so does the quarantine", () => {
  const { sending, threads } = aSending();
  unawaited(sending.setTarget(TARGET));
  const rules = partly<AddressRules>({ denyCidrs: ["192.0.2.0/24"] });
  sending.setEgress(rules);
  expect(threads[0]!.messages.at(-1)).toEqual({ kind: "egress", rules });
  sending.send([claim()]);
  threads[0]!.dieOnTheWire();
  expect(threads.slice(1).map(({ data }) => data.settings.addresses)).toEqual([rules, rules]);
});

it("an endpoint is forgotten by the thread that takes a dead one's place, too", async () => {
  const { sending, threads } = aSending();
  unawaited(sending.setTarget(TARGET));
  const send = claim();
  sending.send([send]);
  const forgotten = sending.forget(send.endpoint);
  threads[0]!.answer();
  threads[0]!.emit("exit");
  await new Promise(setImmediate);
  expect(threads[1]!.messages.at(-1)).toMatchObject({ kind: "forget", endpoint: send.endpoint });
  threads[1]!.answer([send.delivery]);
  expect(await forgotten).toEqual([send.delivery]);
});

it("the waiting sends of a thread that dies in a pause go to its replacement, which is paused too", async () => {
  const { sending, threads } = aSending();
  unawaited(sending.setTarget(TARGET));
  sending.send([claim()]);
  unawaited(sending.pause());
  threads[0]!.answer();
  threads[0]!.emit("exit");
  await new Promise(setImmediate);
  expect(threads[1]!.messages.map(({ kind }) => kind)).toEqual(["pause", "target", "sends"]);
});

it("a thread that cannot begin has another in its place after a second, and was killed by nothing", async () => {
  const { sending, threads, waits } = aSending();
  unawaited(sending.setTarget(TARGET));
  sending.send([claim()]);
  const ready = sending.ready();
  threads[0]!.emit("exit");
  expect([threads.length, waits.map(([delayMs]) => delayMs)]).toEqual([1, [1000]]);
  waits[0]![1]();
  await new Promise(setImmediate);
  // No delivery is suspected, so there is no quarantine.
  expect(threads).toHaveLength(2);
  expect(threads[1]!.messages.map(({ kind }) => kind)).toEqual(["target", "sends", "forget"]);
  threads[1]!.answer([]);
  expect(await isSettled(ready)).toBe(true);
});
