/** Registers the receiver with the daemon, and removes it again. */
import { ClientError, type Client } from "../../../src/client/client.ts";
import type { Endpoint } from "../../../src/client/operations.ts";
import { offeredTypes } from "../../endpoints/event-types.ts";
import { Failure } from "../../failure.ts";

/** Marks endpoints that this program registered, so that it leaves all others alone. */
const MARK = { made_by: "webhookd listen" };

export interface Registration {
  readonly id: string;
  readonly types: number;
  /** `new` was registered now, `left` by an earlier run. `foreign` belongs to somebody else, and is not changed. */
  readonly origin: "new" | "left" | "foreign";
  readonly enabled: boolean;
  readonly secrets: readonly string[];
}

/** Null `types` chooses every type. If an endpoint already has this URL, it is used instead of a second one. */
export async function register(client: Client, url: string, types: readonly string[] | null): Promise<Registration> {
  const events = types ?? (await offeredTypes(client));
  const { data } = await client.call("listEndpoints", { query: { url } });
  const [before] = data;
  if (before === undefined) return registerNew(client, url, events);
  const isOurs = before.metadata["made_by"] === MARK.made_by;
  const after = isOurs ? await brought(client, before, events) : before;
  const origin = isOurs ? "left" : "foreign";
  const secrets = await currentSecrets(client, before.id);
  return { id: after.id, types: after.events.length, origin, enabled: after.enabled, secrets };
}

export async function remove(client: Client, id: string): Promise<void> {
  try {
    await client.call("deleteEndpoint", { id });
  } catch (error) {
    if (!(error instanceof ClientError)) throw error;
    if (error.failure === "not_found") return;
    throw new Failure(
      error.failure,
      `${id} is still registered: ${error.message}`,
      `Remove it with webhookd endpoints rm ${id}, or listen there again: it will be reused.`,
    );
  }
}

/** Returns every secret that may sign: both of them during a rotation. */
export async function currentSecrets(client: Client, id: string): Promise<string[]> {
  const { signing_secret, next_signing_secret: next } = await client.call("getSecret", { id });
  return [signing_secret, ...(next === undefined ? [] : [next])];
}

async function registerNew(client: Client, url: string, events: readonly string[]): Promise<Registration> {
  const body = { url, events, description: "webhookd listen, until it stops", metadata: MARK };
  try {
    const { id, signing_secret } = await client.call("registerEndpoint", { body });
    return { id, types: events.length, origin: "new", enabled: true, secrets: [signing_secret] };
  } catch (error) {
    // An error about the URL can only mean that the daemon refuses this machine, because we wrote the URL ourselves.
    if (!(error instanceof ClientError) || !error.faults.some(({ pointer }) => pointer === "/url")) throw error;
    throw new Failure(
      error.failure,
      `the daemon does not deliver to this machine: ${error.message}`,
      "Start it with `webhookd serve --dev`, which allows plain http endpoints on this machine, or listen without --register.",
      error.code,
    );
  }
}

async function brought(client: Client, endpoint: Endpoint, events: readonly string[]): Promise<Endpoint> {
  const isSame = endpoint.events.length === events.length && events.every((type) => endpoint.events.includes(type));
  if (isSame && endpoint.enabled) return endpoint;
  return client.call("changeEndpoint", { id: endpoint.id, body: { events, enabled: true } });
}
