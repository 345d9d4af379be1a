/** An endpoint as it is filled in by a person. */
import type { ClientError } from "../../client/error.ts";
import type { Endpoint } from "../../client/operations.ts";
import { type Filter, isFilter, parseFilter } from "../../domain/events/filter/filter.ts";

export interface HeaderDraft {
  readonly name: string;
  readonly value: string;
  /** True if the header is set already. Its value is never shown. */
  readonly kept: boolean;
}

export interface Draft {
  readonly url: string;
  readonly events: readonly string[];
  /** JSON; empty without a filter. */
  readonly filter: string;
  readonly description: string;
  readonly headers: readonly HeaderDraft[];
  /** True if requests are signed with the tenant's private key too. */
  readonly ed25519: boolean;
}

export const EMPTY: Draft = { url: "", events: [], filter: "", description: "", headers: [], ed25519: false };

export function draftOf({ url, events, filter, description, headers, signatures }: Endpoint): Draft {
  const names = Object.keys(headers);
  return {
    url,
    events,
    filter: filterText(filter),
    description,
    headers: names.map((name) => ({ name, value: "", kept: true })),
    ed25519: signatures.includes("ed25519"),
  };
}

/** Returns the body of the request: only the changes from `before`, which is null for a new endpoint. */
export function bodyOf(draft: Draft, before: Endpoint | null): object {
  const headers = headersOf(draft, before);
  const url = draft.url.trim();
  if (before === null) {
    const { events, description } = draft;
    return {
      url,
      events,
      ...(draft.filter.trim() !== "" && { filter: JSON.parse(draft.filter) as object }),
      ...(description !== "" && { description }),
      ...(headers !== null && { headers }),
      ...(draft.ed25519 && { signatures: signaturesOf(draft) }),
    };
  }
  const sameEvents = [...before.events].toSorted().join() === [...draft.events].toSorted().join();
  return {
    ...(url !== before.url && { url }),
    ...(!sameEvents && { events: draft.events }),
    ...(draft.filter !== filterText(before.filter) && {
      filter: draft.filter.trim() === "" ? null : (JSON.parse(draft.filter) as object),
    }),
    ...(draft.description !== before.description && { description: draft.description }),
    ...(headers !== null && { headers }),
    ...(draft.ed25519 !== before.signatures.includes("ed25519") && { signatures: signaturesOf(draft) }),
  };
}

function signaturesOf({ ed25519 }: Draft): Endpoint["signatures"] {
  return ed25519 ? ["hmac", "ed25519"] : ["hmac"];
}

function filterText(filter: Endpoint["filter"] | undefined): string {
  return filter ? JSON.stringify(filter, null, 2) : "";
}

/** Returns the filter that was typed, null if there is none, or what is wrong with it, as a sentence. */
export function filterIn(text: string): { readonly filter: Filter | null } | { readonly fault: string } {
  if (text.trim() === "") return { filter: null };
  let document: unknown;
  try {
    document = JSON.parse(text);
  } catch {
    return { fault: "This is not JSON yet. Check the quotes, commas and brackets." };
  }
  const read = parseFilter(document);
  if (isFilter(read)) return { filter: read };
  const [{ pointer, detail } = { pointer: "", detail: "" }] = read;
  return { fault: `${pointer === "" ? "The filter" : pointer} ${detail}.`.replace(/\?\.$/, "?") };
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
