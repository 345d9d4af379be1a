/**
 * Convoy: an outgoing project's endpoints, with what their subscriptions choose. Its owner ids are tenants. The shapes
 * are those of its API, which `docs/import.md` names.
 */
import { isTenant } from "../../src/domain/id.ts";
import { usage } from "../failure.ts";
import { oneLine } from "../output/one-line.ts";
import {
  type Described,
  describedEndpoint,
  type DescribedEndpoint,
  type DescribedType,
  type EndpointDraft,
  NotImportable,
  type Secrets,
  type SignatureLines,
  signingSecretOf,
} from "./described.ts";
import type { ForeignApi } from "./foreign-api.ts";
import { isRecord, type JsonRecord } from "../../src/domain/json/merge-patch.ts";
import { amountIn, recordsIn, textIn, textsIn } from "./record.ts";

const PAGE = "100";

/** The records in the form of an export file. */
export async function readConvoy(api: ForeignApi, project: string): Promise<JsonRecord> {
  const base = `/api/v1/projects/${encodeURIComponent(project)}`;
  const list = async (path: string) => {
    const pages = await api.pages(`${base}/${path}`, { perPage: PAGE, direction: "next" }, ({ data }) => {
      const pagination = isRecord(data) && isRecord(data.pagination) ? data.pagination : {};
      const cursor = textIn(pagination, "next_page_cursor");
      return pagination.has_next_page === true && cursor !== null ? { next_page_cursor: cursor } : null;
    });
    return pages.flatMap(({ data }) => recordsIn(isRecord(data) ? data.content : data));
  };
  const { data } = await api.record(base);
  const [endpoints, subscriptions] = [await list("endpoints"), await list("subscriptions")];
  // Older servers have no event types.
  const types = await api.find(`${base}/event-types`);
  const listed = isRecord(types) ? types.data : [];
  return {
    project: data,
    endpoints,
    subscriptions,
    event_types: isRecord(listed) ? (listed.content ?? listed.event_types) : listed,
  };
}

export function convoyIn(file: JsonRecord, name: string, now: number): Described {
  if (!Array.isArray(file.endpoints) || !Array.isArray(file.subscriptions))
    throw usage(`${name} has no "endpoints" and "subscriptions"`, "docs/import.md shows what such a file looks like.");
  const records = recordsIn(file.endpoints);
  const subscriptions = recordsIn(file.subscriptions);
  const scheme = schemeOf(file.project);
  const endpoints = records.map((endpoint) => endpointOf(endpoint, { subscriptions, scheme, now }));
  const chosen = endpoints.flatMap(({ draft }) => draft?.events ?? []).filter((event) => event !== "*");
  const { signatures, notes } = signaturesOf(scheme, records);
  return {
    types: typesOf(recordsIn(file.event_types), chosen),
    endpoints,
    notes,
    signatures,
  };
}

interface Around {
  readonly subscriptions: readonly JsonRecord[];
  readonly scheme: Scheme;
  readonly now: number;
}

function endpointOf(endpoint: JsonRecord, { subscriptions, scheme, now }: Around): DescribedEndpoint {
  const id = String(endpoint.uid);
  const owner = textIn(endpoint, "owner_id");
  const tenant = owner === null || owner === "" ? id : owner;
  const whose = { id, tenant, url: textIn(endpoint, "url") ?? textIn(endpoint, "target_url") ?? "" };
  return describedEndpoint(whose, (notes): EndpointDraft => {
    if (!isTenant(tenant)) throw new NotImportable("has an owner_id that cannot be the name of a tenant here");
    if (tenant === id) notes.push("has no owner_id, so it is a tenant of its own, with its id as the name");
    const own = subscriptions.filter((subscription) => {
      const { endpoint_metadata: metadata, endpoint_id } = subscription;
      return (isRecord(metadata) ? metadata.uid : endpoint_id) === id;
    });
    const description = oneLine(endpoint.description, 256) || oneLine(endpoint.name ?? endpoint.title, 256);
    return {
      uid: null,
      url: whose.url,
      ...choiceOf(own),
      description,
      headers: headersOf(endpoint, notes),
      byHand: [],
      rate_per_second: rateOf(endpoint),
      metadata: {},
      format: "data",
      secrets: secretsOf(endpoint, { scheme, now }, notes),
      enabled: endpoint.status === undefined ? endpoint.is_disabled !== true : endpoint.status === "active",
    };
  });
}

/** An endpoint gets what any of its subscriptions chose. */
function choiceOf(subscriptions: readonly JsonRecord[]): Pick<EndpointDraft, "events" | "filter"> {
  const choices = subscriptions.map(({ filter_config: config }) => {
    const given = isRecord(config) ? config : {};
    const types = textsIn(given.event_types);
    return { types: types.includes("*") || types.length === 0 ? ["*"] : types, data: bodyFilterOf(given.filter) };
  });
  if (choices.length === 0) throw new NotImportable("has no subscription, so nothing is sent to it there either");
  const all = [...new Set(choices.flatMap(({ types }) => types))];
  const events = all.includes("*") ? ["*"] : all;
  if (choices.every(({ data }) => data === null)) {
    // Names beside a subscription to all types say nothing.
    return { events, filter: null };
  }
  const [only, ...others] = choices.map(({ types, data }) => ({
    ...(types[0] !== "*" && choices.length > 1 && { type: { $in: types } }),
    ...(data !== null && { data }),
  }));
  return { events, filter: others.length === 0 ? only! : { $or: [only!, ...others] } };
}

/** Convoy filters the data, which it calls the body, in the same language, and may write a path as one key. */
function bodyFilterOf(filter: unknown): JsonRecord | null {
  if (!isRecord(filter)) return null;
  const others = Object.entries(filter).filter(([part, value]) => {
    return part !== "body" && part !== "is_flattened" && isRecord(value) && Object.keys(value).length > 0;
  });
  if (others.length > 0)
    throw new NotImportable(`filters by ${others.map(([part]) => part).join(" and ")}, which events do not have here`);
  const { body } = filter;
  return isRecord(body) && Object.keys(body).length > 0 ? nested(body) : null;
}

function nested(condition: JsonRecord): JsonRecord {
  const out = new Map<string, unknown>();
  for (const [key, value] of Object.entries(condition)) {
    const [first = "", ...rest] = key.startsWith("$") && !key.includes(".") ? [key] : key.split(".");
    if (first === "$" || rest.includes("$"))
      throw new NotImportable(`filters by ${key}, whose $ for the items of a list is not known here`);
    const inner = Array.isArray(value)
      ? (value as unknown[]).map((item) => (isRecord(item) ? nested(item) : item))
      : isRecord(value)
        ? nested(value)
        : value;
    const deep = rest.reduceRight<unknown>((below, word) => ({ [word]: below }), inner);
    const before = out.get(first);
    if (before === undefined) out.set(first, deep);
    else if (isRecord(before) && isRecord(deep)) out.set(first, merged(before, deep));
    else throw new NotImportable(`filters by ${key} twice`);
  }
  return Object.fromEntries(out);
}

function merged(one: JsonRecord, other: JsonRecord): JsonRecord {
  const both = Object.keys(other).filter((key) => Object.hasOwn(one, key));
  const deep = both.map((key) => {
    const [before, after] = [one[key], other[key]];
    if (isRecord(before) && isRecord(after)) return [key, merged(before, after)] as const;
    throw new NotImportable(`filters by ${key} twice`);
  });
  return { ...one, ...other, ...Object.fromEntries(deep) };
}

function headersOf({ authentication }: JsonRecord, notes: string[]): Record<string, string> {
  if (!isRecord(authentication)) return {};
  const key = isRecord(authentication.api_key) ? authentication.api_key : {};
  const [name, value] = [textIn(key, "header_name"), textIn(key, "header_value")];
  if (name && value) return { [name]: value };
  const type = textIn(authentication, "type");
  if (type) notes.push(`authenticates by ${type}, which does not come over`);
  return {};
}

/** The duration is in seconds, or a text such as 1m30s. */
function rateOf(endpoint: JsonRecord): number | null {
  const count = amountIn(endpoint, "rate_limit");
  const duration = endpoint.rate_limit_duration;
  const seconds = typeof duration === "string" ? secondsOf(duration) : amountIn(endpoint, "rate_limit_duration");
  if (count === null || seconds === null || seconds === 0) return null;
  return Math.max(0.001, Math.round((count / seconds) * 1000) / 1000);
}

const UNITS: Readonly<Record<string, number>> = { h: 3600, m: 60, s: 1 };

function secondsOf(text: string): number | null {
  if (/^\d+$/.test(text)) return Number(text);
  if (!/^(?:\d+[hms])+$/.test(text)) return null;
  return [...text.matchAll(/(\d+)([hms])/g)].reduce((sum, [, count, unit]) => sum + Number(count) * UNITS[unit!]!, 0);
}

/**
 * The secret without an end is the newest. Convoy's own advanced signature has room for one that has not ended yet; the
 * template that stands for one in another header has not.
 */
function secretsOf(endpoint: JsonRecord, { scheme, now }: Pick<Around, "scheme" | "now">, notes: string[]): Secrets {
  const secrets = recordsIn(endpoint.secrets).map((secret) => ({
    value: textIn(secret, "value") ?? "",
    ends: Date.parse(textIn(secret, "expires_at") ?? ""),
  }));
  const current = secrets.findLast(({ ends }) => Number.isNaN(ends) || ends <= 0);
  if (current === undefined) throw new NotImportable("has no signing secret in what was read");
  const newest = signingSecretOf(current.value);
  const old = secrets.findLast(({ ends }) => ends > now);
  const fitsTwo = endpoint.advanced_signatures === true && scheme.isDefault;
  if (old === undefined) return { current: newest, next: null, fitsTwo };
  if (fitsTwo) return { current: signingSecretOf(old.value), next: { secret: newest, switchesAt: old.ends }, fitsTwo };
  const until = new Date(old.ends).toISOString();
  notes.push(`is rotating its secret there: its receiver must have the new one; the old one ends ${until}`);
  return { current: newest, next: null, fitsTwo };
}

/** The parts of a signature that a project sets. */
interface Scheme {
  readonly header: string;
  readonly hash: string;
  readonly encoding: string;
  readonly isDefault: boolean;
}

/** The project names the header, and the last of its versions the hash. */
function schemeOf(project: unknown): Scheme {
  const config = isRecord(project) && isRecord(project.config) ? project.config : {};
  const signature = isRecord(config.signature) ? config.signature : {};
  const header = textIn(signature, "header") || "X-Convoy-Signature";
  const version = recordsIn(signature.versions).at(-1) ?? {};
  const hash = (textIn(version, "hash") || "SHA256").toLowerCase();
  const encoding = (textIn(version, "encoding") || "hex").toLowerCase();
  const isDefault = header.toLowerCase() === "x-convoy-signature" && hash === "sha256" && encoding === "hex";
  return { header, hash, encoding, isDefault };
}

/** An endpoint chooses simple or advanced signatures. */
function signaturesOf(
  { header, hash, encoding, isDefault }: Scheme,
  endpoints: readonly JsonRecord[],
): { readonly signatures: readonly SignatureLines[]; readonly notes: readonly string[] } {
  if (!["sha1", "sha256", "sha512"].includes(hash) || !["hex", "base64"].includes(encoding)) {
    const note = `The project signs with ${hash} in ${encoding}, which no [[signature.also]] can make.`;
    return { signatures: [], notes: [note] };
  }
  const custom = [
    'format = "custom"',
    `header = ${JSON.stringify(header)}`,
    `hash = "${hash}"`,
    `encoding = "${encoding}"`,
  ];
  const simple = isDefault ? ['format = "convoy"'] : custom;
  const more = ['signed = "{timestamp},{body}"', 'value = "t={timestamp},v1={signature}"'];
  const advanced = isDefault ? ['format = "convoy-advanced"'] : [...custom, ...more];
  const idsOf = (isAdvanced: boolean) =>
    new Set(endpoints.flatMap((one) => ((one.advanced_signatures === true) === isAdvanced ? String(one.uid) : [])));
  return {
    signatures: [
      { lines: simple, of: idsOf(false) },
      { lines: advanced, of: idsOf(true) },
    ],
    notes: [],
  };
}

function typesOf(listed: readonly JsonRecord[], chosen: readonly string[]): DescribedType[] {
  const known = new Map(listed.flatMap((type) => (textIn(type, "name") === "*" ? [] : [[String(type.name), type]])));
  const names = new Set([...known.keys(), ...chosen]);
  return [...names].map((name) => {
    const type = known.get(name) ?? {};
    const description = oneLine(type.description, 256);
    const group = oneLine(type.category, 64);
    const deprecated = textIn(type, "deprecated_at") !== null;
    const draft = { name, ...(description && { description }), ...(group && { group }), deprecated };
    return { name, draft, notes: [] };
  });
}
