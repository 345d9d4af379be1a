/** Waits for the first attempt of each of an event's deliveries. */
import type { Event, EventDelivery } from "../../src/client/operations.ts";
import type { Client } from "../../src/client/client.ts";
import { lastResultOf } from "../attempts/text.ts";
import { EXIT } from "../exit-code.ts";
import type { Io } from "../io.ts";
import { say, sayJson } from "../output/print.ts";
import { ATTEMPT_WAIT_MS, inVain, waitForAttempts, type Waited } from "../wait.ts";

/**
 * Resolves to the event once each of its deliveries was attempted. Gives up if that takes too long or is not going to
 * happen soon.
 */
export async function firstAttempts(client: Client, id: string, io: Io): Promise<Waited<Event>> {
  const ask = () => client.call("getEvent", { id });
  const isDone = ({ deliveries }: Event) => !deliveries.some(isOpen);
  return waitForAttempts(isDone, { client, first: await ask(), ask, waitMs: ATTEMPT_WAIT_MS }, io);
}

/** True until an attempt was made. An interrupted attempt does not count, because it is made again. */
function isOpen({ status, last_attempt: last }: EventDelivery): boolean {
  return status === "pending" && (last === null || last.outcome === "interrupted");
}

/** Prints the results. Returns the exit code. */
export function tellFirst({ response: event, why }: Waited<Event>, json: boolean, io: Io): number {
  const { id, type, tenant, status, deliveries } = event;
  const exit = exitOf(event);
  if (json) {
    sayJson(io, { id, type, status, deliveries });
    return exit;
  }
  say(io, `${id}  ${type}`);
  for (const delivery of deliveries) say(io, `  ${delivery.endpoint}  ${lastResultOf(delivery, io.now())}`);
  if (deliveries.length === 0) say(io, `No endpoint of tenant ${tenant} chose this type.`);
  else say(io, exit === EXIT.wait_ran_out ? inVain(why, "15s") : TOLD[exit]);
  return exit;
}

const TOLD = {
  [EXIT.ok]: "Delivered.",
  [EXIT.answer_is_no]: "Not delivered.",
};

export function exitOf({ deliveries }: Event): keyof typeof TOLD | typeof EXIT.wait_ran_out {
  if (deliveries.some(isOpen)) return EXIT.wait_ran_out;
  const isDelivered = deliveries.length > 0 && deliveries.every(({ status }) => status === "delivered");
  return isDelivered ? EXIT.ok : EXIT.answer_is_no;
}
