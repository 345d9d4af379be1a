/**
 * Does what a plan says. Each call can be repeated, and an endpoint's mark is written last, so an import that was cut
 * short goes on when it is run again.
 */
import type { Client } from "../../src/client/client.ts";
import { isClientError } from "../../src/client/error.ts";
import { Failure } from "../failure.ts";
import type { Io } from "../io.ts";
import { Progress } from "../output/progress.ts";
import { someAtOnce } from "./at-once.ts";
import { changeOf, MARK, markFor, type Wishes } from "./comparison.ts";
import type { EndpointDraft } from "./described.ts";
import { AT_ONCE, inImports, type Plan, type PlannedEndpoint, TYPES_TIMEOUT_MS } from "./plan.ts";
import { registrationOf } from "./registration.ts";

export function workOf({ types, endpoints }: Plan) {
  return {
    types: types.flatMap(({ draft }) => (draft === undefined ? [] : { draft })),
    endpoints: endpoints.filter(({ result, changed }) => result === "added" || changed.length > 0),
  };
}

/** Returns the ids of the endpoints that were added. */
export async function apply(
  plan: Plan,
  wishes: Wishes,
  client: Client,
  io: Io,
): Promise<ReadonlyMap<PlannedEndpoint, string>> {
  const { types, endpoints } = workOf(plan);
  const patient = new Patient(client, io);
  const progress = new Progress(io);
  const made = new Map<PlannedEndpoint, string>();
  let done = 0;
  try {
    for (const some of inImports(types)) {
      const body = { types: some.map(({ draft }) => draft) };
      await patient.call("importEventTypes", { body, timeoutMs: TYPES_TIMEOUT_MS });
    }
    await someAtOnce(endpoints, AT_ONCE, async (endpoint) => {
      const id = await applyOne(endpoint, wishes, { client: patient, now: io.now() });
      if (endpoint.result === "added") made.set(endpoint, id);
      if (++done < endpoints.length) progress.show(`${done} of ${endpoints.length} endpoints`);
    });
    return made;
  } catch (error) {
    if (!isClientError(error)) throw error;
    const what = `${done} of ${endpoints.length} endpoints are imported: ${error.message}`;
    throw new Failure(error.failure, what, "Run the same command again: it goes on from here.", error.code);
  } finally {
    progress.end();
  }
}

interface Doing {
  readonly client: Pick<Client, "call">;
  readonly now: number;
}

/** Returns the id of the endpoint. */
async function applyOne(planned: PlannedEndpoint, { from, enable }: Wishes, doing: Doing): Promise<string> {
  const { described, uid, here, result, changed } = planned;
  const { client } = doing;
  const draft = planned.draft!;
  const whose = { from, id: described.id };
  if (here === undefined) {
    const query = { tenant: described.tenant };
    const made = await client.call("putEndpoint", {
      id: `uid:${uid}`,
      query,
      body: registrationOf(draft, whose, enable),
    });
    const { id } = made!;
    if (draft.secrets.next === null) return id;
    await bringSecret(id, draft, doing);
    await client.call("changeEndpoint", { id, body: { metadata: { [MARK]: markFor(whose, draft) } } });
    return id;
  }
  const { id } = here;
  const isOnlyEnabled = result === "kept" || changed.every((name) => name === "enabled");
  if (!isOnlyEnabled && changed.includes("signing_secret")) await bringSecret(id, draft, doing);
  const change = isOnlyEnabled ? {} : changeOf(draft, here, markFor(whose, draft));
  const body = { ...change, ...(changed.includes("enabled") && { enabled: true }) };
  await client.call("changeEndpoint", { id, body });
  return id;
}

const [MINUTE_S, DAY_S, WEEK_S] = [60, 86_400, 7 * 86_400];

/** Makes the other sender's latest secret the next one here, so that for a while both sign. */
async function bringSecret(id: string, { secrets }: EndpointDraft, { client, now }: Doing): Promise<void> {
  const { current, next } = secrets;
  const wanted = next?.secret ?? current;
  const here = await client.call("getSecret", { id });
  if (here.signing_secret === wanted || here.next_signing_secret === wanted) return;
  const seconds = next === null ? DAY_S : Math.ceil((next.switchesAt - now) / 1000);
  const overlap_seconds = Math.min(Math.max(seconds, MINUTE_S), WEEK_S);
  await client.call("rotateSecret", { id, body: { secret: wanted, overlap_seconds } });
}

const MAX_TRIES = 6;
const [WAIT_MS, MAX_WAIT_MS] = [500, 30_000];

/** Repeats calls that may succeed later, such as while the daemon restarts. All calls of an import can be repeated. */
class Patient implements Pick<Client, "call"> {
  readonly #client: Client;
  readonly #io: Io;

  constructor(client: Client, io: Io) {
    this.#client = client;
    this.#io = io;
  }

  call: Client["call"] = async (operation, ask) => {
    for (let tries = 1; ; tries++) {
      try {
        return await this.#client.call(operation, ask);
      } catch (error) {
        if (!isClientError(error) || !error.retryable || tries === MAX_TRIES) throw error;
        const asked = error.answered?.retryAfterMs ?? WAIT_MS * 2 ** (tries - 1);
        await this.#io.sleep(Math.min(asked, MAX_WAIT_MS));
      }
    }
  };
}
