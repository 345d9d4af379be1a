/** Finds an endpoint by its host, its uid or a word of its description, for people who do not know its id. */
import type { Client } from "../../src/client/client.ts";
import type { Endpoint } from "../../src/client/operations.ts";
import { isBeginning } from "../../src/domain/id.ts";
import { byId } from "../command.ts";
import { Failure } from "../failure.ts";
import { findId } from "../find-id.ts";
import type { Io } from "../io.ts";
import { count, hostOf } from "../output/words.ts";
import { connect, type TargetArgs } from "../target.ts";

/** The error about an ambiguous word names at most this many endpoints. */
const NAMED = 5;

/**
 * Matches ids and keys, whole or shortened. Searching for part of an id would find nothing, and an error must not
 * repeat a key.
 */
const LIKE_AN_ID = /^(?:ep|evt|dlv|att|job|key|req)_|^wh/;

export function isWord(text: string): boolean {
  return !LIKE_AN_ID.test(text);
}

export const ENDPOINT = byId("ep", "Its id, or any part of its URL, uid or description that only it has");

export async function findEndpoint(text: string, client: Client): Promise<string> {
  if (LIKE_AN_ID.test(text)) return findId("ep", text, client);
  const found: Endpoint[] = [];
  for await (const endpoint of client.every("listEndpoints", { query: { match: text } })) {
    if (endpoint.uid === text) return endpoint.id;
    found.push(endpoint);
  }
  const [only, another] = found;
  if (only === undefined) {
    throw new Failure(
      "not_found",
      `no endpoint has "${text}" in its URL, uid or description`,
      "See `webhookd endpoints list`.",
    );
  }
  if (another === undefined) return only.id;
  const some = found.slice(0, NAMED).map(({ id, url, uid, description }) => {
    const whose = description === null || description === "" ? "" : ` (${description})`;
    return `${id} ${uid ?? hostOf(url)}${whose}`;
  });
  const more = found.length > NAMED ? `, and ${found.length - NAMED} more` : "";
  const those = count(found.length, "endpoint has", "endpoints have");
  throw new Failure("usage", `${those} "${text}": give a longer part of it, or an id`, `${some.join(", ")}${more}.`);
}

/** Counts the endpoints that get nothing because somebody, or the daemon, disabled them. */
export async function countDisabled(client: Client, tenant: string | undefined): Promise<number> {
  const { total, data } = await client.call("listEndpoints", {
    query: { tenant, enabled: false, limit: 1, total: true },
  });
  return total ?? data.length;
}

interface WithIds extends TargetArgs {
  readonly endpoint?: string | undefined;
  readonly event?: string | undefined;
  readonly filter?: string | undefined;
}

/**
 * Returns the same flags, with the endpoint and the event given by their whole ids. Text that cannot name one stays as
 * it is.
 */
export async function withWholeIds<A extends WithIds>(args: A, io: Io): Promise<A> {
  const { endpoint, event, filter } = args;
  const find = {
    endpoint: (typed: string) =>
      LIKE_AN_ID.test(typed) && !isBeginning("ep", typed) ? typed : findEndpoint(typed, connect(args, io)),
    event: (typed: string) => (isBeginning("evt", typed) ? findId("evt", typed, connect(args, io)) : typed),
  };
  let whole = filter;
  for (const [word, name, typed] of filter?.matchAll(/(?<!\S)(endpoint|event):(\S+)/g) ?? []) {
    whole = whole!.replace(word, `${name}:${await find[name as keyof typeof find](typed!)}`);
  }
  return {
    ...args,
    ...(endpoint !== undefined && { endpoint: await find.endpoint(endpoint) }),
    ...(event !== undefined && { event: await find.event(event) }),
    ...(whole !== undefined && { filter: whole }),
  };
}
