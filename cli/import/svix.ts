/**
 * Svix: its applications are tenants, and its channels are tags. The shapes are those of its API, which
 * `docs/import.md` names.
 */
import { isTenant } from "../../src/domain/id.ts";
import { TAG } from "../../src/domain/events/event.ts";
import type { TypeDraft } from "../../src/domain/events/type-import.ts";
import { usage } from "../failure.ts";
import { oneLine } from "../output/one-line.ts";
import { count } from "../output/words.ts";
import { someAtOnce } from "./at-once.ts";
import {
  type Described,
  describedEndpoint,
  type DescribedEndpoint,
  type DescribedType,
  type EndpointDraft,
  NotImportable,
  signingSecretOf,
} from "./described.ts";
import type { ForeignApi } from "./foreign-api.ts";
import { isRecord, type JsonRecord } from "../../src/domain/json/merge-patch.ts";
import { amountIn, recordsIn, textIn, textsIn } from "./record.ts";

const PAGE = "250";
/** Svix limits requests, and waits are for all of them. */
const AT_ONCE = 4;

/** The records in the form of an export file. */
export async function readSvix(api: ForeignApi): Promise<JsonRecord> {
  const list = async (path: string, query: Readonly<Record<string, string>> = {}) => {
    const pages = await api.pages(path, { limit: PAGE, ...query }, ({ done, iterator }) =>
      done !== false || typeof iterator !== "string" ? null : { iterator },
    );
    return pages.flatMap(({ data }) => recordsIn(data));
  };
  const applications = await list("/api/v1/app");
  const whole: JsonRecord[] = [];
  for (const application of applications) {
    const base = `/api/v1/app/${encodeURIComponent(String(application.id))}/endpoint`;
    const endpoints = await list(base);
    const read = new Map<JsonRecord, JsonRecord>();
    await someAtOnce(endpoints, AT_ONCE, async (endpoint) => {
      const one = `${base}/${encodeURIComponent(String(endpoint.id))}`;
      const secret = await api.record(`${one}/secret`);
      const headers = await api.record(`${one}/headers`);
      // The open-source server has no transformations.
      const transformation = await api.find(`${one}/transformation`);
      read.set(endpoint, { ...endpoint, secret, headers, transformation });
    });
    whole.push({ ...application, endpoints: endpoints.map((endpoint) => read.get(endpoint)!) });
  }
  const types = await list("/api/v1/event-type", { with_content: "true", include_archived: "true" });
  return { applications: whole, event_types: types };
}

export function svixIn(file: JsonRecord, name: string): Described {
  if (!Array.isArray(file.applications))
    throw usage(`${name} has no "applications"`, "docs/import.md shows what such a file looks like.");
  const applications = recordsIn(file.applications);
  const endpoints = applications.flatMap((application) => endpointsOf(application));
  const chosen = new Set(endpoints.flatMap(({ draft }) => draft?.events ?? []));
  const types = recordsIn(file.event_types).flatMap((type) => typeOf(type, chosen));
  return { types, endpoints, notes: notesOn(applications), signatures: [{ lines: ['format = "svix"'], of: null }] };
}

function notesOn(applications: readonly JsonRecord[]): string[] {
  const limited = applications.filter((one) => throttleOf(one) !== null).map(tenantOf);
  const empty = applications.filter(({ endpoints }) => recordsIn(endpoints).length === 0).length;
  return [
    ...(limited.length > 0
      ? [`The rate of a whole application is not taken over: set [tenants.NAME] rate_per_second for ${names(limited)}.`]
      : []),
    ...(empty > 0
      ? [`${count(empty, "application has", "applications have")} no endpoints: a tenant begins with its first one.`]
      : []),
  ];
}

const SHOWN = 5;

function names(all: readonly string[]): string {
  const more = all.length - SHOWN;
  return more > 0 ? `${all.slice(0, SHOWN).join(", ")} and ${more} more` : all.join(", ");
}

function tenantOf(application: JsonRecord): string {
  const uid = textIn(application, "uid");
  return uid !== null && isTenant(uid) ? uid : String(application.id);
}

/** The field was called `rateLimit` before. */
function throttleOf(record: JsonRecord): number | null {
  return amountIn(record, "throttleRate") ?? amountIn(record, "rateLimit");
}

function endpointsOf(application: JsonRecord): DescribedEndpoint[] {
  const tenant = tenantOf(application);
  const uid = textIn(application, "uid");
  return recordsIn(application.endpoints).map((endpoint) => {
    const whose = { id: String(endpoint.id), tenant, url: textIn(endpoint, "url") ?? "" };
    return describedEndpoint(whose, (notes) => {
      if (!isTenant(tenant)) throw new NotImportable("belongs to an application without a usable id");
      if (uid !== null && uid !== tenant)
        notes.push(`belongs to the tenant ${tenant}, because a tenant's name has at most 64 characters`);
      const filterTypes = textsIn(endpoint.filterTypes);
      noteTransformation(endpoint, notes);
      return {
        uid: textIn(endpoint, "uid"),
        url: whose.url,
        events: filterTypes.length > 0 ? filterTypes : ["*"],
        filter: filterOf(textsIn(endpoint.channels), notes),
        description: oneLine(endpoint.description, 256),
        ...headersOf(endpoint, notes),
        rate_per_second: throttleOf(endpoint),
        metadata: isRecord(endpoint.metadata) ? endpoint.metadata : {},
        // Svix signs with the secret of before a rotation for a day, but does not give it out.
        format: "data",
        secrets: { current: secretOf(endpoint), next: null, fitsTwo: true },
        enabled: endpoint.disabled !== true,
      };
    });
  });
}

function secretOf({ secret }: JsonRecord): string {
  const key = isRecord(secret) ? textIn(secret, "key") : null;
  if (key === null) throw new NotImportable("has no signing secret in what was read");
  if (/^wh[sp]k_/.test(key)) return signingSecretOf(key);
  // Svix takes keys with and without the prefix, and with any padding. Receivers verify with the same bytes.
  const bytes = Buffer.from(key.replace(/^whsec_/, ""), "base64");
  return signingSecretOf(`whsec_${bytes.toString("base64")}`);
}

function filterOf(channels: readonly string[], notes: string[]): JsonRecord | null {
  if (channels.length === 0) return null;
  const odd = channels.find((channel) => !TAG.test(channel));
  if (odd !== undefined) throw new NotImportable("has a channel of more than 64 characters, which no tag may have");
  notes.push("chose channels, which are tags here: publish an event's channels as its tags");
  return { tags: { $in: channels } };
}

function headersOf({ headers }: JsonRecord, notes: string[]): Pick<EndpointDraft, "headers" | "byHand"> {
  if (!isRecord(headers)) return { headers: {}, byHand: [] };
  const byHand = textsIn(headers.sensitive);
  if (byHand.length > 0)
    notes.push(`has sensitive headers, whose values Svix does not give out: set ${byHand.join(", ")} by hand`);
  const hidden = new Set(byHand.map((name) => name.toLowerCase()));
  const given = Object.entries(isRecord(headers.headers) ? headers.headers : {});
  const known = given.flatMap(([name, value]) =>
    typeof value === "string" && !hidden.has(name.toLowerCase()) ? [[name, value] as const] : [],
  );
  return { headers: Object.fromEntries(known), byHand };
}

function noteTransformation({ transformation }: JsonRecord, notes: string[]): void {
  if (!isRecord(transformation) || transformation.enabled === false || typeof transformation.code !== "string") return;
  notes.push("has a transformation, which does not run here: its receiver would get the event as it was published");
}

/** A type that is archived there is left out unless an endpoint chose it. */
function typeOf(type: JsonRecord, chosen: ReadonlySet<string>): DescribedType[] {
  const name = String(type.name);
  const isArchived = type.archived === true;
  if (isArchived && !chosen.has(name)) return [];
  const notes = isArchived ? [`is archived there; afterwards: webhookd types archive ${name}`] : [];
  const description = oneLine(type.description, 256);
  const group = oneLine(type.groupName, 64);
  const schema = schemaOf(latestOf(type.schemas), notes);
  const draft: TypeDraft = {
    name,
    ...(description !== "" && { description }),
    ...(group !== "" && { group }),
    ...(schema !== null && { schema }),
    deprecated: type.deprecated === true,
  };
  return [{ name, draft, notes }];
}

/** Svix keeps a schema for each version of a type. */
function latestOf(schemas: unknown): JsonRecord | null {
  if (!isRecord(schemas)) return null;
  const [latest] = Object.keys(schemas).toSorted((one, other) => Number(other) - Number(one));
  const schema = latest === undefined ? undefined : schemas[latest];
  return isRecord(schema) ? schema : null;
}

/** Most schemas of the drafts before 2020-12 mean the same in it. */
function schemaOf(schema: JsonRecord | null, notes: string[]): JsonRecord | null {
  if (schema === null || typeof schema.$schema !== "string") return schema;
  const [, draft] = /^https?:\/\/json-schema\.org\/(draft-0[467])\//.exec(schema.$schema) ?? [];
  if (draft === undefined) return schema;
  notes.push(`has a schema of ${draft}, which is read as 2020-12`);
  const { $schema: _, ...rest } = schema;
  return rest;
}
