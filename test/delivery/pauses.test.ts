import { describe, expect, it } from "vitest";
import { CarefulSending } from "../../src/delivery/careful-mode.ts";
import { Halts } from "../../src/delivery/memory/halts.ts";
import type { Sending } from "../../src/delivery/send/sender.ts";
import type { HaltReason } from "../../src/domain/deliveries/pause.ts";
import { WebhookdError } from "../../src/domain/errors.ts";
import type { Send } from "../../src/domain/deliveries/delivery.ts";

function aSending() {
  const calls: string[] = [];
  const sending = {
    pause: async () => void calls.push("pause"),
    resume: () => void calls.push("resume"),
    probe: () => void calls.push("probe"),
    send: (sends: readonly Send[]) => void calls.push(`send ${sends.map(({ delivery }) => delivery).join()}`),
    forget: async () => [],
  };
  return { calls, sending: sending as unknown as Sending };
}

describe("reasons to pause", () => {
  it("do not cancel each other: sending goes on when the last one is gone", () => {
    const halts = new Halts();
    halts.begin("operator", "why", 1);
    halts.begin("unrecorded", "why", 2);
    halts.begin("unrecorded", "why", 3);
    expect(halts.all.map(({ reason, since }) => [reason, since])).toEqual([
      ["operator", 1],
      ["unrecorded", 2],
    ]);
    expect(["unrecorded", "shortage", "operator", "operator"].map((reason) => halts.end(reason as HaltReason))).toEqual(
      [false, false, true, false],
    );
  });

  it("let probes be made in an outage alone, not under the brake", () => {
    const halts = new Halts();
    halts.begin("unreachable", "why", 1);
    expect(halts.isOnly("unreachable")).toBe(true);
    halts.begin("operator", "why", 1);
    expect(halts.isOnly("unreachable")).toBe(false);
    expect(halts.has("operator")).toBe(true);
  });
});

it("in careful mode nothing is marked as dialled while paused, but a probe", async () => {
  const { calls, sending } = aSending();
  const markStarted = async (sends: readonly Send[]) =>
    void calls.push(`mark ${sends.map(({ delivery }) => delivery).join()}`);
  const careful = new CarefulSending(sending, { recovery: { markStarted } }, () => {});
  const sends = ["a", "b", "c"].map((delivery) => ({ delivery, endpoint: "ep_1" }) as Send);
  await careful.pause();
  careful.send(sends);
  await careful.forget("ep_2");
  expect(calls).toEqual(["pause"]);
  careful.probe();
  await careful.forget("ep_2");
  expect(calls.splice(0)).toEqual(["pause", "mark a", "send a", "probe"]);
  careful.resume();
  await careful.forget("ep_2");
  expect(calls).toEqual(["resume", "mark b,c", "send b,c"]);
  expect(await careful.forget("ep_1")).toEqual([]);
});

it("in careful mode what the store would not mark is sent once it can be, though nothing else comes", async () => {
  const { calls, sending } = aSending();
  let isFull = true;
  const markStarted = async () => {
    if (isFull) throw new WebhookdError("storage_full", "no space");
  };
  const careful = new CarefulSending(sending, { recovery: { markStarted } }, () => {});
  careful.send([{ delivery: "a", endpoint: "ep_1" } as Send]);
  careful.retry();
  await careful.forget("ep_2");
  expect(calls).toEqual([]);
  isFull = false;
  careful.retry();
  await careful.forget("ep_2");
  expect(calls).toEqual(["send a"]);
});
