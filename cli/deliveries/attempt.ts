import type { Delivery } from "../../src/client/operations.ts";
import type { Client } from "../../src/client/client.ts";
import { lastResultOf } from "../attempts/text.ts";
import { byId, CLIENT, command } from "../command.ts";
import { EXIT } from "../exit-code.ts";
import { connectFor } from "../find-id.ts";
import type { Io } from "../io.ts";
import { say, sayJson } from "../output/print.ts";
import { ATTEMPT_WAIT_MS, inVain, waitForAttempts, type Waited } from "../wait.ts";

export const deliveriesAttempt = command({
  args: {
    delivery: byId("dlv", "Id of the delivery"),
    wait: {
      type: "boolean",
      default: true,
      description: "Wait up to 15 s for the answer",
      negativeDescription: "Return as soon as it is queued",
    },
    ...CLIENT,
  },
  examples: ["webhookd deliveries attempt dlv_01m7w8bx02jeyjr53r14y5rmma"],
  async run(args, io) {
    const { client, id } = await connectFor("dlv", args.delivery, args, io);
    const before = await client.call("attemptDelivery", { id });
    const { told: after, why } = args.wait ? await made(client, before, io) : { told: before, why: null };
    const exit = args.wait ? exitOf(before, after) : EXIT.ok;
    if (args.json) sayJson(io, after);
    else if (exit === EXIT.wait_ran_out) say(io, `${after.id}  ${inVain(why, "15s")}`);
    else say(io, `${after.id}  ${args.wait ? lastResultOf(after, io.now()) : "queued for an attempt now"}`);
    return exit;
  },
});

function made(client: Client, before: Delivery, io: Io): Promise<Waited<Delivery>> {
  const ask = () => client.call("getDelivery", { id: before.id });
  const isDone = (delivery: Delivery) => isMade(before, delivery);
  return waitForAttempts(isDone, { client, first: before, ask, waitMs: ATTEMPT_WAIT_MS }, io);
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
