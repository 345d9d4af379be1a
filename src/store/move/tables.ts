/**
 * Lists what is moved between the file and PostgreSQL, in order, and what is not, with the reason. Rows have
 * PostgreSQL's form, without the columns that each store derives. `test/store/move` compares both schemas with this
 * list.
 */
import { SET } from "../rows/endpoint-row.ts";

export type Value = number | string | Uint8Array | null;
/** Values in the order of the table's columns. */
export type Row = readonly Value[];
/** The key of the last row that was read. */
export type Place = readonly Value[];

export interface Page {
  readonly rows: readonly Row[];
  /** Null at the end of the table. */
  readonly next: Place | null;
}

export interface Table {
  readonly name: string;
  readonly columns: readonly string[];
  readonly key: readonly string[];
  /** The key by which the file is read, if its order differs. */
  readonly fileKey: readonly string[];
  /** Columns that hold the number of a name in the file. */
  readonly names: Readonly<Record<string, "tenant" | "event_type" | "url">>;
  /** Columns that only one of the stores has, because they are derived or only used while the daemon runs. */
  readonly onlyFile: readonly string[];
  readonly onlyPostgres: readonly string[];
  /** True if rows may be too large to read many at a time. */
  readonly hasBodies: boolean;
  /** The table whose changes also copy these rows, and the columns that identify them there. */
  readonly group: string;
  readonly groupKey: readonly string[];
}

/** The values of a group's key, in the form of a row. */
export type Key = readonly Value[];

/** The rows that were added, changed or deleted while a daemon kept using the store. */
export interface Changes {
  /** Keys by group. */
  readonly keys: ReadonlyMap<string, readonly Key[]>;
  /** The number of changes read; 0 at the end. */
  readonly count: number;
  /** The place at which to continue, if the list is kept. */
  readonly seen: number;
}

/**
 * The state of a copy, as text, before and after a transaction. The transaction fails if another copy has changed it.
 */
export interface States {
  readonly before: string;
  readonly after: () => string;
  /** True if nothing may be kept. */
  readonly dry: boolean;
}

interface Differences extends Pick<Table, "names" | "group"> {
  readonly groupKey: string;
  readonly fileKey: string;
  readonly onlyFile: string;
  readonly onlyPostgres: string;
}

function table(name: string, key: string, columns: string, differs: Partial<Differences> = {}): Table {
  const { fileKey = key, names = {}, onlyFile = "", onlyPostgres = "", group = name, groupKey = key } = differs;
  const all = wordsOf(columns);
  return {
    name,
    key: wordsOf(key),
    fileKey: wordsOf(fileKey),
    columns: all,
    names,
    onlyFile: wordsOf(onlyFile),
    onlyPostgres: wordsOf(onlyPostgres),
    hasBodies: all.includes("body"),
    group,
    groupKey: wordsOf(groupKey),
  };
}

const wordsOf = (text: string) => text.split(/\s+/).filter((word) => word !== "");
const OF_TENANT = { tenant: "tenant" } as const;
const OF_TYPE = { ...OF_TENANT, type: "event_type" } as const;

/** A table comes after those that it refers to. */
export const TABLES: readonly Table[] = [
  table("tenant", "num", "num name"),
  table("event_type", "name", "name", { fileKey: "num", onlyFile: "num" }),
  table(
    "endpoint",
    "number",
    `number id tenant ${SET.join(" ")} disabled_reason secret secret_version next_secret switches_at created_at updated_at
     deleted_at cancel_to`,
    { names: OF_TENANT, onlyPostgres: "slot" },
  ),
  table("signing_key", "tenant", "tenant private_key next_private_key switches_at published", { names: OF_TENANT }),
  table("health", "endpoint", "endpoint last_success_at last_failure_at consecutive_failures failing_since"),
  table("subscription", "tenant type endpoint", "tenant type endpoint", { names: OF_TYPE }),
  table("choice", "endpoint num", "endpoint num until change at events filter enabled disabled_reason when_disabled"),
  table(
    "type_definition",
    "name",
    "name description type_group schema sample validation deprecated_at sunset_at archived deleted_at",
  ),
  table("api_key", "number", "number id name hash scopes tenant created_at expires_at last_used_at revoked_at portal", {
    onlyPostgres: "made_by",
  }),
  table("audit", "key", "key actor uid user tenant action object request outcome count last_at"),
  table("counter", "subject minute", "subject minute attempts published", {
    fileKey: "minute subject",
    onlyPostgres: "life",
  }),
  table("idempotency", "tenant key", "tenant key fingerprint expires_at answer", {
    names: OF_TENANT,
    onlyFile: "num",
  }),
  table(
    "job",
    "num",
    `num id tenant action filter rate_per_second canary reason status paused_reason created_at ended_at open`,
  ),
  table("job_endpoint", "job endpoint", "job endpoint matched planned released delivered failed cancelled skipped"),
  table("job_delivery", "job endpoint event", "job endpoint event released"),
  table("ordering_key", "num", "num endpoint key last seen"),
  table("held_key", "ordering_key sequence event", "ordering_key sequence event endpoint since"),
  table(
    "event",
    "key",
    "key random tenant type created_at test unmatched choice trace ordering_key erased_at body_hash body",
    {
      names: OF_TYPE,
      // PostgreSQL keeps all of an event in its row.
      onlyFile: "large",
    },
  ),
  table("key_time", "kind key", "kind key at"),
  table("event_label", "kind label tenant event", "kind label tenant event", { names: OF_TENANT }),
  table(
    "delivery",
    "event endpoint",
    "event endpoint status attempts round retry trigger due_at ordering_key sequence",
    {
      onlyFile: `url started_at duration_ms status_code secret_version truncated body connection cause failed_at failing_since`,
      onlyPostgres: "slot",
    },
  ),
  table(
    "attempt",
    "event endpoint number",
    `event endpoint number url trigger round retry started_at duration_ms outcome status_code error body_error
     secret_version truncated body details connection`,
    // The file keeps a plain first success in the row of its delivery.
    { names: { url: "url" }, group: "delivery", groupKey: "event endpoint" },
  ),
  table("late_response", "started_at event endpoint number", "started_at event endpoint number"),
  table("started", "event endpoint", "event endpoint interruptions dialled"),
  table("manual_attempt", "event endpoint", "event endpoint urgent"),
];

/** Tables of either store that are not moved, and the reasons. */
export const LEFT_OUT: Readonly<Record<string, string>> = {
  meta: "facts: each is moved by its name",
  url: "a table of names: each attempt is moved with its URL",
  late_attempt: "an index of attempts, which is rebuilt",
  failure_count: "counts of deliveries, which triggers maintain",
  large_data: "each event is moved with its data",
  large_batch: "which rows of large_data belong to no event",
  settled: "about deliveries above the mark; after a move there are none",
  tenant_pending: "counts of deliveries, which are made anew",
  node: "which process has the store",
  slot: "which process has the store",
  last_commit: "only for running processes",
  alert: "for the node that sends alerts",
  alert_failing: "only for running nodes: alerts start again",
  stream: "only for running processes",
  stream_batch: "only for running processes",
  moving_change: "what changes while a store is moved online",
  moving_taken: "the same changes, while they are read",
  notice: "only for running nodes: a node that starts reads everything that is due",
};

/** Facts that are moved, by their names in `meta`. */
export const FACTS = [
  "key_id",
  "key_check",
  "marks",
  "last_instant",
  "young",
  "quick_deaths",
  "pause",
  "responses_forgotten",
  "last_choice",
] as const;
export type Facts = Partial<Record<(typeof FACTS)[number], string>>;

/** Facts that only one kind of store has. */
export const OWN_FACTS: Readonly<Record<string, string>> = {
  schema: "each store has its own",
  steps: "how far a migration has got",
  types_revision: "each store counts its own changes",
  fresh_from: "set anew",
  typed_from: "in a new file, all events are indexed by type",
  causes_noted: "set anew",
  first_responses_forgotten: "converted from and to responses_forgotten",
  last_backup: "PostgreSQL has its own backups",
  damage: "about the file that was repaired",
  copied_at: "only in a backup, which is not moved",
  sealed_key: "only in a backup, which is not moved",
  moving_in: "how far a copy has got",
  moving_out: "which list holds the changes while a store is moved",
  moving_indexes: "the indexes to build once a copy is complete",
  moved: "where the store went",
};

/**
 * Returns the place of the slower of two walks. Each place is the key of the attempt up to which responses have been
 * removed.
 */
export function slowerOf(...walks: readonly (string | undefined)[]): string {
  const places = walks.map((text = "-1,-1,-1") => {
    const [event, endpoint, number = -1] = text.split(",").map(Number);
    return [event!, endpoint!, number];
  });
  const [one, other] = places as [number[], number[]];
  const at = one.findIndex((value, index) => value !== other[index]);
  return (at === -1 || one[at]! < other[at]! ? one : other).join();
}
