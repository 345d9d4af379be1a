/** The contract for reads: events, deliveries and attempts as they are shown, and the parts that all lists share. */
import type { Blocker } from "../../domain/deliveries/ordering.ts";
import type { AttemptError, BodyError, Phases, Trigger } from "../../domain/deliveries/attempt.ts";
import type { EventLabels } from "../../domain/events/event.ts";
import type { WhyFacts } from "../../domain/events/why.ts";
import type { EventStatus, ShownStatus } from "../../domain/deliveries/delivery.ts";
import type { FilterValues, SortOf } from "../../domain/lists.ts";

export interface Page<T> {
  readonly data: readonly T[];
  /** Opaque. Null at the end of the list. */
  readonly nextCursor: string | null;
  /** Present if the time for a page ran out. The page is short, perhaps empty, and the list still continues. */
  readonly cutShort?: true;
  /** Present if the query asks for it, unless counting takes too long. */
  readonly total?: Total;
  /** Present if the query searches the data of events. */
  readonly searched?: Searched;
}

/** The part of the events whose data has been searched for a page. */
export interface Searched {
  readonly events: number;
  /** The time at which the last of them was received. Null if none is left. */
  readonly until: number | null;
}

/** The number of rows on all pages of a list, which is the same each time while the list stays the same. */
export interface Total {
  readonly count: number;
  /** Present if there are more than 10,000, of which that many are counted. */
  readonly atLeast?: true;
}

/**
 * The client for which a long read is made. Callers take turns. If its caller has gone, a read is abandoned and rejects
 * with `request_timeout`.
 */
export interface Caller {
  readonly name: string;
  /** Calls `run` when the caller has gone, but never synchronously. The returned function cancels that. */
  whenGone(run: () => void): () => void;
}

export interface PageQuery {
  readonly tenant: string | null;
  readonly limit: number;
  readonly order: "newest" | "oldest";
  readonly cursor?: string;
  readonly total?: boolean;
}

type Of<Field extends keyof FilterValues<"events">> = Pick<FilterValues<"events">, Field>;
/** The time at which the event was received; `until` is exclusive. */
export type Period = Of<"since" | "until">;
/** Selects by the result of an attempt. */
export type ResultFilter = Of<"error" | "statusCode">;
/** Selects events by the publisher's id and tags. If several are given, an event must have all of them. */
export type LabelFilter = Of<"publisherId" | "tag" | "label">;
/** Selects events by their data. No index covers the data, so a page searches as many events as there is time for. */
export type DataFilter = Of<"data">;

export interface ReadStore {
  getEvent(tenant: string | null, id: string): Promise<EventView | null>;
  /**
   * Returns the facts that tell why the event arrived at the endpoint or did not. Finds a deleted endpoint too. The event
   * and the endpoint may belong to different tenants only if any tenant may be read.
   */
  whyFacts(tenant: string | null, event: string, endpoint: string): Promise<WhyFacts | "no_event" | "no_endpoint">;
  /** Lists events in the order of their commits. */
  listEvents(query: EventQuery, caller?: Caller): Promise<Page<EventSummary>>;
  /** Lists the same events as `listEvents`, each with its data and deliveries. */
  listWholeEvents(query: EventQuery, caller?: Caller): Promise<Page<EventView>>;
  getDelivery(tenant: string | null, id: string): Promise<DeliveryView | null>;
  /** Lists deliveries in the order of their events. */
  listDeliveries(query: DeliveryQuery, caller?: Caller): Promise<Page<DeliveryView>>;
  getAttempt(tenant: string | null, id: string): Promise<Attempt | null>;
  /**
   * Lists the attempts of an event in the order of their starts, or those of a delivery by number. Returns null if
   * there is no such event or delivery.
   */
  listAttempts(query: AttemptQuery, caller?: Caller): Promise<Page<Attempt> | null>;
  /**
   * Lists attempts in the order of their events, then by number, because an order by starts would cost every success an
   * index entry. Works for a deleted endpoint too. Returns null if the endpoint never existed.
   */
  listEndpointAttempts(query: EndpointAttemptQuery, caller?: Caller): Promise<Page<Attempt> | null>;
  /** Lists each tenant that ever published or registered something, in the order in which they first did. */
  listTenants(query: TenantQuery, caller?: Caller): Promise<Page<TenantSummary>>;
  /**
   * Returns the kind of the first name whose object never existed or is hidden from the tenant, or null if there is
   * none.
   */
  unknownName(tenant: string | null, names: Names): Promise<keyof Names | null>;
}

/**
 * The names in a filter. Types belong to all tenants. Events and deleted endpoints are unknown once their rows have
 * been removed. A tenant is known once it has had an endpoint, an event or a key of its own.
 */
export interface Names {
  readonly tenant?: string | undefined;
  readonly type?: string | undefined;
  readonly endpoint?: string | undefined;
  readonly event?: string | undefined;
}

/**
 * With `oldest`, tenants are sorted by name, or begin with the one that has the most endpoints or the most published
 * events. With `newest`, the list begins at the other end.
 */
export interface TenantQuery extends PageQuery {
  readonly sort?: SortOf<"tenants">;
  /** Events published since then are counted: a whole minute, at most an hour ago. */
  readonly since: number;
}

export interface TenantSummary {
  readonly name: string;
  /** The number of endpoints that are not deleted. */
  readonly endpoints: number;
  /** The number of events since then, without tests and without the last second. */
  readonly published: number;
}

/** An error or status code matches if the last attempt of at least one of the event's deliveries has it. */
export type EventQuery = PageQuery & FilterValues<"events">;
/** An error or status code matches if the delivery's last attempt has it. */
export type DeliveryQuery = PageQuery & FilterValues<"deliveries">;
export type AttemptQuery = PageQuery & ({ readonly event: string } | { readonly delivery: string });
export type EndpointAttemptQuery = PageQuery & FilterValues<"attempts"> & { readonly endpoint: string };

export interface EventSummary extends EventLabels {
  readonly id: string;
  readonly type: string;
  readonly createdAt: number;
  readonly receivedAt: number;
  readonly tenant: string;
  readonly test: boolean;
  readonly status: EventStatus;
  /** Null unless its data was erased. */
  readonly erasedAt: number | null;
  /** Null if it has none, or was erased. */
  readonly orderingKey: string | null;
}

export interface EventView extends EventSummary {
  /** The bytes of `data` as they were published. Null if they were erased, or if damage to the store lost them. */
  readonly data: Uint8Array | null;
  /** The first 100 deliveries. */
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
  /** The place of the next attempt on the ladder. Null if there is no next attempt. */
  readonly retry: number | null;
  /** Null unless the delivery is pending. */
  readonly nextAttemptAt: number | null;
  /** Its number in the line of its ordering key. Null if it is in none. */
  readonly sequence: number | null;
  /** The delivery that goes before it. Null unless it waits behind another one of its ordering key. */
  readonly behind: Blocker | null;
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
  /**
   * Tells apart whether the endpoint's current secret signed the specified header, or an earlier one. Null if nothing
   * was signed.
   */
  readonly secret: "current" | "previous" | null;
  readonly phases: Phases;
  readonly responseHeaders: Readonly<Record<string, string>>;
  readonly responseBody: Uint8Array;
  readonly responseTruncated: boolean;
}
