/** Finds out what an import would do: compares what was read with the daemon, and asks the daemon what it refuses. */
import type { Client } from "../../src/client/client.ts";
import { isClientError } from "../../src/client/error.ts";
import type { EventTypeImport } from "../../src/client/operations.ts";
import { MAX_STORED_TYPES } from "../../src/domain/events/catalogue.ts";
import { isPattern } from "../../src/domain/events/pattern.ts";
import { MAX_IMPORT_BYTES, type TypeDraft } from "../../src/domain/events/type-import.ts";
import { usage } from "../failure.ts";
import { someAtOnce } from "./at-once.ts";
import { type Compared, compared, markOf, type ShownEndpoint, type Wishes } from "./comparison.ts";
import { type Described, type DescribedEndpoint, type DescribedType, type EndpointDraft, uidOf } from "./described.ts";
import { registrationOf } from "./registration.ts";

export interface Plan {
  readonly types: readonly PlannedType[];
  readonly endpoints: readonly PlannedEndpoint[];
}

export interface PlannedType {
  readonly name: string;
  /** `kept`: the daemon's own type of that name stays as it is. */
  readonly result: EventTypeImport["data"][number]["result"] | "kept";
  readonly changed: readonly string[];
  readonly reason: string | null;
  readonly notes: readonly string[];
  /** Undefined unless it is added or changed. */
  readonly draft: TypeDraft | undefined;
}

export interface PlannedEndpoint extends Compared {
  readonly described: DescribedEndpoint;
  readonly uid: string;
  /** The endpoint as it would be; null if it is refused. */
  readonly draft: EndpointDraft | null;
  readonly here: ShownEndpoint | undefined;
  readonly notes: readonly string[];
}

/** The daemon compiles each schema. */
export const TYPES_TIMEOUT_MS = 120_000;
export const AT_ONCE = 8;

export async function planOf(described: Described, wishes: Wishes, client: Client): Promise<Plan> {
  const { data } = await client.call("listEventTypes");
  const known = new Map(data.map(({ name, defined_in }) => [name, defined_in]));
  const types = await plannedTypes(described.types, known, client);
  const offered = new Set([...known.keys(), ...types.flatMap(({ name, draft }) => (draft === undefined ? [] : name))]);
  const here = await endpointsHere(described.endpoints, client);
  const endpoints = distinct(described.endpoints).map((one): Unjudged => {
    const theirs = here.get(one.tenant) ?? [];
    const found = theirs.find((endpoint) => isFrom(endpoint, wishes.from, one.id));
    const uid = uidOf(wishes.from, one.id, one.draft?.uid ?? null);
    return { one, uid, here: found ?? theirs.find((endpoint) => endpoint.uid === uid) };
  });
  const judged = new Map<Unjudged, PlannedEndpoint>();
  await someAtOnce(endpoints, AT_ONCE, async (endpoint) => {
    judged.set(endpoint, await judge(endpoint, { known, offered, wishes, client }));
  });
  return { types, endpoints: endpoints.map((endpoint) => judged.get(endpoint)!) };
}

/** Refuses an endpoint that would replace the one before it. */
function distinct(endpoints: readonly DescribedEndpoint[]): DescribedEndpoint[] {
  const seen = new Set<string>();
  return endpoints.map((one) => {
    const { tenant, id, draft } = one;
    if (draft === null) return one;
    const names = [
      ["id", id],
      ["uid", draft.uid],
    ].filter(([, name]) => name !== null);
    const keys = names.map((name) => JSON.stringify([tenant, ...name]));
    const isSecond = keys.some((key) => seen.has(key));
    for (const key of keys) seen.add(key);
    return isSecond ? { ...one, draft: null, reason: "has the same id or uid as another one" } : one;
  });
}

function isFrom(endpoint: ShownEndpoint, from: string, id: string): boolean {
  const mark = markOf(endpoint);
  return mark !== null && mark.from === from && mark.id === id;
}

async function endpointsHere(
  endpoints: readonly DescribedEndpoint[],
  client: Client,
): Promise<ReadonlyMap<string, readonly ShownEndpoint[]>> {
  const tenants = new Set(endpoints.flatMap(({ tenant, draft }) => (draft === null ? [] : tenant)));
  const found = new Map<string, ShownEndpoint[]>();
  await someAtOnce([...tenants], AT_ONCE, async (tenant) => {
    const own: ShownEndpoint[] = [];
    for await (const endpoint of client.every("listEndpoints", { query: { tenant } })) own.push(endpoint);
    found.set(tenant, own);
  });
  return found;
}

async function plannedTypes(
  described: readonly DescribedType[],
  known: ReadonlyMap<string, string>,
  client: Client,
): Promise<PlannedType[]> {
  if (described.length > MAX_STORED_TYPES) {
    const what = `a daemon takes ${MAX_STORED_TYPES} event types, and these are ${described.length}`;
    throw usage(what, "Archive those that nobody uses, at the other sender.");
  }
  const foreign = described.filter(({ name }) => (known.get(name) ?? "api") === "api");
  const whole = await triedTypes(foreign, client);
  // A schema that this daemon does not take is no reason to lose the type.
  const bare = [...whole].flatMap(([type, row]) => {
    if (row.result !== "refused" || type.draft.schema === undefined) return [];
    const { schema: _, ...draft } = type.draft;
    return { ...type, draft, notes: [...type.notes, `comes without its schema: ${row.reason ?? "it is refused"}`] };
  });
  const again = await triedTypes(bare, client);
  const rows = new Map([...whole, ...again].map(([type, row]) => [type.name, { type, row }]));
  return described.map(({ name, notes }) => {
    const found = rows.get(name);
    if (found === undefined) {
      const reason = `is defined here already, by the ${known.get(name)!}: its schema stays as it is`;
      return { name, result: "kept", changed: [], reason, notes, draft: undefined };
    }
    const { type, row } = found;
    const draft = row.result === "added" || row.result === "changed" ? type.draft : undefined;
    return { ...row, notes: type.notes, draft };
  });
}

async function triedTypes(types: readonly DescribedType[], client: Client) {
  const rows = new Map<DescribedType, EventTypeImport["data"][number]>();
  for (const some of inImports(types)) {
    const body = { types: some.map(({ draft }) => draft), dry_run: true };
    const { data } = await client.call("importEventTypes", { body, timeoutMs: TYPES_TIMEOUT_MS });
    for (const [at, type] of some.entries()) rows.set(type, data[at]!);
  }
  return rows;
}

/** Splits types into parts of which each fits into one request. */
export function inImports<T extends { readonly draft: TypeDraft }>(types: readonly T[]): T[][] {
  const parts: T[][] = [];
  let bytes = Number.POSITIVE_INFINITY;
  for (const type of types) {
    const size = Buffer.byteLength(JSON.stringify(type.draft)) + 1;
    if (bytes + size > MAX_IMPORT_BYTES - 100) {
      parts.push([]);
      bytes = 0;
    }
    parts.at(-1)!.push(type);
    bytes += size;
  }
  return parts;
}

interface Unjudged {
  readonly one: DescribedEndpoint;
  readonly uid: string;
  readonly here: ShownEndpoint | undefined;
}

interface Around {
  /** The types that the daemon has now. */
  readonly known: ReadonlyMap<string, string>;
  /** The types that it has after the import. */
  readonly offered: ReadonlySet<string>;
  readonly wishes: Wishes;
  readonly client: Client;
}

/** Takes away what the daemon refuses, and compares the rest with the endpoint here. */
async function judge(endpoint: Unjudged, around: Around): Promise<PlannedEndpoint> {
  const { one, uid, here } = endpoint;
  if (one.draft === null)
    return { ...compared(one, here, around.wishes), described: one, uid, draft: null, here, notes: one.notes };
  const { draft, fault, notes } = await accepted(one.draft, endpoint, around);
  const found = compared({ ...one, draft }, here, around.wishes);
  const isWork = found.result === "added" || found.result === "changed";
  if (fault === null || !isWork) return { ...found, described: one, uid, draft, here, notes: [...one.notes, ...notes] };
  return { result: "refused", changed: [], reason: fault, described: one, uid, draft: null, here, notes: one.notes };
}

interface Accepted {
  readonly draft: EndpointDraft;
  /** The reason if the daemon refuses the endpoint as a whole. */
  readonly fault: string | null;
  /** Sentences without their subject, about the parts that were taken away. */
  readonly notes: readonly string[];
}

async function accepted(whole: EndpointDraft, { one, uid, here }: Unjudged, around: Around): Promise<Accepted> {
  const { known, offered, wishes, client } = around;
  const notes: string[] = [];
  const lost = whole.events.filter((name) => !isPattern(name) && !offered.has(name));
  let draft = { ...whole, events: whole.events.filter((name) => !lost.includes(name)) };
  const all = lost.join(", ");
  if (draft.events.length === 0)
    return { draft: whole, fault: `chose only event types that cannot come over: ${all}`, notes };
  if (lost.length > 0) notes.push(`loses ${all}: ${lost.length > 1 ? "these types" : "this type"} cannot come over`);
  // The daemon does not have the types of this import yet.
  const some = draft.events.filter((name) => isPattern(name) || known.has(name));
  const events = some.length > 0 ? some : ["*"];
  const id = here?.id ?? `uid:${uid}`;
  const query = { tenant: one.tenant, dry_run: true };
  for (;;) {
    const registration = registrationOf(draft, { id: one.id, from: wishes.from }, false);
    const body = { ...registration, events, ...(here !== undefined && { uid: here.uid }) };
    try {
      await client.call("putEndpoint", { id, query, body });
      return { draft, fault: null, notes };
    } catch (error) {
      if (!isClientError(error) || error.faults.length === 0 || error.failure !== "usage") throw error;
      const { headers } = draft;
      const refused = error.faults.flatMap(({ pointer, detail }) => headerIn(pointer, detail, headers));
      if (refused.length < error.faults.length) return { draft, fault: `is refused: ${error.message}`, notes };
      const names = new Set(refused.map(({ name }) => name));
      draft = { ...draft, headers: Object.fromEntries(Object.entries(headers).filter(([name]) => !names.has(name))) };
      notes.push(...refused.map(({ name, detail }) => `loses the header ${name}, which ${detail}`));
    }
  }
}

function headerIn(pointer: string, detail: string, headers: Readonly<Record<string, string>>) {
  const name = pointer
    .replace(/^\/headers\//, "")
    .replaceAll("~1", "/")
    .replaceAll("~0", "~");
  return pointer.startsWith("/headers/") && Object.hasOwn(headers, name) ? [{ name, detail }] : [];
}
