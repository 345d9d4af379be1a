import type { Delivery } from "../../src/client/answers.ts";
import type { Client } from "../../src/client/client.ts";
import { lastResultOf } from "../attempts/text.ts";
import type { Args } from "../commands.ts";
import { EXIT } from "../exit-code.ts";
import type { Io } from "../io.ts";
import { say, sayJson } from "../print.ts";
import { connect } from "../target.ts";
import { readId } from "../values.ts";
import { ATTEMPT_WAIT_MS, waitUntil } from "../wait.ts";

export async function run(args: Args<"deliveries attempt">, io: Io): Promise<number> {
  const client = connect(args, io);
  const before = await client.call("attemptDelivery", { id: readId("dlv", args.delivery) });
  const after = args.wait ? await made(client, before, io) : before;
  const exit = args.wait ? exitOf(before, after) : EXIT.ok;
  if (args.json) sayJson(io, after);
  else say(io, `${after.id}  ${args.wait && exit !== EXIT.wait_ran_out ? lastResultOf(after, io.now()) : TOLD[exit]}`);
  return exit;
}

const TOLD: Readonly<Record<number, string>> = {
  [EXIT.ok]: "is attempted now",
  [EXIT.wait_ran_out]: "no answer within 15s; the daemon goes on without this command",
};

function made(client: Client, before: Delivery, io: Io): Promise<Delivery> {
  const ask = () => client.call("getDelivery", { id: before.id });
  return waitUntil((delivery) => isMade(before, delivery), { first: before, ask, waitMs: ATTEMPT_WAIT_MS }, io);
}

/** One on the wire comes first; if that one delivers, no other is made. */
function isMade(before: Delivery, { status, last_attempt: last }: Delivery): boolean {
  if (status !== "pending" && status !== before.status) return true;
  return last !== null && last.trigger === "manual" && last.number > (before.last_attempt?.number ?? 0);
}

function exitOf(before: Delivery, after: Delivery): number {
  if (!isMade(before, after)) return EXIT.wait_ran_out;
  return after.status === "delivered" ? EXIT.ok : EXIT.answer_is_no;
}
