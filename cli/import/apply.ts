/**
 * Does what a plan says. Each call can be repeated, and an endpoint's mark is written last, so an import that was cut
 * short goes on when it is run again.
 */
import type { Ask, Client } from "../../src/client/client.ts";
import { isClientError } from "../../src/client/error.ts";
import { Failure } from "../failure.ts";
import type { Io } from "../io.ts";
import { Progress } from "../output/progress.ts";
import { someAtOnce } from "./at-once.ts";
import {
  changeOf,
  compared,
  type Compared,
  MARK,
  markFor,
  markOf,
  type ShownEndpoint,
  type Wishes,
} from "./comparison.ts";
import { AT_ONCE, inImports, type Plan, type PlannedEndpoint, TYPES_TIMEOUT_MS } from "./plan.ts";
import type { JsonRecord } from "../../src/domain/json/merge-patch.ts";
import { ENABLED, registrationOf } from "./registration.ts";

export function workOf({ types, endpoints }: Plan) {
  return {
    types: types.flatMap(({ draft }) => (draft === undefined ? [] : { draft })),
    endpoints: endpoints.filter(({ result, changed }) => result === "added" || changed.length > 0),
  };
}

export interface Applied {
  /** The ids of the endpoints that were added. */
  readonly made: ReadonlyMap<PlannedEndpoint, string>;
  /** The endpoints that somebody changed here in the meantime, so that the plan was not done, with what was found. */
  readonly left: ReadonlyMap<PlannedEndpoint, Compared>;
}

export async function apply(plan: Plan, wishes: Wishes, client: Client, io: Io): Promise<Applied> {
  const { types, endpoints } = workOf(plan);
  const patient = new Patient(client, io);
  const progress = new Progress(io);
  const made = new Map<PlannedEndpoint, string>();
  const left = new Map<PlannedEndpoint, Compared>();
  let done = 0;
  try {
    for (const some of inImports(types)) {
      const body = { types: some.map(({ draft }) => draft) };
      await patient.call("importEventTypes", { body, timeoutMs: TYPES_TIMEOUT_MS });
    }
    await someAtOnce(endpoints, AT_ONCE, async (endpoint) => {
      const work: Work = { planned: endpoint, wishes, client: patient, now: io.now() };
      const { id, found } = await (endpoint.here === undefined ? add(work) : change(work, { id: endpoint.here.id }));
      if (found !== null) left.set(endpoint, found);
      else if (endpoint.result === "added") made.set(endpoint, id);
      if (++done < endpoints.length) progress.show(`${done} of ${endpoints.length} endpoints`);
    });
    return { made, left };
  } catch (error) {
    if (!isClientError(error)) throw error;
    const what = `${done} of ${endpoints.length} endpoints are imported: ${error.message}`;
    throw new Failure(error.failure, what, "Run the same command again: it goes on from here.", error.code);
  } finally {
    progress.end();
  }
}

interface Work {
  readonly planned: PlannedEndpoint;
  readonly wishes: Wishes;
  readonly client: Pick<Client, "call" | "callWithEtag">;
  readonly now: number;
}

interface Done {
  readonly id: string;
  /** Null if the plan was done. */
  readonly found: Compared | null;
}

/** The parts of a call that name an endpoint. */
type Named = Pick<Ask, "id" | "query">;

async function add(work: Work): Promise<Done> {
  const { planned, wishes, client } = work;
  const { described, uid } = planned;
  const draft = planned.draft!;
  const named = { id: `uid:${uid}`, query: { tenant: described.tenant } };
  const body = registrationOf(draft, { from: wishes.from, id: described.id }, wishes.enable);
  try {
    const { id } = (await client.call("putEndpoint", { ...named, body, ifNoneMatch: "*" }))!;
    if (draft.secrets.next === null) return { id, found: null };
  } catch (error) {
    // It may be our own: the answer to a first try may have been lost.
    if (!isCollision(error)) throw error;
  }
  return change(work, named);
}

/** The changes that finish an endpoint that we made ourselves. */
const FINISHING = ["signing_secret", "enabled"];
/** Somebody who changes it more often than this is a program. */
const MAX_CHANGES = 5;

/** Does what was planned, unless somebody has changed the endpoint since so that something else would be done. */
async function change(work: Work, named: Named): Promise<Done> {
  const { planned, wishes, client } = work;
  const planable = planned.result === "added" ? FINISHING : planned.changed;
  let isSecretHere = false;
  for (let tries = 1; ; tries++) {
    const { value: here, etag } = await client.callWithEtag("getEndpoint", named);
    const { id } = here;
    const found = compared({ ...planned.described, draft: planned.draft }, here, wishes);
    const fresh = found.changed.filter((name) => !planable.includes(name));
    if (fresh.length > 0) {
      const reason = `was changed here in the meantime, so ${fresh.join(", ")} would change too: run it again`;
      return { id, found: { result: "kept", changed: [], reason } };
    }
    const isOther = (found.result === "refused" || found.result === "kept") && found.result !== planned.result;
    const done = { id, found: isOther ? found : null };
    if (found.changed.length === 0) return done;
    const ifMatch = etag ?? undefined;
    try {
      if (found.changed.includes("signing_secret") && !isSecretHere) {
        // Until the end, the mark says that the rotation is the import's own.
        await client.call("changeEndpoint", { id, body: { metadata: { [MARK]: { secret: "" } } }, ifMatch });
        await bringSecret(id, here.enabled || found.changed.includes("enabled"), work);
        isSecretHere = true;
        tries--;
        continue;
      }
      await client.call("changeEndpoint", { id, body: bodyOf(found, here, work), ifMatch });
      return done;
    } catch (error) {
      if (!isCollision(error) || tries === MAX_CHANGES) throw error;
    }
  }
}

function bodyOf({ changed }: Compared, here: ShownEndpoint, { planned, wishes }: Work): JsonRecord {
  const draft = planned.draft!;
  const isEnabling = changed.includes("enabled");
  const enabled = isEnabling || here.enabled || markOf(here)?.enabled === true;
  const isOnlyEnabled = changed.every((name) => name === "enabled");
  const change = isOnlyEnabled
    ? { metadata: { [MARK]: { enabled } } }
    : changeOf(draft, here, markFor({ from: wishes.from, id: planned.described.id, enabled }, draft));
  return { ...change, ...(isEnabling && ENABLED) };
}

function isCollision(error: unknown): boolean {
  return isClientError(error) && error.code === "precondition_failed";
}

const [MINUTE_S, DAY_S, WEEK_S] = [60, 86_400, 7 * 86_400];

/**
 * Makes the other sender's latest secret the next one here, so that for a while both sign. It takes over at once where
 * that helps nobody: nothing is sent, or the one signature that fits would be the old secret's.
 */
async function bringSecret(id: string, isSending: boolean, { planned, client, now }: Work): Promise<void> {
  const { current, next, fitsTwo } = planned.draft!.secrets;
  const wanted = next?.secret ?? current;
  const here = await client.call("getSecret", { id });
  if (here.signing_secret === wanted || here.next_signing_secret === wanted) return;
  const bySender = () => Math.min(Math.max(Math.ceil((next!.switchesAt - now) / 1000), MINUTE_S), WEEK_S);
  const overlap_seconds = next !== null ? bySender() : isSending && fitsTwo ? DAY_S : 0;
  await client.call("rotateSecret", { id, body: { secret: wanted, overlap_seconds } });
}

const MAX_TRIES = 6;
const [WAIT_MS, MAX_WAIT_MS] = [500, 30_000];

/** Repeats calls that may succeed later, such as while the daemon restarts. All calls of an import can be repeated. */
class Patient implements Pick<Client, "call" | "callWithEtag"> {
  readonly #client: Client;
  readonly #io: Io;

  constructor(client: Client, io: Io) {
    this.#client = client;
    this.#io = io;
  }

  call: Client["call"] = (operation, ask) => this.#patiently(() => this.#client.call(operation, ask));
  callWithEtag: Client["callWithEtag"] = (operation, ask) =>
    this.#patiently(() => this.#client.callWithEtag(operation, ask));

  async #patiently<T>(once: () => Promise<T>): Promise<T> {
    for (let tries = 1; ; tries++) {
      try {
        return await once();
      } catch (error) {
        if (!isClientError(error) || !error.retryable || tries === MAX_TRIES) throw error;
        const asked = error.answered?.retryAfterMs ?? WAIT_MS * 2 ** (tries - 1);
        await this.#io.sleep(Math.min(asked, MAX_WAIT_MS));
      }
    }
  }
}
