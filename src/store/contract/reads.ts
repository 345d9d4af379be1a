/** Reads: events, deliveries and attempts, as they are shown, and what every list has in common. */
import type { AttemptError, BodyError, Outcome, Phases, Trigger } from "../../domain/deliveries/attempt.ts";
import type { DataCondition } from "../../domain/events/data-filter.ts";
import type { EventLabels } from "../../domain/events/event.ts";
import type { EventStatus, ShownStatus } from "../../domain/deliveries/delivery.ts";

export interface Page<T> {
  readonly data: readonly T[];
  /** Opaque; null at the end of the list. */
  readonly nextCursor: string | null;
  /** The time for a page was over: it is short, perhaps empty, and the list goes on all the same. */
  readonly cutShort?: true;
  /** Where the query asks for it. */
  readonly total?: Total;
  /** Where what events say is sought. */
  readonly searched?: Searched;
}

/** How far a page looked into events' data. */
export interface Searched {
  readonly events: number;
  /** When the last of them was received; null where none is left. */
  readonly until: number | null;
}

/** How many rows a list has on all its pages. No more than 10,000 are counted, and only for a short time. */
export interface Total {
  readonly count: number;
  /** Where there may be more. */
  readonly atLeast?: true;
}

/**
 * On whose behalf something is read at length. Callers take turns, and what nobody waits for any more is given up,
 * rejected with `request_timeout`.
 */
export interface Caller {
  readonly name: string;
  /** Calls `run`, never at once, when the caller is gone; what it answers takes that back. */
  whenGone(run: () => void): () => void;
}

export interface PageQuery {
  readonly tenant: string | null;
  readonly limit: number;
  readonly order: "newest" | "oldest";
  readonly cursor?: string;
  readonly total?: boolean;
}

/** When the event was received; `until` is exclusive. */
export interface Period {
  readonly since?: number;
  readonly until?: number;
}

/** One of several; one alone may stand for itself. */
export type OneOf<T> = T | readonly T[];

/** What an attempt came to. */
export interface ResultFilter {
  readonly error?: OneOf<AttemptError>;
  readonly statusCode?: StatusCodes;
}

/** Both ends included. */
export interface StatusCodes {
  readonly least: number;
  readonly most: number;
}

/** What the publisher calls the event; where several are given, it has all of them. */
export interface LabelFilter {
  readonly publisherId?: string;
  readonly tag?: OneOf<string>;
  /** Its publisher's id, or one of its tags. */
  readonly label?: string;
}

/** What the event's data says; no index knows, so that a page looks at as many events as there is time for. */
export interface DataFilter {
  readonly data?: readonly DataCondition[];
}

export interface ReadStore {
  getEvent(tenant: string | null, id: string): Promise<EventView | null>;
  /** In the order in which they were committed. */
  listEvents(query: EventQuery, caller?: Caller): Promise<Page<EventSummary>>;
  /** The same list, with all that there is of each event. */
  listWholeEvents(query: EventQuery, caller?: Caller): Promise<Page<EventView>>;
  getDelivery(tenant: string | null, id: string): Promise<DeliveryView | null>;
  /** In the order of their events. */
  listDeliveries(query: DeliveryQuery, caller?: Caller): Promise<Page<DeliveryView>>;
  getAttempt(tenant: string | null, id: string): Promise<Attempt | null>;
  /** One event's in the order of their starts, one delivery's by number. Null when there is no such event or delivery. */
  listAttempts(query: AttemptQuery, caller?: Caller): Promise<Page<Attempt> | null>;
  /**
   * In the order of their events, then by number: an order by starts would cost every success an index entry. A deleted
   * endpoint's too; null when there never was one.
   */
  listEndpointAttempts(query: EndpointAttemptQuery, caller?: Caller): Promise<Page<Attempt> | null>;
  /** Every tenant that ever published or registered something, in the order in which they first did. */
  listTenants(query: TenantQuery, caller?: Caller): Promise<Page<TenantSummary>>;
  /** Which of these is nothing that the tenant may see and that there is, or once was; null when none is. */
  unknownName(tenant: string | null, names: Names): Promise<keyof Names | null>;
}

/** Types are everybody's. Events are forgotten with their rows, and so are deleted endpoints. */
export interface Names {
  readonly type?: string | undefined;
  readonly endpoint?: string | undefined;
  readonly event?: string | undefined;
}

/**
 * With `oldest` by name from a, or those first that have the most endpoints, or that published the most; with `newest`
 * from the other end.
 */
export interface TenantQuery extends PageQuery {
  readonly sort?: "name" | "endpoints" | "published";
  /** From when on what was published is counted: a whole minute, an hour ago at most. */
  readonly since: number;
}

export interface TenantSummary {
  readonly name: string;
  /** Those that are not deleted. */
  readonly endpoints: number;
  /** Events since then, without tests and without those of the last second. */
  readonly published: number;
}

/** An error or status code is looked for in the last attempts of the event's deliveries; one that has it is enough. */
export interface EventQuery extends PageQuery, Period, ResultFilter, LabelFilter, DataFilter {
  readonly status?: OneOf<EventStatus>;
  readonly type?: OneOf<string>;
  readonly endpoint?: string;
  readonly test?: boolean;
}

/** An error or status code is looked for in the delivery's last attempt. */
export interface DeliveryQuery extends PageQuery, Period, ResultFilter, LabelFilter, DataFilter {
  readonly status?: OneOf<ShownStatus>;
  readonly type?: OneOf<string>;
  readonly endpoint?: string;
  readonly event?: string;
  readonly test?: boolean;
}

export type AttemptQuery = PageQuery & ({ readonly event: string } | { readonly delivery: string });

export interface EndpointAttemptQuery extends PageQuery, Period, ResultFilter {
  readonly endpoint: string;
  readonly outcome?: Outcome["outcome"];
  readonly test?: boolean;
}

export interface EventSummary extends EventLabels {
  readonly id: string;
  readonly type: string;
  readonly createdAt: number;
  readonly receivedAt: number;
  readonly tenant: string;
  readonly test: boolean;
  readonly status: EventStatus;
}

export interface EventView extends EventSummary {
  /** The bytes of `data` as they were published; null once they were erased. */
  readonly data: Uint8Array | null;
  /** The first 100. */
  readonly deliveries: readonly DeliveryView[];
  readonly deliveryCount: number;
}

export interface DeliveryView {
  readonly id: string;
  readonly event: string;
  readonly type: string;
  readonly receivedAt: number;
  readonly tenant: string;
  readonly test: boolean;
  readonly endpoint: string;
  readonly status: ShownStatus;
  readonly attempts: number;
  readonly round: number;
  /** The place on the ladder of the attempt to come; null unless one is to come. */
  readonly retry: number | null;
  /** Null unless the delivery is pending. */
  readonly nextAttemptAt: number | null;
  readonly lastAttempt: Attempt | null;
}

export interface Attempt {
  readonly id: string;
  readonly event: string;
  readonly delivery: string;
  readonly endpoint: string;
  readonly url: string;
  readonly number: number;
  readonly trigger: Trigger;
  readonly round: number;
  /** Null for attempts outside the ladder. */
  readonly retry: number | null;
  readonly startedAt: number;
  readonly durationMs: number;
  readonly outcome: "succeeded" | "failed" | "interrupted";
  readonly statusCode: number | null;
  readonly error: AttemptError | null;
  readonly bodyError: BodyError | null;
  readonly detail: string;
  readonly remoteAddress: string | null;
  /** Whether the specified header was signed by the secret that the endpoint has now; null when nothing was signed. */
  readonly secret: "current" | "previous" | null;
  readonly phases: Phases;
  readonly responseHeaders: Readonly<Record<string, string>>;
  readonly responseBody: Uint8Array;
  readonly responseTruncated: boolean;
}
