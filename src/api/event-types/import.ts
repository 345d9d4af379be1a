/** The route that adds and changes many event types at once: all of them, or none. */
import { type FieldError, WebhookdError } from "../../domain/errors.ts";
import {
  capacityFault,
  changedParts,
  MAX_STORED_TYPES,
  readOnlyFault,
  type StoredType,
} from "../../domain/events/catalogue.ts";
import { nameFault } from "../../domain/events/event-type.ts";
import {
  type CheckedDraft,
  importedType,
  type ImportResult,
  MAX_IMPORT_BYTES,
  type TypeDraft,
} from "../../domain/events/type-import.ts";
import { sizeText } from "../../domain/wording.ts";
import type { ApiParts } from "../parts.ts";
import { requireEveryTenant } from "../pipeline/access.ts";
import { Faults, readJson, validationFailed } from "../pipeline/body.ts";
import { json, type Reply } from "../pipeline/reply.ts";
import type { Call, Route } from "../pipeline/route.ts";
import { ANY_DATA, EventTypeImport, importEventTypes, MAX_TYPE_BYTES, PATH, presentType } from "./schemas.ts";

/** A thousand types have more values than any other body. */
const LIMITS = { maxValues: 1_000_000 };

export function importRoute(parts: ApiParts): Route {
  return {
    method: "POST",
    path: `${PATH}/import`,
    access: "admin",
    body: { maxBytes: MAX_IMPORT_BYTES, schema: EventTypeImport },
    audit: "event_type.import",
    growth: { grows: 900, kept: `until they are deleted; there may be ${MAX_STORED_TYPES}` },
    operation: importEventTypes,
    handle: (call) => importTypes(parts, call),
  };
}

async function importTypes(parts: ApiParts, { principal, body, now }: Call): Promise<Reply> {
  requireEveryTenant(principal);
  const { types: drafts, dry_run: isDryRun } = readJson(body, EventTypeImport, LIMITS);
  const judged = await judge(parts, drafts, now);
  if (isDryRun) return json(200, { data: judged.map(present), dry_run: true });
  const faults = new Faults();
  const checked = new Map<string, CheckedDraft>();
  for (const { name, draft, fault } of judged) {
    if (fault === null) checked.set(name, draft!);
    else faults.add(fault.pointer, fault.code, fault.detail);
  }
  faults.throwAny();
  const change = (before: StoredType | null, name: string) => importedType(checked.get(name)!, before, now);
  const done = await parts.catalogue.put([...checked.keys()], change);
  const data = done.map(({ before, type }) => present({ name: type.name, before, after: type, fault: null }));
  return json(200, { data, dry_run: false });
}

interface Outcome {
  readonly name: string;
  readonly before: StoredType | null;
  /** Null if the type is refused. */
  readonly after: StoredType | null;
  readonly fault: FieldError | null;
}

interface Judged extends Outcome {
  /** Null if the type is refused. */
  readonly draft: CheckedDraft | null;
}

async function judge(parts: ApiParts, drafts: readonly TypeDraft[], now: number): Promise<Judged[]> {
  const { catalogue, clock } = parts;
  const judged: Judged[] = [];
  const seen = new Set<string>();
  for (const [at, given] of drafts.entries()) {
    const { name } = given;
    const before = catalogue.stored(name);
    try {
      if (seen.has(name)) throw fault("/name", "duplicate_key", "occurs more than once");
      const draft = await checkedDraft(parts, given, before);
      judged.push({ name, before, draft, after: importedType(draft, before, now), fault: null });
    } catch (error) {
      if (!(error instanceof WebhookdError) || error.errors.length === 0) throw error;
      const { pointer, code, detail } = error.errors[0]!;
      judged.push({
        name,
        before,
        draft: null,
        after: null,
        fault: { pointer: `/types/${at}${pointer}`, code, detail },
      });
    }
    seen.add(name);
    // Compiling a schema takes some milliseconds, and others must not wait for a thousand of them.
    await new Promise<void>((resolve) => void clock.nextTurn(resolve));
  }
  const stored = [...catalogue.types.values()].filter(({ origin }) => origin === "api").length;
  const full = capacityFault(stored, judged.filter((one) => one.before === null && one.after !== null).length);
  if (full !== null) throw full;
  return judged;
}

/** Throws `validation_failed` with a pointer into the draft. */
async function checkedDraft(
  { catalogue }: ApiParts,
  given: TypeDraft,
  before: StoredType | null,
): Promise<CheckedDraft> {
  const { name } = given;
  const readOnly = readOnlyFault(catalogue.types.get(name));
  if (readOnly !== null) throw fault("/name", "read_only_event_type", readOnly.detail);
  const badName = nameFault(name);
  if (badName !== null) throw fault("/name", "invalid_syntax", badName);
  const schema = given.schema ?? before?.schema ?? ANY_DATA;
  const asBefore = before !== null && JSON.stringify(schema) === JSON.stringify(before.schema);
  const sample =
    asBefore && (given.sample === undefined || JSON.stringify(given.sample) === JSON.stringify(before.sample))
      ? before.sample
      : await catalogue.sampleFor({ name, schema, sample: given.sample, before: before?.sample });
  const draft = { ...given, schema, sample };
  const bytes = Buffer.byteLength(JSON.stringify(draft));
  if (bytes <= MAX_TYPE_BYTES) return draft;
  const detail = `has ${sizeText(bytes)} of schema and sample, and a type may have ${sizeText(MAX_TYPE_BYTES)}`;
  throw fault("", "too_long", detail);
}

function fault(pointer: string, code: FieldError["code"], detail: string): WebhookdError {
  return validationFailed([{ pointer, code, detail }]);
}

function present({ name, before, after, fault: refused }: Outcome) {
  const differing = before === null || after === null ? [] : changedParts(before, after);
  const changed = PARTS.filter((part) => differing.includes(part));
  const result: ImportResult =
    after === null ? "refused" : before === null ? "added" : changed.length > 0 ? "changed" : "unchanged";
  return { name, result, changed: changed.map((part) => FIELDS[part]), reason: refused?.detail ?? null };
}

/** The names of a type's parts in the API. */
const FIELDS: { readonly [P in keyof StoredType]: keyof ReturnType<typeof presentType> } = {
  name: "name",
  description: "description",
  schema: "schema",
  sample: "sample",
  group: "group",
  validation: "validation",
  deprecatedAt: "deprecated",
  sunsetAt: "sunset_at",
  archived: "archived",
};
const PARTS = Object.keys(FIELDS) as (keyof StoredType)[];
