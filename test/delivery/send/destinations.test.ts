import { describe, expect, it } from "vitest";
import { Sender } from "../../../src/delivery/send/sender.ts";
import { Signer } from "../../../src/delivery/send/signer.ts";
import type { Outcome } from "../../../src/domain/deliveries/attempt.ts";
import type { Send } from "../../../src/domain/deliveries/delivery.ts";
import { ManualClock } from "../../harness/clock.ts";
import { answered } from "../../store/fixtures.ts";
import { aTarget } from "../../harness/target.ts";

const [CAP, ENDPOINTS, EACH] = [20, 200, 5];
const turn = () => new Promise<void>((resolve) => void setImmediate(resolve));

/** Returns a sender with this many endpoints and a few deliveries for each. Attempts end when the test says so. */
async function setUp(urlOf: (at: number) => string, addressOf: (url: string) => string) {
  const clock = new ManualClock();
  const open = new Map<string, (() => void)[]>();
  const ended: string[] = [];
  let most = 0;
  const inFlight = () => [...open.values()].reduce((sum, { length }) => sum + length, 0);
  const sender = new Sender({
    clock,
    signer: (target) =>
      new Signer(target, { header: "X-Service-Signature", standardWebhooks: false, also: [], version: "0" }),
    open: ({ url }) => ({
      post: () =>
        new Promise<Outcome>((resolve) => {
          const outcome = { ...answered(200, { durationMs: 1 }), remoteAddress: addressOf(url) };
          open.set(url, [...(open.get(url) ?? []), () => resolve(outcome)]);
          most = Math.max(most, inFlight());
        }),
      abort() {},
      close: async () => {},
    }),
    maxInFlight: 4096,
    endpointMaxInFlight: 256,
    destinationMaxInFlight: CAP,
    onEnded: ({ delivery }) => void ended.push(delivery),
  });
  const sends: Send[] = [];
  for (let at = 0; at < ENDPOINTS; at++) {
    const endpoint = `ep_${at}`;
    await sender.setTarget(aTarget({ endpoint, url: urlOf(at) }));
    for (let n = 0; n < EACH; n++) sends.push(sendOf(endpoint, `${at}_${n}`));
  }
  /** Ends all attempts in flight, and lets the attempts that waited for them start. */
  const round = async () => {
    for (const [url, ends] of open) {
      open.delete(url);
      for (const end of ends) end();
    }
    await turn();
    clock.advance(50);
    await turn();
  };
  return { sender, sends, ended, round, most: () => most, resetMost: () => (most = inFlight()) };
}

function sendOf(endpoint: string, event: string): Send {
  const body = new Uint8Array(10);
  return { event, delivery: `dlv_${event}`, endpoint, body, number: 1, trigger: "ladder", fresh: true };
}

async function finish({ ended, round, sends }: Awaited<ReturnType<typeof setUp>>) {
  for (let rounds = 0; ended.length < sends.length && rounds < 1000; rounds++) await round();
  expect(new Set(ended).size).toBe(sends.length);
}

describe("a destination that many endpoints lead to", () => {
  it("has no more attempts in flight than its cap, whatever the names of its hosts; each is made in its turn", async () => {
    const world = await setUp(
      (at) => `https://h${at}.victim.example/`,
      () => "93.184.216.34",
    );
    world.sender.send(world.sends);
    expect(world.most()).toBe(CAP);
    await finish(world);
    // The cap counts twice while some endpoints are known by their address and others only by their host.
    expect(world.most()).toBeLessThanOrEqual(2 * CAP);
  });

  it("is known by its address once that has answered, whatever the domains", async () => {
    const world = await setUp(
      (at) => `https://victim${at}.example/`,
      () => "93.184.216.34",
    );
    world.sender.send(world.sends.filter(({ event }) => event.endsWith("_0")));
    for (let rounds = 0; world.ended.length < ENDPOINTS; rounds++) await world.round();
    world.resetMost();
    world.sender.send(world.sends.filter(({ event }) => !event.endsWith("_0")));
    expect(world.most()).toBe(CAP);
    await finish(world);
    expect(world.most()).toBe(CAP);
  });

  it("holds up nobody else, and has no cap in a network that the operator allowed", async () => {
    const world = await setUp(
      (at) => (at % 2 === 0 ? `https://h${at}.victim.example/` : `http://10.0.0.7:${1000 + at}/`),
      (url) => (url.includes("victim") ? "93.184.216.34" : "10.0.0.7"),
    );
    world.sender.send(world.sends);
    expect(world.most()).toBe(CAP + (ENDPOINTS / 2) * EACH);
    await finish(world);
  });
});
