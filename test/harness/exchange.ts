/** Receivers and egresses that are closed when the test ends. */
import type { Egress } from "../../src/delivery/http/egress.ts";
import { Exchange } from "../../src/delivery/http/exchange.ts";
import { afterEveryTest } from "./ends.ts";
import { testEgress, type TestEgressParts } from "./egress.ts";
import { RawReceiver, type Step } from "./raw-receiver.ts";
import { TestReceiver, type Answer } from "./receiver.ts";

export const OK = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";
const closers: (() => unknown)[] = [];

afterEveryTest(async () => {
  for (const close of closers.splice(0).toReversed()) await close();
});

export function closeAfter(close: () => unknown): void {
  closers.push(close);
}

/** Reuses connections at once, unless the test asks otherwise. */
export function egressOf(parts: Partial<TestEgressParts> = {}): Egress {
  const egress = testEgress({ restMs: 0, ...parts });
  closeAfter(() => egress.close());
  return egress;
}

export function exchangeTo(url: string, egress: Egress = egressOf()): Exchange {
  const exchange = new Exchange(egress, url, "default");
  closeAfter(() => {
    exchange.abort();
    return exchange.close();
  });
  return exchange;
}

export async function receiverOf(...script: Answer[]): Promise<TestReceiver> {
  const receiver = await TestReceiver.start(script);
  closeAfter(() => receiver.close());
  return receiver;
}

export async function rawReceiverOf(...steps: Step[]): Promise<RawReceiver> {
  const receiver = await RawReceiver.start({ steps }, 10);
  closeAfter(() => receiver.close());
  return receiver;
}

export function urlOf(receiver: RawReceiver): string {
  return `http://127.0.0.1:${receiver.port}/hook`;
}
