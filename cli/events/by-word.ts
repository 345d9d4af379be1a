/** Finds events by a bare word: their publisher's id or tag, or else the endpoint they went to. */
import type { Client } from "../../src/client/client.ts";
import type { FilterWord } from "../../src/client/filter.ts";
import { findEndpoint } from "../endpoints/find.ts";
import { Failure } from "../failure.ts";
import { connectFor, readBeginning } from "../find-id.ts";
import type { Io } from "../io.ts";
import { note } from "../output/print.ts";
import { connect, type TargetArgs } from "../target.ts";

/** The error about an ambiguous id names at most this many events. */
const NAMED = 5;

type Words = { [W in FilterWord]?: string };

/** Appends the words to the filter. */
export function joined(filter: string | undefined, words: readonly string[]): string | undefined {
  return words.length === 0 ? filter : [filter ?? "", ...words.map(quoted)].join(" ").trim();
}

/** Restores the quotes that the shell removed from a value with spaces. */
function quoted(word: string): string {
  const [, path, value] = /^(data\.[^\s:]+:)([^"].*\s.*)$/s.exec(word) ?? [];
  return path === undefined ? word : path + JSON.stringify(value);
}

/** Resolves the bare word to a label, or else to an endpoint. Throws a Failure if it is neither. */
export async function byWord({ match, ...query }: Words, client: Client, io: Io): Promise<Words & { label?: string }> {
  if (match === undefined) return query;
  const found = { ...query, label: match };
  const { data } = await client.call("listEvents", { query: { tenant: query.tenant, label: match, limit: 1 } });
  if (data.length > 0 || query.endpoint !== undefined) return found;
  const endpoint = await findEndpoint(match, client).catch((error: unknown) => {
    if (!(error instanceof Failure) || error.code !== "not_found") throw error;
    const what = `no event has "${match}" as its publisher's id or tag, and ${error.message}`;
    throw new Failure("not_found", what, `To search the data of events: data.FIELD:${match}`);
  });
  note(io, `No event has "${match}" as its publisher's id or tag; showing the endpoint ${endpoint} instead.`);
  return { ...query, endpoint };
}

/** Text that begins like this is an id or a key of webhookd, never a publisher's. */
const OURS = /^(?:evt|ep|dlv|att|job|key|req|whk|whsec)_/;

/** Throws a Failure for text that cannot name an event, before any request is made. */
export function requireEventWord(text: string): void {
  if (OURS.test(text)) readBeginning("evt", text);
}

/** Finds the event by its id, whole or shortened, or by its publisher's id if no other event has the same one. */
export async function eventMeant(text: string, target: TargetArgs, io: Io): Promise<{ client: Client; id: string }> {
  if (OURS.test(text)) return connectFor("evt", text, target, io);
  const client = connect(target, io);
  const { data } = await client.call("listEvents", { query: { publisher_id: text, limit: NAMED + 1 } });
  const [only, another] = data;
  if (only === undefined) {
    const hint = `An id is evt_ followed by 26 characters. To search tags and endpoints too: webhookd events list ${text}`;
    throw new Failure("not_found", `no event has "${text}" as its id or its publisher's id`, hint);
  }
  if (another === undefined) return { client, id: only.id };
  const some = data.slice(0, NAMED).map(({ id, type, received_at }) => `${id} ${type} ${received_at}`);
  const hint = `${some.join(", ")}. For all: webhookd events list --publisher-id ${text}`;
  throw new Failure("usage", `more than one event has "${text}" as its publisher's id: give the id of one`, hint);
}
