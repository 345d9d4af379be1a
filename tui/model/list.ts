/** The lists there are, and what is known of one. */
import type { AuditRecord, Delivery, Endpoint, EventSummary, FailureGroup, Job } from "../../src/client/operations.ts";

export const TABS = ["overview", "events", "deliveries", "endpoints", "failures", "activity"] as const;
export type Tab = (typeof TABS)[number];
/** Whose rows a list has: the overview lists failures. */
export type RowsKind = Exclude<Tab, "overview">;

export interface Rows {
  readonly overview: FailureGroup;
  readonly events: EventSummary;
  readonly deliveries: Delivery;
  readonly endpoints: Endpoint;
  readonly failures: FailureGroup;
  readonly activity: AuditRecord | Job;
}

/** A window on a list of the daemon's: pages next to each other, of which those far from what is shown are let go. */
export interface List<T> {
  /** As it was typed and accepted. */
  readonly filter: string;
  /** Its name among the sorts of its kind; null for the one it begins with. */
  readonly sort: string | null;
  /** From which end of that order it is read. */
  readonly edge: "first" | "last";
  /** One more each time it is read anew: answers to older questions are dropped. */
  readonly generation: number;
  /** In the order of reading, all that were ever read: a page that was let go is read again by its cursor. */
  readonly pages: readonly ListPage<T>[];
  /** Of the page after the last; null at the end, undefined before the first. */
  readonly next: string | null | undefined;
  /** Rows before all others that belong to no page. */
  readonly pinned: readonly T[];
  /** The pinned ones and what the pages hold, in that order whichever end it was read from. */
  readonly rows: readonly T[];
  readonly selected: string | null;
  /** Of the selected row, or of where it was. */
  readonly index: number;
  /** Rows that the cursor is still to go, over those that are not read yet. */
  readonly owed: number;
  /** Of the first row on the screen. */
  readonly top: number;
  /** Whether the first row stays on top. */
  readonly follow: boolean;
  /** Rows that came since it was held, as far as they were told one by one. */
  readonly newer: number;
  /** The greatest id of an event that was counted so. */
  readonly newest: string;
  readonly stale: boolean;
  /** Rows on the screen that may have changed since they were read. */
  readonly touched: ReadonlySet<string>;
  /** When it was read last. */
  readonly at: number;
  /** How long the answer was under way: what is much work for the daemon is asked less often. */
  readonly tookMs: number;
  readonly problem: string | null;
  /** How many rows the daemon has for this filter; null while nobody knows. */
  readonly total: ListTotal | null;
  /** How far a search of the events' data is; null for any other list. */
  readonly searched: Searched | null;
  readonly marks: ReadonlySet<string>;
}

export interface ListTotal {
  readonly count: number;
  readonly isExact: boolean;
  /** When it was read. */
  readonly at: number;
}

export interface Searched {
  /** On all pages that were read. */
  readonly events: number;
  /** When those at the end of the last page were received; null at the end of the list. */
  readonly until: string | null;
}

export interface ListPage<T> {
  readonly cursor: string | null;
  /** Null once it was let go. */
  readonly rows: readonly T[] | null;
}
