/** An endpoint as it is filled in by a person. */
import type { ClientError } from "../../client/error.ts";
import type { Endpoint } from "../../client/operations.ts";
import { needsPrivateKey } from "../../domain/endpoints/endpoint.ts";
import { wordsFor } from "../language/api.ts";
import { capital } from "../language/text.ts";
import { metadataPatch, metadataText } from "./metadata.ts";
import { type FilterDraft, filterDraftOf, NO_FILTER, readingOf } from "../filter/draft.ts";

export interface HeaderDraft {
  readonly name: string;
  readonly value: string;
  /** True if the header is set already. Its value is never shown. */
  readonly kept: boolean;
}

export interface Draft {
  readonly url: string;
  readonly events: readonly string[];
  readonly filter: FilterDraft;
  readonly description: string;
  readonly headers: readonly HeaderDraft[];
  /** True to sign requests with the tenant's private key too. */
  readonly ed25519: boolean;
  /** The texts for the requests per second, and for those at once. Empty for no limit. */
  readonly rate: string;
  readonly atOnce: string;
  readonly uid: string;
  /** JSON. Empty for none. */
  readonly metadata: string;
  readonly format: Endpoint["format"];
  readonly ordering: Endpoint["ordering"];
  readonly afterFailure: Endpoint["after_failure"];
}

export const EMPTY: Draft = {
  url: "",
  events: [],
  filter: NO_FILTER,
  description: "",
  headers: [],
  ed25519: false,
  rate: "",
  atOnce: "",
  uid: "",
  metadata: "",
  format: "envelope",
  ordering: "none",
  afterFailure: "continue",
};

export function draftOf(endpoint: Endpoint): Draft {
  const { url, events, filter, description, headers, uid, metadata } = endpoint;
  const names = Object.keys(headers);
  return {
    url,
    events,
    filter: filterDraftOf(filter),
    description,
    headers: names.map((name) => ({ name, value: "", kept: true })),
    ed25519: needsPrivateKey(endpoint),
    rate: String(endpoint.rate_per_second ?? ""),
    atOnce: String(endpoint.max_in_flight ?? ""),
    uid: uid ?? "",
    metadata: metadataText(metadata),
    format: endpoint.format,
    ordering: endpoint.ordering,
    afterFailure: endpoint.after_failure,
  };
}

/** Returns the body of the request, with only the changes from `before`, which is null for a new endpoint. */
export function bodyOf(draft: Draft, before: Endpoint | null): object {
  const headers = headersOf(draft, before);
  const url = draft.url.trim();
  const filter = textOf(draft.filter);
  if (before === null) {
    const { events, description } = draft;
    return {
      url,
      events,
      ...(filter !== null && { filter: JSON.parse(filter) as object }),
      ...(description !== "" && { description }),
      ...(headers !== null && { headers }),
      ...(draft.ed25519 && { signatures: signaturesOf(draft) }),
      ...moreOf(draft, NOTHING_MORE),
    };
  }
  const sameEvents = [...before.events].toSorted().join() === [...draft.events].toSorted().join();
  return {
    ...(url !== before.url && { url }),
    ...(!sameEvents && { events: draft.events }),
    ...(filter !== textOf(filterDraftOf(before.filter)) && {
      filter: filter === null ? null : (JSON.parse(filter) as object),
    }),
    ...(draft.description !== before.description && { description: draft.description }),
    ...(headers !== null && { headers }),
    ...(draft.ed25519 !== needsPrivateKey(before) && { signatures: signaturesOf(draft) }),
    ...moreOf(draft, before),
  };
}

type More = Pick<
  Endpoint,
  "rate_per_second" | "max_in_flight" | "uid" | "metadata" | "format" | "ordering" | "after_failure"
>;

const NOTHING_MORE: More = {
  rate_per_second: null,
  max_in_flight: null,
  uid: null,
  metadata: {},
  format: EMPTY.format,
  ordering: EMPTY.ordering,
  after_failure: EMPTY.afterFailure,
};

function moreOf(draft: Draft, before: More): object {
  const rate = numberOf(draft.rate);
  const atOnce = numberOf(draft.atOnce);
  const uid = draft.uid.trim() || null;
  const metadata = metadataPatch(before.metadata, draft.metadata);
  return {
    ...(rate !== before.rate_per_second && { rate_per_second: rate }),
    ...(atOnce !== before.max_in_flight && { max_in_flight: atOnce }),
    ...(uid !== before.uid && { uid }),
    ...(Object.keys(metadata).length > 0 && { metadata }),
    ...(draft.format !== before.format && { format: draft.format }),
    ...(draft.ordering !== before.ordering && { ordering: draft.ordering }),
    ...(draft.afterFailure !== before.after_failure && { after_failure: draft.afterFailure }),
  };
}

/** Returns a text that is no number as it is, so that the daemon refuses it and says why. */
function numberOf(text: string): number | string | null {
  const typed = text.trim();
  if (typed === "") return null;
  const number = Number(typed);
  return Number.isFinite(number) ? number : typed;
}

/** The filter as compact JSON. Null takes every event. */
function textOf(draft: FilterDraft): string | null {
  return readingOf(draft).filter?.text ?? null;
}

function signaturesOf({ ed25519 }: Draft): Endpoint["signatures"] {
  return ed25519 ? ["hmac", "ed25519"] : ["hmac"];
}

/** Returns a merge patch, in which null removes a header, or null if nothing changes. */
function headersOf(draft: Draft, before: Endpoint | null): Record<string, string | null> | null {
  const kept = new Set(draft.headers.filter(({ kept: isKept }) => isKept).map(({ name }) => name));
  const removed = Object.keys(before?.headers ?? {}).filter((name) => !kept.has(name));
  const set = draft.headers.filter(({ name, kept: isKept }) => !isKept && name.trim() !== "");
  if (removed.length + set.length === 0) return null;
  return Object.fromEntries([
    ...removed.map((name) => [name, null] as const),
    ...set.map(({ name, value }) => [name.trim(), value] as const),
  ]);
}

/** Returns the daemon's refusal of the field at `pointer`, or of a part of it. */
export function refusalOf(fault: ClientError | undefined, pointer: string): string | undefined {
  const found = fault?.faults.find((one) => one.pointer === pointer || one.pointer.startsWith(`${pointer}/`));
  if (found === undefined) return undefined;
  return wordsFor(found.code) ?? `${capital(found.detail).replace(/\.$/, "")}.`;
}
