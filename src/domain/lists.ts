/**
 * The lists, each with its filters and the ways in which it is sorted. The stores, the API's parameters and their
 * descriptions, the words and flags of the commands, and `docs/interface.md` all follow this table.
 */
import { AUDIT_ACTIONS, type AuditAction } from "./caller.ts";
import { ATTEMPT_ERRORS, type AttemptError, OUTCOMES, type Outcome } from "./deliveries/attempt.ts";
import { type EventStatus, EVENT_STATUSES, SHOWN_STATUSES, type ShownStatus } from "./deliveries/delivery.ts";
import { JOB_ACTIONS, JOB_STATUSES, type JobAction, type JobStatus } from "./deliveries/job.ts";
import { type Standing, STANDINGS } from "./endpoints/standing.ts";
import type { DataCondition } from "./events/data-filter.ts";
import { PUBLISHER_ID, TAG } from "./events/event.ts";

/** A single value, or a list of which one must match. */
export type OneOf<T> = T | readonly T[];

/** A range of status codes, both ends included. */
export interface StatusCodes {
  readonly least: number;
  readonly most: number;
}

/** The form of a filter's value. */
export type Form =
  | { readonly takes: "one of" | "some of"; readonly values: readonly string[] }
  /** Names, of which the caller checks that they exist. `like` says what each must look like. */
  | { readonly takes: "name" | "names"; readonly like?: Likeness }
  | { readonly takes: "id"; readonly prefix: "ep" | "evt" | "dlv" }
  | { readonly takes: "flag"; readonly fallback?: boolean }
  | { readonly takes: "instant" | "status code" | "data" };

interface Likeness {
  readonly pattern: RegExp;
  /** True if the API refuses any other text; false if it finds nothing, and only what people type is checked. */
  readonly isRequired: boolean;
  readonly fault: string;
}

export interface Filter<T = unknown> {
  readonly form: Form;
  /** Says for the pages which rows are left. */
  readonly says: string;
  /** The table and column that must have the value, if it alone decides; else `src/store/lists` does. */
  readonly column?: string;
  /** Describes the flag of the commands, if that differs. */
  readonly flag?: { readonly hint: string; readonly says: string };
  /** True if it is between publishers and operators, so that the key of a portal link may not use it. */
  readonly isForOperators?: true;
  /** A value as people type it. A filter without one is not a word of `--filter`. */
  readonly example?: string;
  /** Never set; it gives the value its type. */
  readonly value?: T;
}

type More = Omit<Filter, "form" | "says" | "value">;

function oneOf<const T extends string>(values: readonly T[], says: string, more: More = {}): Filter<T> {
  return { form: { takes: "one of", values }, says, ...more };
}

function someOf<const T extends string>(values: readonly T[], says: string, more: More = {}): Filter<OneOf<T>> {
  return { form: { takes: "some of", values }, says, ...more };
}

function name(says: string, more: More & { readonly like?: Likeness } = {}): Filter<string> {
  const { like, ...rest } = more;
  return { form: { takes: "name", ...(like !== undefined && { like }) }, says, ...rest };
}

function names(says: string, more: More & { readonly like?: Likeness } = {}): Filter<OneOf<string>> {
  const { like, ...rest } = more;
  return { form: { takes: "names", ...(like !== undefined && { like }) }, says, ...rest };
}

function id(prefix: "ep" | "evt", says: string, more: More = {}): Filter<string> {
  return { form: { takes: "id", prefix }, says, ...more };
}

function flag(says: string, fallback?: boolean, more: More = {}): Filter<boolean> {
  return { form: { takes: "flag", ...(fallback !== undefined && { fallback }) }, says, ...more };
}

function instant(says: string, more: More = {}): Filter<number> {
  return { form: { takes: "instant" }, says, ...more };
}

const WHEN = "2h (ago), 12:00 (UTC) or 2026-11-20T09:00Z";

const TYPE = names("Only events of this type, or their deliveries or attempts.", {
  column: "event.type",
  flag: { hint: "TYPE", says: "Only this event type" },
  example: "budget.exceeded",
});
const status = (values: readonly string[]) => ({
  flag: { hint: "STATUS", says: values.join(", ") },
  example: "failed",
});
const ENDPOINT = {
  flag: { hint: "ep_…", says: "Only this endpoint: its id, or part of its URL, uid or description" },
  example: "ep_…",
};
const TEST = flag("Only deliveries of test events, which are otherwise left out.", false, {
  column: "event.test",
  example: "true",
});

/** Every list of the history of events may be narrowed by these. */
const RESULT = {
  error: someOf(ATTEMPT_ERRORS, "Only attempts with this error; for events and deliveries, the last attempt counts.", {
    column: "attempt.error",
    flag: { hint: "ERROR", says: "Only if the last attempt ended with this error, such as timeout" },
    example: "timeout",
  }) satisfies Filter<OneOf<AttemptError>>,
  status_code: {
    form: { takes: "status code" },
    says: "Only attempts with this status code; for events and deliveries, the last attempt counts.",
    column: "attempt.status_code",
    flag: { hint: "CODE", says: "Only if the last attempt was answered with this status: 503, or 5xx" },
    example: "5xx",
  } as Filter<StatusCodes>,
};
const PERIOD = {
  since: instant("Only deliveries of events received at this instant or later.", {
    flag: { hint: "WHEN", says: `Only events received since this time: ${WHEN}` },
    example: "2h",
  }),
  until: instant("Only deliveries of events received before this instant.", {
    flag: { hint: "WHEN", says: "Only events received before this time" },
    example: "2026-11-20T09:00Z",
  }),
};
const LABELS = {
  publisher_id: name("Only events to which their publisher gave this id, or their deliveries or attempts.", {
    like: { pattern: PUBLISHER_ID, isRequired: false, fault: "It takes 1 to 128 visible ASCII characters." },
    flag: { hint: "ID", says: "Only events with this publisher's id" },
    example: "order-1042",
  }),
  tag: names("Only events with this tag, or their deliveries or attempts.", {
    like: { pattern: TAG, isRequired: false, fault: "It takes 1 to 64 visible ASCII characters." },
    flag: { hint: "TAG", says: "Only events with this tag; separate several with commas" },
    example: "customer:1042",
    isForOperators: true,
  }),
  label: name("Only events to which their publisher gave this id or this tag, or their deliveries or attempts.", {
    isForOperators: true,
  }),
};
const DATA = {
  data: {
    form: { takes: "data" },
    says: "Only events whose data has this value at this path, or their deliveries or attempts: `customer.id:cus_123`. A value in double quotes is a string; without quotes it may also be a number, true, false or null. A path reaches into every item of an array. If you give several conditions, separated by spaces, all of them must be true. Data is not indexed: each page searches as many events as it can in half a second, and `searched` says how far it got.",
    example: "customer.id:cus_123",
  } as Filter<readonly DataCondition[]>,
};

/** The filters that events and deliveries share. */
const HISTORY = { ...LABELS, ...DATA, ...RESULT, ...PERIOD, test: TEST };

export const LISTS = {
  events: {
    filters: {
      status: someOf(
        EVENT_STATUSES,
        "Only events with this status; with `endpoint`, the status of that delivery.",
        status(EVENT_STATUSES),
      ) satisfies Filter<OneOf<EventStatus>>,
      type: TYPE,
      endpoint: id("ep", "Only events with a delivery to this endpoint.", ENDPOINT),
      ...HISTORY,
    },
    sorts: [],
  },
  deliveries: {
    filters: {
      status: someOf(SHOWN_STATUSES, "Only deliveries with this status.", status(SHOWN_STATUSES)) satisfies Filter<
        OneOf<ShownStatus>
      >,
      type: TYPE,
      endpoint: id("ep", "Only deliveries to this endpoint.", { column: "delivery.endpoint", ...ENDPOINT }),
      event: id("evt", "Only deliveries of this event.", {
        flag: { hint: "evt_…", says: "Only this event" },
        example: "evt_…",
      }),
      ...HISTORY,
    },
    sorts: [],
  },
  attempts: {
    filters: {
      outcome: oneOf(OUTCOMES, "Only attempts with this outcome.", { column: "attempt.outcome" }) satisfies Filter<
        Outcome["outcome"]
      >,
      ...RESULT,
      ...PERIOD,
      test: TEST,
    },
    sorts: [],
  },
  endpoints: {
    filters: {
      enabled: flag("Only endpoints that are enabled, or only those that are not.", undefined, {
        column: "endpoint.enabled",
      }),
      type: name("Only endpoints that chose this event type.", {
        flag: { hint: "TYPE", says: "Only endpoints that chose this event type" },
      }),
      match: name(
        "Only endpoints whose id, URL, `uid`, description or tenant contains this text; case does not matter.",
        { like: { pattern: /^[^\p{C}]{1,256}$/u, isRequired: true, fault: "must be 1 to 256 visible characters" } },
      ),
      url: name("Only endpoints with this URL.", {
        column: "endpoint.url",
        flag: { hint: "URL", says: "Only endpoints with exactly this URL" },
      }),
      standing: someOf(
        STANDINGS,
        "Only endpoints in this state: `failing` means three or more failed attempts in a row, `retrying` one or two, and `untried` none since it was enabled again.",
        {
          flag: { hint: "STATE", says: `Only endpoints in this state: ${STANDINGS.join(", ")}` },
          example: "failing",
        },
      ) satisfies Filter<OneOf<Standing>>,
      uid: name("Only the endpoint with this `uid`.", {
        column: "endpoint.uid",
        flag: { hint: "UID", says: "Only the endpoint with this uid" },
      }),
    },
    /** By host, most failures in a row, longest time without a success, latest failure. */
    sorts: ["host", "failing", "last_success", "last_failure"],
  },
  jobs: {
    filters: {
      endpoint: id("ep", "Only jobs whose filter names this endpoint, or that act on its deliveries."),
      status: someOf(JOB_STATUSES, "Only jobs with this status.", {
        column: "job.status",
        flag: { hint: "STATUS", says: JOB_STATUSES.join(", ") },
      }) satisfies Filter<OneOf<JobStatus>>,
      action: someOf(JOB_ACTIONS, "Only jobs with this action.", {
        column: "job.action",
        flag: { hint: "ACTION", says: JOB_ACTIONS.join(", ") },
      }) satisfies Filter<OneOf<JobAction>>,
    },
    sorts: [],
  },
  audit: {
    filters: {
      action: oneOf(AUDIT_ACTIONS, "Only calls of this kind.", {
        column: "audit.action",
      }) satisfies Filter<AuditAction>,
      object: name(
        "Only calls about the object with this id, such as an endpoint, or about the event type of this name.",
        { column: "audit.object" },
      ),
      since: instant("Only calls at or after this instant."),
      until: instant("Only calls before this instant."),
    },
    sorts: [],
  },
  keys: {
    filters: { portal: flag("Only the keys of portal links, which are otherwise left out.", false) },
    sorts: [],
  },
  tenants: { filters: {}, sorts: ["name", "endpoints", "published"] },
} as const satisfies Record<string, { filters: Record<string, Filter>; sorts: readonly string[] }>;

export type ListName = keyof typeof LISTS;
export type FilterOf<L extends ListName> = keyof (typeof LISTS)[L]["filters"] & string;
/** The ways of sorting, besides by age. */
export type SortOf<L extends ListName> = (typeof LISTS)[L]["sorts"][number];

type Camel<S extends string> = S extends `${infer Head}_${infer Tail}` ? `${Head}${Capitalize<Camel<Tail>>}` : S;
type ValueOf<F> = F extends Filter<infer T> ? T : never;

/** The values of the filters in a query, by their names. */
export type FilterValues<L extends ListName> = {
  readonly [F in FilterOf<L> as Camel<F>]?:
    | ValueOf<(typeof LISTS)[L]["filters"][F & keyof (typeof LISTS)[L]["filters"]]>
    | undefined;
};

export function filtersOf(list: ListName): readonly (readonly [name: string, filter: Filter])[] {
  return Object.entries(LISTS[list].filters);
}

/** The name of a filter's value in a query: `status_code` is `statusCode`. */
export function fieldOf(filter: string): string {
  return filter.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
}
