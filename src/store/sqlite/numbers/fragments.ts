/** Fragments of SQL that several statements share. */
import { FRESH } from "../../rows/codes.ts";

/** SQL for the lowest event that may have a fresh delivery. Beyond it, no index finds the fresh ones. */
export const FRESH_FROM = "(SELECT value FROM meta WHERE name = 'fresh_from')";
/** SQL that is true if `event` and `status` belong to a fresh delivery. */
export const IS_FRESH = `event >= ${FRESH_FROM} AND status = ${FRESH}`;

/** SQL for the data of an event, for queries that read `event` while the data is in a separate row. */
export const LARGE_DATA = "(SELECT data FROM large_data WHERE num = large)";
