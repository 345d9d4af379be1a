/** Checks each `[[signature.also]]` against the endpoints that it is for, and against their secrets. */
import { ClientError, type Client } from "../../src/client/client.ts";
import type { Endpoint } from "../../src/client/operations.ts";
import { type FurtherSignature, isFor, secretFault, shownName } from "../../src/domain/endpoints/further-signature.ts";
import { listed } from "../../src/domain/wording.ts";
import { count } from "../output/words.ts";
import { fail, ok, warn, type Finding } from "./finding.ts";

const SUBJECT = "[[signature.also]]";
/** The audit records each time a secret is read. */
const MAX_SECRETS = 50;

type Known = Pick<Endpoint, "id" | "tenant">;

interface Patient {
  readonly client: Client;
  readonly also: readonly FurtherSignature[];
  /** The id of the only endpoint to check. */
  readonly only: string | undefined;
}

export async function* alsoFindings({ client, also, only }: Patient): AsyncGenerator<Finding> {
  if (also.length === 0) return;
  const endpoints: Known[] = [];
  for await (const { id, tenant } of client.every("listEndpoints")) endpoints.push({ id, tenant });
  for (const signature of also) {
    const missed = missedBy(signature, endpoints);
    const found = endpoints.filter(({ id, tenant }) => isFor(signature, { endpoint: id, tenant }));
    const shown = shownName(signature);
    for (const what of missed) yield warn(SUBJECT, `${shown} ${what}`, "correct it in the configuration, and restart");
    if (found.length > 0) yield ok(SUBJECT, `${shown} is sent to ${count(found.length, "endpoint", "endpoints")}`);
    else if (missed.length === 0) yield ok(SUBJECT, `${shown} is for endpoints that do not exist yet`);
  }
  const needy = endpoints.filter(({ id }) => only === undefined || id === only);
  yield* secretFindings(client, also, needy);
}

/** Returns a sentence without its subject for each name that leads to no endpoint. */
export function missedBy({ tenants, endpoints }: FurtherSignature, known: readonly Known[]): string[] {
  const empty = (tenants ?? []).filter((name) => known.every(({ tenant }) => tenant !== name));
  const gone = (endpoints ?? []).filter((name) => known.every(({ id }) => id !== name));
  const outside = known.filter(({ id, tenant }) => endpoints?.includes(id) && tenants?.includes(tenant) === false);
  return [
    ...(empty.length === 0 ? [] : [`names ${listed(empty, "and")}: no such tenant has an endpoint`]),
    ...(gone.length === 0 ? [] : [`names ${listed(gone, "and")}: there is no such endpoint`]),
    ...outside.map(({ id, tenant }) => `names ${id} of the tenant ${tenant}, which its tenants leave out`),
  ];
}

/** Reads the secrets only where a format cannot take each of them. */
async function* secretFindings(
  client: Client,
  also: readonly FurtherSignature[],
  endpoints: readonly Known[],
): AsyncGenerator<Finding> {
  const asked = endpoints
    .map(({ id, tenant }) => ({ id, needs: also.filter((one) => isFor(one, { endpoint: id, tenant })) }))
    .map(({ id, needs }) => ({ id, needs: needs.filter(({ format }) => format.key === "base64") }))
    .filter(({ needs }) => needs.length > 0);
  for (const { id, needs } of asked.slice(0, MAX_SECRETS)) {
    let secret: string;
    try {
      secret = (await client.call("getSecret", { id })).signing_secret;
    } catch (error) {
      if (!(error instanceof ClientError)) throw error;
      // A damaged or deleted endpoint has a finding of its own.
      if (error.code !== "forbidden") continue;
      return yield warn(SUBJECT, "this key may not read secrets, so they were not checked", "use the unix socket");
    }
    for (const signature of needs) {
      const fault = secretFault(signature.format, secret);
      if (fault === null) continue;
      const what = `${shownName(signature)} ${fault}: its receivers refuse each request`;
      yield fail(id, what, `webhookd endpoints rotate-secret ${id}, or leave it out of ${SUBJECT}`);
    }
  }
  const more = asked.length - MAX_SECRETS;
  if (more > 0) {
    const what = `the secrets of ${count(more, "more endpoint", "more endpoints")} were not checked`;
    yield warn(SUBJECT, what, "webhookd doctor --endpoint ep_…");
  }
}
