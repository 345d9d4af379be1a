import type { AuditRecord, Delivery, Endpoint, EventSummary, FailureGroup, Job } from "../../src/client/operations.ts";

export const TABS = ["overview", "events", "deliveries", "endpoints", "failures", "activity"] as const;
export type Tab = (typeof TABS)[number];
/** The kind of rows in a list. The overview lists failures. */
export type RowsKind = Exclude<Tab, "overview">;

export interface Rows {
  readonly overview: FailureGroup;
  readonly events: EventSummary;
  readonly deliveries: Delivery;
  readonly endpoints: Endpoint;
  readonly failures: FailureGroup;
  readonly activity: AuditRecord | Job;
}

/** A window on a list of the daemon: adjacent pages. Pages far from the screen lose their rows. */
export interface List<T> {
  /** The filter as it was typed and accepted. */
  readonly filter: string;
  /** The name of its order. Null for the default order. */
  readonly sort: string | null;
  /** The end of that order from which the list is read. */
  readonly edge: "first" | "last";
  /** Grows each time the list is read again, so that responses to older requests are dropped. */
  readonly generation: number;
  /** All pages ever read, in the order of reading. A page that lost its rows is read again by its cursor. */
  readonly pages: readonly ListPage<T>[];
  /** The cursor of the page after the last. Null at the end, undefined before the first page. */
  readonly next: string | null | undefined;
  /** Rows before all others that belong to no page. */
  readonly pinned: readonly T[];
  /** The pinned rows and the rows of the pages, in list order whichever end they were read from. */
  readonly rows: readonly T[];
  readonly selected: string | null;
  /** The index of the selected row, or of the place where it was. */
  readonly index: number;
  /** The number of rows that the cursor still has to move, over rows that have not been read yet. */
  readonly unread: number;
  /** The index of the first row on the screen. */
  readonly top: number;
  /** True if the first row stays on top when rows are added. */
  readonly follow: boolean;
  /** Rows added since the list stopped following, as far as the stream named them individually. */
  readonly newer: number;
  /** The greatest id of an event counted in `newer`. */
  readonly newest: string;
  readonly stale: boolean;
  /** Rows on the screen that may have changed since they were read. */
  readonly touched: ReadonlySet<string>;
  /** The time at which the list was last read. */
  readonly at: number;
  /** The time that the response took. A list that is much work for the daemon is requested less often. */
  readonly tookMs: number;
  readonly problem: string | null;
  /** The number of rows that the daemon has for this filter. Null until that is known. */
  readonly total: ListTotal | null;
  /** The progress of a search through events' data. Null for any other list. */
  readonly searched: Searched | null;
  readonly marks: ReadonlySet<string>;
}

export interface ListTotal {
  readonly count: number;
  readonly isExact: boolean;
  /** The time at which the total was read. */
  readonly at: number;
}

export interface Searched {
  /** Counts the events on all pages that were read. */
  readonly events: number;
  /** The time at which the events at the end of the last page were received. Null at the end of the list. */
  readonly until: string | null;
}

export interface ListPage<T> {
  readonly cursor: string | null;
  /** Null once the page has lost its rows. */
  readonly rows: readonly T[] | null;
}
