/** The labels of an event, by which publishers find it: their own id for it, and tags. */
import { NO_LABELS, type EventLabels } from "../../domain/events/event.ts";
import type { LabelFilter } from "../store.ts";

/* These codes are on disk. */
const ID = 0;
const TAG = 1;

export interface LabelRow {
  readonly kind: number;
  readonly label: string;
}

export function labelRows({ publisherId, tags }: EventLabels): LabelRow[] {
  const own = publisherId === null ? [] : [{ kind: ID, label: publisherId }];
  return [...own, ...tags.map((label) => ({ kind: TAG, label }))];
}

export function labelsIn(rows: readonly LabelRow[]): EventLabels {
  if (rows.length === 0) return NO_LABELS;
  const tags = rows.filter(({ kind }) => kind === TAG).map(({ label }) => label);
  return { publisherId: rows.find(({ kind }) => kind === ID)?.label ?? null, tags: tags.toSorted() };
}

export function seeksLabel({ publisherId, tag, label }: LabelFilter): boolean {
  return publisherId !== undefined || tag !== undefined || label !== undefined;
}

/** Returns groups of labels. An event must have at least one label of each group. */
export function soughtLabels({ publisherId, tag, label }: LabelFilter): LabelRow[][] {
  const tags = tag === undefined ? [] : typeof tag === "string" ? [tag] : tag;
  return [
    ...(publisherId === undefined ? [] : [[{ kind: ID, label: publisherId }]]),
    ...(label === undefined ? [] : [[ID, TAG].map((kind) => ({ kind, label }))]),
    ...(tag === undefined ? [] : [tags.map((one) => ({ kind: TAG, label: one }))]),
  ];
}

export function isSame(one: LabelRow, other: LabelRow): boolean {
  return one.kind === other.kind && one.label === other.label;
}
