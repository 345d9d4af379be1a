/** What a word by itself means among events: what their publisher calls them, or else where they went. */
import type { Client } from "../../src/client/client.ts";
import type { FilterWord } from "../../src/client/filter.ts";
import { findEndpoint } from "../endpoints/find.ts";
import { Failure } from "../failure.ts";
import type { Io } from "../io.ts";
import { note } from "../output/print.ts";

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
    throw new Failure("not_found", what, `To look into what events say: data.FIELD:${match}`);
  });
  note(io, `No event has "${match}" as its publisher's id or tag; shown is the endpoint ${endpoint}.`);
  return { ...query, endpoint };
}
