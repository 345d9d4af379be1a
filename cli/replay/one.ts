import type { Attempt, EventDelivery, Event } from "../../src/client/operations.ts";
import type { Client } from "../../src/client/client.ts";
import { printDuration } from "../../src/config/units.ts";
import { lastResultOf } from "../attempts/text.ts";
import { noteHalt } from "../daemon/halts.ts";
import { eventMeant } from "../events/by-word.ts";
import { EXIT } from "../exit-code.ts";
import type { Io } from "../io.ts";
import { leftText } from "../jobs/plan.ts";
import { say, sayJson } from "../output/print.ts";
import type { TargetArgs } from "../target.ts";
import { ATTEMPT_WAIT_MS, inVain, waitForAttempts, type Waited } from "../wait.ts";

/** One delivery of the new round. `attempt` is null until the first attempt was made. */
interface Replayed {
  readonly delivery: EventDelivery;
  readonly attempt: Attempt | null;
}

export interface OneArgs extends TargetArgs {
  /** The event's id, the beginning of its id, or its publisher's id. */
  readonly event: string;
  /** Limits the replay to the delivery to this endpoint. */
  readonly endpoint: string | undefined;
  readonly force: boolean;
  readonly wait: boolean;
  readonly timeoutMs: number | undefined;
  readonly json: boolean;
}

export async function replayOne(args: OneArgs, io: Io): Promise<number> {
  const waitMs = args.timeoutMs ?? ATTEMPT_WAIT_MS;
  const { client, id } = await eventMeant(args.event, args, io);
  const before = await client.call("getEvent", { id });
  const after = await client.call("replayEvent", {
    id: before.id,
    body: { endpoint: args.endpoint, ...(args.force && { force: true }) },
  });
  const left = after.left_alone ?? [];
  const ids = new Set(idsOf(before, args).filter((id) => !left.some(({ delivery }) => delivery === id)));
  const { response: replayed, why } = args.wait
    ? await waitForFirst(client, { before, after, ids, waitMs }, io)
    : { response: rounds(before, after, ids), why: null };
  const exit = args.wait ? exitOf(replayed) : EXIT.ok;
  const summary = args.wait ? summaryOf(exit, why, waitMs) : "Queued.";
  if (args.json) sayJson(io, jsonOf(after, replayed));
  else {
    say(io, `${after.id}  ${after.type}`);
    for (const { delivery, attempt } of replayed)
      say(io, `  ${delivery.endpoint}  ${lastResultOf({ ...delivery, last_attempt: attempt }, io.now())}`);
    for (const { endpoint, reason } of left) say(io, `  ${endpoint}  not replayed: ${leftText(reason, endpoint)}`);
    say(io, summary);
    if (!args.wait) await noteHalt(client, io);
  }
  return exit;
}

type Exit = typeof EXIT.ok | typeof EXIT.answer_is_no | typeof EXIT.wait_ran_out;

function summaryOf(exit: Exit, why: string | null, waitMs: number): string {
  if (exit === EXIT.ok) return "Delivered.";
  if (exit === EXIT.answer_is_no) return "Not delivered.";
  return inVain(why, printDuration(waitMs));
}

/** Returns the deliveries that the daemon will put into a new round. This must follow the daemon's own rule. */
function idsOf(event: Event, { endpoint, force }: OneArgs): string[] {
  return event.deliveries
    .filter((delivery) => endpoint === undefined || delivery.endpoint === endpoint)
    .filter(({ status }) => status === "failed" || (force && status === "delivered"))
    .map(({ id }) => id);
}

interface Wait {
  readonly before: Event;
  readonly after: Event;
  readonly ids: ReadonlySet<string>;
  readonly waitMs: number;
}

function waitForFirst(client: Client, { before, after, ids, waitMs }: Wait, io: Io): Promise<Waited<Replayed[]>> {
  const ask = async () => rounds(before, await client.call("getEvent", { id: before.id }), ids);
  const isDone = (replayed: readonly Replayed[]) => !replayed.some(isOpen);
  return waitForAttempts(isDone, { client, first: rounds(before, after, ids), ask, waitMs }, io);
}

/**
 * An attempt counts only if it belongs to a later round than the delivery had before. Until then, the last attempt is
 * still the failure that prompted the replay. An interrupted attempt is made again. A success counts in any round,
 * because a late success still delivers.
 */
function rounds(before: Event, after: Event, ids: ReadonlySet<string>): Replayed[] {
  const roundBefore = new Map(before.deliveries.map(({ id, last_attempt }) => [id, last_attempt?.round ?? 0]));
  return after.deliveries
    .filter(({ id }) => ids.has(id))
    .map((delivery) => {
      const attempt = delivery.last_attempt;
      const isNew =
        attempt !== null && attempt.outcome !== "interrupted" && attempt.round > roundBefore.get(delivery.id)!;
      return { delivery, attempt: isNew || delivery.status === "delivered" ? attempt : null };
    });
}

/** A delivery may also end without an attempt, when its endpoint is deleted. */
function isOpen({ delivery, attempt }: Replayed): boolean {
  return attempt === null && delivery.status === "pending";
}

function exitOf(replayed: readonly Replayed[]): Exit {
  const isFailed = ({ attempt, delivery }: Replayed) =>
    attempt === null ? delivery.status !== "pending" : attempt.outcome !== "succeeded";
  if (replayed.some(isFailed)) return EXIT.answer_is_no;
  return replayed.length === 0 || replayed.some(isOpen) ? EXIT.wait_ran_out : EXIT.ok;
}

function jsonOf(event: Event, replayed: readonly Replayed[]) {
  return {
    id: event.id,
    type: event.type,
    deliveries: replayed.map(({ delivery, attempt }) => ({
      id: delivery.id,
      endpoint: delivery.endpoint,
      status: delivery.status,
      next_attempt_at: delivery.next_attempt_at,
      attempt: attempt && {
        id: attempt.id,
        number: attempt.number,
        outcome: attempt.outcome,
        status_code: attempt.status_code,
        error: attempt.error,
        duration_ms: attempt.duration_ms,
      },
    })),
  };
}
