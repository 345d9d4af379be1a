/** An endpoint as it is filled in by a person. */
import type { ClientError } from "../../client/error.ts";
import type { Endpoint } from "../../client/operations.ts";
import { needsPrivateKey } from "../../domain/endpoints/endpoint.ts";
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
}

export const EMPTY: Draft = { url: "", events: [], filter: NO_FILTER, description: "", headers: [], ed25519: false };

export function draftOf({ url, events, filter, description, headers, signatures }: Endpoint): Draft {
  const names = Object.keys(headers);
  return {
    url,
    events,
    filter: filterDraftOf(filter),
    description,
    headers: names.map((name) => ({ name, value: "", kept: true })),
    ed25519: needsPrivateKey({ signatures }),
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
  };
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
  const detail = fault?.faults.find((one) => one.pointer === pointer || one.pointer.startsWith(`${pointer}/`))?.detail;
  if (detail === undefined) return undefined;
  return `${detail.charAt(0).toUpperCase()}${detail.slice(1).replace(/\.$/, "")}.`;
}
