import { expect, it } from "vitest";
import { Sender } from "../../../src/delivery/send/sender.ts";
import { Signer } from "../../../src/delivery/send/signer.ts";
import type { Outcome } from "../../../src/domain/deliveries/attempt.ts";
import { ManualClock } from "../../harness/clock.ts";
import { claim } from "../../harness/egress.ts";

const [ENDPOINTS, DIAL_MS] = [2000, 0.25];
const turn = () => new Promise<void>((resolve) => void setImmediate(resolve));

/** To as many endpoints as one publish may have, none of which answers; each connection takes its time to begin. */
async function setUp() {
  const clock = new ManualClock();
  let started = 0;
  const sender = new Sender({
    clock,
    signer: (target) => new Signer(target, { header: "X-Service-Signature", standardWebhooks: false, version: "0" }),
    open: () => ({
      post: () => {
        started++;
        clock.advance(DIAL_MS);
        return new Promise<Outcome>(() => {});
      },
      abort() {},
      close: async () => {},
    }),
    maxInFlight: 4096,
    endpointMaxInFlight: 256,
    onEnded: () => {},
  });
  const limits = { maxInFlight: null, ratePerSecond: null };
  const secrets = { signingSecret: `whsec_${"A".repeat(43)}=`, secretVersion: 1, nextSigningSecret: null };
  for (let at = 0; at < ENDPOINTS; at++) {
    const url = "https://receiver.example.com/h";
    await sender.setTarget({
      endpoint: `ep_${at}`,
      url,
      tenant: "default",
      enabled: true,
      headers: {},
      ...limits,
      ...secrets,
    });
  }
  const sends = Array.from({ length: ENDPOINTS }, (_, at) => claim({ endpoint: `ep_${at}`, delivery: `dlv_${at}` }));
  return { sender, sends, clock, started: () => started };
}

it("starts attempts for 2 ms at a time, and all of them in the end", async () => {
  const { sender, sends, clock, started } = await setUp();
  sender.send(sends);
  let longest = clock.monotonic();
  while (started() < ENDPOINTS) {
    const before = clock.monotonic();
    await turn();
    longest = Math.max(longest, clock.monotonic() - before);
  }
  expect(longest).toBeLessThanOrEqual(2);
});

it("starts nothing in a coming turn once it is paused, and goes on when it is resumed", async () => {
  const { sender, sends, started } = await setUp();
  sender.send(sends);
  await sender.pause();
  const before = started();
  await turn();
  expect(started()).toBe(before);
  sender.resume();
  while (started() < ENDPOINTS) await turn();
});
