/** Reads what came over from another sender, and what is sent to it here, or would be. */
import type { Client } from "../../../src/client/client.ts";
import { usage } from "../../failure.ts";
import { markOf, type ShownEndpoint } from "../comparison.ts";
import { payloadHash, type Sent, type Span } from "./sides.ts";

export interface Imported extends ShownEndpoint {
  readonly tenant: string;
  readonly when_disabled: "hold" | "skip" | "shadow";
  /** Its id at the other sender. */
  readonly there: string;
}

/** Returns the endpoints of the tenant, or of all, that came from there. Throws if there are none. */
export async function importedFrom(from: string, tenant: string | undefined, client: Client): Promise<Imported[]> {
  const found: Imported[] = [];
  for await (const endpoint of client.every("listEndpoints", { query: { tenant, order: "oldest" } })) {
    const mark = markOf(endpoint);
    if (mark !== null && mark.from === from) found.push({ ...endpoint, there: mark.id });
  }
  if (found.length > 0) return found;
  const whose = tenant === undefined ? "" : ` of the tenant ${tenant}`;
  throw usage(`no endpoint${whose} here came from ${from}`, `Import them first: webhookd import ${from} --help.`);
}

/** Returns their ids by each name that a log may use for them. */
export function namesOf(imported: readonly Imported[]): ReadonlyMap<string, string> {
  return new Map(
    imported.flatMap(({ id, uid, there }) => [there, uid, id].flatMap((name) => (name === null ? [] : [[name, id]]))),
  );
}

/** An event, and the endpoints here that have a delivery of it. */
interface OfEndpoints extends Sent {
  readonly endpoints: readonly string[];
}

/** Yields each event of the tenant, with its endpoints. Tests are left out. */
export async function* eventsHere(
  tenant: string,
  { since, until }: Span,
  client: Client,
): AsyncGenerator<OfEndpoints, void, undefined> {
  const query = {
    tenant,
    order: "oldest",
    include: "data,deliveries",
    since: new Date(since).toISOString(),
    until: new Date(until).toISOString(),
  };
  for await (const event of client.every("listEvents", { query })) {
    if (event.test) continue;
    const { id, type, publisher_id: publisherId, received_at: at, data } = event;
    const endpoints = (event.deliveries ?? []).map(({ endpoint }) => endpoint);
    if (event.more_deliveries !== null && event.more_deliveries !== undefined) {
      endpoints.length = 0;
      for await (const one of client.every("listDeliveries", { query: { event: id } })) endpoints.push(one.endpoint);
    }
    const payload = data === null || data === undefined ? null : payloadHash(data);
    yield { event: id, type, publisherId, payload, at: Date.parse(at), endpoints };
  }
}
