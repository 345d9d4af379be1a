/**
 * Outpost: its destinations of the type webhook are endpoints, and its topics are event types. The shapes are those of
 * its API, which `docs/import.md` names.
 */
import { isTenant } from "../../src/domain/id.ts";
import { usage } from "../failure.ts";
import { someAtOnce } from "./at-once.ts";
import {
  type Described,
  describedEndpoint,
  type DescribedEndpoint,
  type EndpointDraft,
  NotImportable,
  signingSecretOf,
} from "./described.ts";
import type { ForeignApi } from "./foreign-api.ts";
import { isRecord, type JsonRecord } from "../../src/domain/json/merge-patch.ts";
import { recordsIn, textIn, textsIn } from "./record.ts";

const PAGE = "100";
const AT_ONCE = 4;

/** The records in the form of an export file. */
export async function readOutpost(api: ForeignApi): Promise<JsonRecord> {
  const pages = await api.pages("/tenants", { limit: PAGE }, ({ pagination }) => {
    const next = isRecord(pagination) ? textIn(pagination, "next") : null;
    return next === null || next === "" ? null : { next };
  });
  const tenants = pages.flatMap(({ models }) => recordsIn(models));
  const whole = new Map<JsonRecord, JsonRecord>();
  await someAtOnce(tenants, AT_ONCE, async (tenant) => {
    // This list has no pages.
    const destinations = await api.get(`/tenants/${encodeURIComponent(String(tenant.id))}/destinations`);
    whole.set(tenant, { ...tenant, destinations });
  });
  const topics = await api.find("/topics");
  return { tenants: tenants.map((tenant) => whole.get(tenant)!), topics };
}

export function outpostIn(file: JsonRecord, name: string): Described {
  if (!Array.isArray(file.tenants))
    throw usage(`${name} has no "tenants"`, "docs/import.md shows what such a file looks like.");
  const endpoints = recordsIn(file.tenants).flatMap((tenant) => endpointsOf(tenant));
  const chosen = endpoints.flatMap(({ draft }) => draft?.events ?? []);
  const names = [...new Set([...textsIn(file.topics), ...chosen])].filter((topic) => !topic.includes("*"));
  return {
    types: names.map((topic) => ({ name: topic, draft: { name: topic }, notes: [] })),
    endpoints,
    notes: [
      "The section below is Outpost's default signature. Adapt it if DESTINATIONS_WEBHOOK_… set another header or template.",
    ],
    signatures: [
      { lines: ['format = "custom"', 'header = "x-outpost-signature"', 'value = "v0={signature}"'], of: null },
    ],
  };
}

function endpointsOf(tenant: JsonRecord): DescribedEndpoint[] {
  return recordsIn(tenant.destinations).map((destination) => {
    const config = isRecord(destination.config) ? destination.config : {};
    const whose = { id: String(destination.id), tenant: String(tenant.id), url: textIn(config, "url") ?? "" };
    return describedEndpoint(whose, (notes): EndpointDraft => {
      if (!isTenant(whose.tenant)) throw new NotImportable("belongs to a tenant whose name cannot be one here");
      if (destination.type !== "webhook")
        throw new NotImportable(`is of the type ${String(destination.type)}, and webhookd sends to webhooks only`);
      const topics = destination.topics === "*" ? ["*"] : textsIn(destination.topics);
      if (topics.length === 0) throw new NotImportable("chose no topics");
      if (isRecord(destination.delivery_metadata) && Object.keys(destination.delivery_metadata).length > 0)
        notes.push("has delivery_metadata, which is not sent here");
      return {
        uid: null,
        url: whose.url,
        events: topics.includes("*") ? ["*"] : topics,
        filter: filterOf(destination.filter),
        description: "",
        headers: headersOf(config),
        byHand: [],
        rate_per_second: null,
        metadata: isRecord(destination.metadata) ? destination.metadata : {},
        format: "data",
        secrets: { current: secretOf(destination, notes), next: null, fitsTwo: false },
        enabled: textIn(destination, "disabled_at") === null,
      };
    });
  });
}

/** During a rotation Outpost signs with both secrets in one header, which has room for one here. */
function secretOf({ credentials }: JsonRecord, notes: string[]): string {
  const given = isRecord(credentials) ? credentials : {};
  const secret = textIn(given, "secret");
  if (secret === null) throw new NotImportable("has no signing secret in what was read");
  const until = textIn(given, "previous_secret_invalid_at");
  if (textIn(given, "previous_secret") !== null)
    notes.push(`is rotating its secret there: its receiver must have the new one; the old one ends ${until ?? "soon"}`);
  return signingSecretOf(secret);
}

/** They are in a text of JSON. */
function headersOf(config: JsonRecord): Record<string, string> {
  const text = textIn(config, "custom_headers");
  if (text === null || text === "") return {};
  try {
    const headers: unknown = JSON.parse(text);
    if (isRecord(headers) && Object.values(headers).every((value) => typeof value === "string"))
      return headers as Record<string, string>;
  } catch {
    // The same as for JSON of another kind.
  }
  throw new NotImportable("has custom_headers that are no JSON object of texts");
}

const PARTS: Readonly<Record<string, string>> = { data: "data", topic: "type" };
const COMBINED = ["$or", "$and"];

/**
 * The language is the same below the parts of an event, whose names differ. The daemon refuses what it does not know.
 */
function filterOf(filter: unknown): JsonRecord | null {
  if (!isRecord(filter) || Object.keys(filter).length === 0) return null;
  return Object.fromEntries(
    Object.entries(filter).map(([key, value]) => {
      if (COMBINED.includes(key)) return [key, recordsIn(value).map((part) => filterOf(part) ?? {})];
      if (key === "$not") return [key, filterOf(value) ?? {}];
      const part = Object.hasOwn(PARTS, key) ? PARTS[key] : undefined;
      if (part === undefined)
        throw new NotImportable(`filters by ${key}, and a filter here sees only the type, data and tags of an event`);
      return [part, value];
    }),
  );
}
