/** Finds the one object whose id begins with the typed text, because tables on a terminal shorten ids. */
import type { Client } from "../src/client/client.ts";
import { isBeginning, isId, receivedWithin } from "../src/domain/id.ts";
import { Failure } from "./failure.ts";
import type { Io } from "./io.ts";
import { hostOf } from "./output/words.ts";
import { connect, type TargetArgs } from "./target.ts";
import { readId, type Named } from "./values.ts";

/** The error about an ambiguous prefix names at most this many. */
const NAMED = 5;
/** An id that is shortened but still unique never has this many others before it. */
const LOOKED_AT = 1000;

/** An id that may begin with the typed text, and words that tell it from others. */
interface Candidate {
  readonly id: string;
  readonly what: string;
}

/**
 * Reads the beginning of an id. Throws a Failure for anything else, before any request and before looking for a daemon.
 */
export function readBeginning(prefix: Named, text: string): string {
  // People copy a shortened cell of a table with its ellipsis.
  const typed = text.replace(/(?:…|\.{2,3}|>)$/, "");
  return isBeginning(prefix, typed) ? typed : readId(prefix, text);
}

/** Returns a client, and the whole id that was meant. */
export async function connectFor(prefix: Named, text: string, target: TargetArgs, io: Io) {
  readBeginning(prefix, text);
  const client = connect(target, io);
  return { client, id: await findId(prefix, text, client) };
}

/** Takes a whole id as it is. Throws a Failure for text that cannot be an id, before any request. */
export async function findId(prefix: Named, text: string, client: Client): Promise<string> {
  if (isId(prefix, text)) return text;
  const typed = readBeginning(prefix, text);
  let found = await findAmong(candidates(prefix, typed, client, receivedWithin(typed.slice(prefix.length + 1))), typed);
  // While the clock was ahead, ids got later times than ids created since, so look among the newest of all.
  const isByTime = prefix === "evt" || prefix === "dlv" || prefix === "att";
  if (found.length === 0 && isByTime) found = await findAmong(candidates(prefix, typed, client, {}), typed);
  const [only, another] = found;
  if (only === undefined) {
    throw new Failure("not_found", `no id begins with ${typed}`, `An id is ${prefix}_ followed by 26 characters.`);
  }
  if (another === undefined) return only.id;
  const those = found.slice(0, NAMED).map(({ id, what }) => `${id} ${what}`);
  const more = found.length > NAMED ? ", and others" : "";
  throw new Failure("usage", `more than one id begins with ${typed}: give more of it`, `${those.join(", ")}${more}.`);
}

async function findAmong(all: AsyncGenerator<Candidate>, typed: string): Promise<Candidate[]> {
  const found: Candidate[] = [];
  let looked = 0;
  for await (const candidate of all) {
    if (candidate.id.startsWith(typed)) found.push(candidate);
    if (++looked === LOOKED_AT || found.length > NAMED) break;
  }
  return found;
}

/** The period in which events were received. Empty means all of them. */
type Period = Partial<ReturnType<typeof receivedWithin>>;

/** Yields everything from the period that the typed text may stand for. */
async function* candidates(prefix: Named, typed: string, client: Client, period: Period): AsyncGenerator<Candidate> {
  switch (prefix) {
    case "ep":
      for await (const { id, url } of client.every("listEndpoints", { query: { match: typed } })) {
        yield { id, what: hostOf(url) };
      }
      return;
    case "job":
      for await (const { id, action, created_at } of client.every("listJobs"))
        yield { id, what: `${action} ${created_at}` };
      return;
    case "evt":
      for (const test of [false, true]) {
        for await (const { id, type } of client.every("listEvents", { query: { ...period, test } })) {
          yield { id, what: type };
        }
      }
      return;
    case "dlv":
      for (const test of [false, true]) {
        for await (const { id, type, endpoint } of client.every("listDeliveries", { query: { ...period, test } })) {
          yield { id, what: `${type} to ${endpoint}` };
        }
      }
      return;
    case "att":
      for await (const { id: event } of candidates("evt", `evt_${typed.slice(4, 4 + 11)}`, client, period)) {
        for await (const { id, number, endpoint } of client.every("listEventAttempts", { id: event })) {
          yield { id, what: `try ${number} at ${endpoint}` };
        }
      }
  }
}
