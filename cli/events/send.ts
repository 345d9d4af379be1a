import type { Event, EventDelivery } from "../../src/client/answers.ts";
import type { Client } from "../../src/client/client.ts";
import { lastResultOf } from "../attempts/text.ts";
import type { Args } from "../commands.ts";
import { EXIT } from "../exit-code.ts";
import type { Io } from "../io.ts";
import { note, say, sayJson } from "../print.ts";
import { connect } from "../target.ts";
import { count } from "../words.ts";
import { readData } from "./data.ts";

/** A receiver has 10 s, and the daemon a moment to start and to write down what came back. */
const WAIT_MS = 15_000;
const POLL_MS = 100;

/** The id alone goes to stdout, unless it waits. */
export async function run(args: Args<"events send">, io: Io): Promise<number> {
  const data = await readData(args.data, io);
  const client = connect(args, io);
  const rest = JSON.stringify({ type: args.type, tenant: args.tenant, created_at: args["created-at"] });
  const key = args["idempotency-key"];
  const published = await client.call("publishEvent", {
    body: `${rest.slice(0, -1)},"data":${data}}`,
    ...(key !== undefined && { idempotencyKey: key }),
  });
  if (args.wait) return tell(await firstAttempts(client, published.id, io), args, io);
  if (args.json) sayJson(io, published);
  else {
    note(io, `${published.type} goes to ${count(published.deliveries, "endpoint", "endpoints")}.`);
    say(io, published.id);
  }
  return EXIT.ok;
}

async function firstAttempts(client: Client, id: string, io: Io): Promise<Event> {
  const end = io.monotonic() + WAIT_MS;
  let event = await client.call("getEvent", { id });
  while (event.deliveries.some(isOpen) && io.monotonic() < end) {
    await io.sleep(POLL_MS);
    event = await client.call("getEvent", { id });
  }
  return event;
}

/** One that was interrupted is made again. */
function isOpen({ status, last_attempt: last }: EventDelivery): boolean {
  return status === "pending" && (last === null || last.outcome === "interrupted");
}

function tell(event: Event, { json }: Args<"events send">, io: Io): number {
  const { id, type, status, deliveries } = event;
  const exit = exitOf(event);
  if (json) {
    sayJson(io, { id, type, status, deliveries });
    return exit;
  }
  say(io, `${id}  ${type}`);
  for (const delivery of deliveries) say(io, `  ${delivery.endpoint}  ${lastResultOf(delivery, io.now())}`);
  say(io, deliveries.length === 0 ? "No endpoint chose this type." : TOLD[exit]);
  return exit;
}

const TOLD = {
  [EXIT.ok]: "Delivered.",
  [EXIT.answer_is_no]: "Not delivered.",
  [EXIT.wait_ran_out]: "No answer within 15s; the daemon goes on without this command.",
};

function exitOf({ deliveries }: Event): keyof typeof TOLD {
  if (deliveries.some(isOpen)) return EXIT.wait_ran_out;
  const isDelivered = deliveries.length > 0 && deliveries.every(({ status }) => status === "delivered");
  return isDelivered ? EXIT.ok : EXIT.answer_is_no;
}
