import { expect, it } from "vitest";
import { Sender, type Wire } from "../../../src/delivery/send/sender.ts";
import { Signer } from "../../../src/delivery/send/signer.ts";
import { noResponse, type Outcome } from "../../../src/domain/deliveries/attempt.ts";
import { ManualClock } from "../../harness/clock.ts";
import { claim } from "../../harness/egress.ts";
import { aTarget } from "../../harness/target.ts";

/** A wire whose receiver never answers. */
class HangingWire implements Wire {
  isClosed = false;
  readonly #ends: ((outcome: Outcome) => void)[] = [];
  #onDrained = () => {};

  post(): Promise<Outcome> {
    return new Promise((resolve) => this.#ends.push(resolve));
  }

  abort(): void {
    for (const end of this.#ends.splice(0)) end(noResponse("interrupted", "stopped", 0));
    this.#onDrained();
  }

  async close(): Promise<void> {
    this.isClosed = true;
    if (this.#ends.length > 0) await new Promise<void>((resolve) => (this.#onDrained = resolve));
  }
}

function setUp() {
  const wires: HangingWire[] = [];
  const ended: string[] = [];
  const sender = new Sender({
    clock: new ManualClock(),
    signer: (target) =>
      new Signer(target, { header: "X-Service-Signature", standardWebhooks: false, also: [], version: "0" }),
    open: () => wires[wires.push(new HangingWire()) - 1]!,
    maxInFlight: 16,
    endpointMaxInFlight: 16,
    onEnded: ({ delivery, outcome }) => void ended.push(`${delivery} ${outcome.outcome}`),
  });
  return { sender, wires, ended };
}

/** A second attempt waits. */
const LIMITS = { maxInFlight: 2, ratePerSecond: 5 };

it("ends at a stop also what is on its way to a URL that the endpoint has left", async () => {
  const { sender, ended } = setUp();
  await sender.setTarget(aTarget({ ...LIMITS, url: "https://old.example.com/h" }));
  sender.send([claim()]);
  await sender.setTarget(aTarget({ ...LIMITS, url: "https://new.example.com/h" }));
  sender.abort();
  await sender.drain();
  expect(ended).toEqual(["dlv_01 interrupted"]);
});

it("keeps nothing of an endpoint that was deleted, and what is on the wire still ends", async () => {
  const { sender, wires, ended } = setUp();
  const target = aTarget({ ...LIMITS, url: "https://receiver.example.com/h" });
  await sender.setTarget(target);
  sender.send([claim(), claim({ delivery: "dlv_02" })]);
  expect(await sender.forget("ep_01", true)).toEqual(["dlv_02"]);
  expect(wires.map(({ isClosed }) => isClosed)).toEqual([true]);
  // If the sender had kept the endpoint, it would reuse its wire.
  await sender.setTarget(target);
  expect(wires).toHaveLength(2);
  expect(await sender.forget("ep_01", true)).toEqual([]);
  sender.abort();
  await sender.drain();
  expect(ended).toEqual(["dlv_01 interrupted"]);
});
