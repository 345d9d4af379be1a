/** Fragments of SQL that several statements share. */
import { FRESH } from "../../rows/codes.ts";

/** SQL for the lowest event that may have a fresh delivery. No index finds the fresh ones among those after it. */
export const FRESH_FROM = "(SELECT value FROM meta WHERE name = 'fresh_from')";
/** SQL that is true if `event` and `status` belong to a fresh delivery. */
export const IS_FRESH = `event >= ${FRESH_FROM} AND status = ${FRESH}`;

/** SQL for the data of an event, where `event` is read and the data is in a row of its own. */
export const LARGE_DATA = "(SELECT data FROM large_data WHERE num = large)";
