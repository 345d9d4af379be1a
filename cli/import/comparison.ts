/**
 * Compares an endpoint of another sender with the one here. An import leaves a mark in the metadata of each endpoint:
 * where it came from, and hashes of what the import set. So a later one sees what has changed on either side.
 */
import { createHash, createHmac } from "node:crypto";
import type { BodyFormat } from "../../src/domain/endpoints/body-format.ts";
import type { DescribedEndpoint, EndpointDraft } from "./described.ts";
import { isRecord, type JsonRecord, patchTo } from "../../src/domain/json/merge-patch.ts";

/** An endpoint as the API shows it, with the values of its headers masked. */
export interface ShownEndpoint {
  readonly id: string;
  readonly uid: string | null;
  readonly url: string;
  readonly events: readonly string[];
  readonly filter: JsonRecord | null;
  readonly description: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly rate_per_second: number | null;
  readonly metadata: JsonRecord;
  readonly format: BodyFormat;
  readonly enabled: boolean;
  /** Null unless the daemon disabled it. */
  readonly disabled_reason: string | null;
  readonly secret_switches_at: string | null;
}

/** The field of the metadata that has the mark. */
export const MARK = "imported";

export interface Mark {
  readonly from: string;
  readonly id: string;
  /** A hash of the settings as the import left them, without the values of headers. */
  readonly settings: string;
  /** Hashes under the signing secret, so that nobody can try values. Empty until the import has brought them over. */
  readonly headers: string;
  readonly secret: string;
  /** True once it was enabled here. From then on, whoever disables it here means that. */
  readonly enabled: boolean;
}

export type Result = "added" | "changed" | "unchanged" | "kept" | "refused";

export interface Compared {
  readonly result: Result;
  /** The names of the fields that an import changes. */
  readonly changed: readonly string[];
  readonly reason: string | null;
}

export interface Wishes {
  readonly from: string;
  /** Replaces what somebody changed here. */
  readonly overwrite: boolean;
  readonly enable: boolean;
}

/** `here` is undefined if there is no such endpoint yet. */
export function compared(
  { id, draft, reason }: Pick<DescribedEndpoint, "id" | "draft" | "reason">,
  here: ShownEndpoint | undefined,
  { from, overwrite, enable }: Wishes,
): Compared {
  if (draft === null) return { result: "refused", changed: [], reason };
  if (here === undefined) return { result: "added", changed: [], reason: null };
  const mark = markOf(here);
  if (mark === null || mark.from !== from || mark.id !== id) {
    const other = `has the uid ${here.uid ?? ""}, and here that is ${here.id}, which did not come from there`;
    return { result: "refused", changed: [], reason: other };
  }
  const changed = changedFields(draft, here, mark);
  const isWished = enable && draft.enabled && !here.enabled;
  const isDisabledHere = isWished && !overwrite && (mark.enabled || here.disabled_reason !== null);
  const enabling = isWished && !isDisabledHere ? ["enabled"] : [];
  const disabled = isDisabledHere ? "was disabled here since it was enabled: --enable --overwrite enables it" : null;
  if (changed.length === 0) {
    if (disabled !== null) return { result: "kept", changed: [], reason: disabled };
    return { result: enabling.length > 0 ? "changed" : "unchanged", changed: enabling, reason: null };
  }
  const kept = whyKept(changed, { draft, here, mark, overwrite });
  if (kept === null) return { result: "changed", changed: [...changed, ...enabling], reason: disabled };
  // Its receiver would get requests that it cannot verify, or another receiver would get them.
  const isAstray = changed.includes("signing_secret") || changed.includes("url");
  const waits = isAstray && enabling.length > 0 ? "it stays disabled until then" : disabled;
  return {
    result: "kept",
    changed: isAstray ? [] : enabling,
    reason: waits === null ? kept : `${kept}; ${waits}`,
  };
}

interface Sides {
  readonly draft: EndpointDraft;
  readonly here: ShownEndpoint;
  readonly mark: Mark;
  readonly overwrite: boolean;
}

function whyKept(changed: readonly string[], { draft, here, mark, overwrite }: Sides): string | null {
  const isTouched = mark.settings !== hashOf(settingsOf(here, draft.byHand));
  if (isTouched && !overwrite)
    return `was changed here since the last import: ${changed.join(", ")} would be replaced with --overwrite`;
  const isRotating = changed.includes("signing_secret") && here.secret_switches_at !== null && mark.secret !== "";
  return isRotating ? "is rotating its signing secret here: complete that first" : null;
}

function changedFields(draft: EndpointDraft, here: ShownEndpoint, mark: Mark): string[] {
  const [wanted, now] = [settingsOf(draft), settingsOf(here, draft.byHand)];
  const names = Object.keys(wanted).filter((name) => canonical(wanted[name]) !== canonical(now[name]));
  const { headers, secret } = markFor(mark, draft);
  if (mark.secret !== secret) return [...names, "signing_secret"];
  return mark.headers === headers || names.includes("headers") ? names : [...names, "headers"];
}

/** The settings that an import makes, as they can be compared. It leaves headers `byHand` alone. */
function settingsOf(
  from: Omit<EndpointDraft, "secrets" | "enabled" | "uid" | "byHand">,
  byHand: readonly string[] = [],
): JsonRecord {
  const { [MARK]: _, ...metadata } = from.metadata;
  const left = new Set(byHand.map((name) => name.toLowerCase()));
  return {
    url: URL.parse(from.url)?.href ?? from.url,
    events: from.events.toSorted(),
    filter: from.filter,
    description: from.description,
    headers: Object.keys(from.headers)
      .map((name) => name.toLowerCase())
      .filter((name) => !left.has(name))
      .toSorted(),
    rate_per_second: from.rate_per_second,
    metadata,
    format: from.format,
  };
}

/** Null if the endpoint did not come from an import. */
export function markOf({ metadata }: Pick<ShownEndpoint, "metadata">): Mark | null {
  const mark = metadata[MARK];
  if (!isRecord(mark) || typeof mark.from !== "string" || typeof mark.id !== "string") return null;
  const text = (name: string) => (typeof mark[name] === "string" ? mark[name] : "");
  return {
    from: mark.from,
    id: mark.id,
    settings: text("settings"),
    headers: text("headers"),
    secret: text("secret"),
    enabled: mark.enabled === true,
  };
}

/**
 * The mark of an endpoint that is done. Its hashes under the secret say no more than a signature does, which also
 * proves a guess.
 */
export function markFor({ from, id, enabled }: Pick<Mark, "from" | "id" | "enabled">, draft: EndpointDraft): Mark {
  const { current, next } = draft.secrets;
  const key = next?.secret ?? current;
  const under = (text: string) => createHmac("sha256", key).update(text).digest("hex").slice(0, HASH);
  const values = Object.entries(draft.headers).map(([name, value]) => [name.toLowerCase(), value]);
  return {
    from,
    id,
    settings: hashOf(settingsOf(draft)),
    headers: under(canonical(Object.fromEntries(values))),
    secret: under("signing secret"),
    enabled,
  };
}

/** The body of a change that gives the endpoint the settings of the draft. */
export function changeOf(draft: EndpointDraft, here: ShownEndpoint, mark: Mark): JsonRecord {
  const { url, events, filter, description, rate_per_second, format } = draft;
  const names = new Set([...Object.keys(draft.headers), ...draft.byHand].map((name) => name.toLowerCase()));
  const gone = Object.keys(here.headers).filter((name) => !names.has(name.toLowerCase()));
  return {
    url,
    events,
    filter,
    description,
    rate_per_second,
    format,
    headers: { ...Object.fromEntries(gone.map((name) => [name, null])), ...draft.headers },
    metadata: patchTo(here.metadata, { ...draft.metadata, [MARK]: mark }),
  };
}

const HASH = 32;

function hashOf(settings: JsonRecord): string {
  return createHash("sha256").update(canonical(settings)).digest("hex").slice(0, HASH);
}

/** JSON with the members of each object in order. */
export function canonical(value: unknown): string {
  return JSON.stringify(value, (_, member: unknown) =>
    isRecord(member)
      ? Object.fromEntries(Object.entries(member).toSorted(([one], [other]) => (one < other ? -1 : 1)))
      : member,
  );
}
