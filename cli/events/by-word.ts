/** What a word by itself means among events: what their publisher calls them, or else where they went. */
import type { Client } from "../../src/client/client.ts";
import type { FilterWord } from "../../src/client/filter.ts";
import { findEndpoint } from "../endpoints/find.ts";
import { Failure } from "../failure.ts";
import { connectFor, readBeginning } from "../find-id.ts";
import type { Io } from "../io.ts";
import { note } from "../output/print.ts";
import { connect, type TargetArgs } from "../target.ts";

/** What the error of an ambiguous id names. */
const NAMED = 5;

type Words = { [W in FilterWord]?: string };

/** The words in one filter. */
export function joined(filter: string | undefined, words: readonly string[]): string | undefined {
  return words.length === 0 ? filter : [filter ?? "", ...words.map(quoted)].join(" ").trim();
}

/** A value with spaces that the shell has taken the quotes from. */
function quoted(word: string): string {
  const [, path, value] = /^(data\.[^\s:]+:)([^"].*\s.*)$/s.exec(word) ?? [];
  return path === undefined ? word : path + JSON.stringify(value);
}

/** Throws a Failure where there is neither. */
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

/** What begins so is an id or a key of ours, and no publisher's. */
const OURS = /^(?:evt|ep|dlv|att|job|key|req|whk|whsec)_/;

/** Throws a Failure for what can mean no event, before anyone is asked. */
export function requireEventWord(text: string): void {
  if (OURS.test(text)) readBeginning("evt", text);
}

/** The event of an id, whole or cut, or the only one to which its publisher gave this one. */
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
