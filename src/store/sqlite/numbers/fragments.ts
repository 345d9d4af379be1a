/** Pieces of SQL that several statements share. */
import { FRESH } from "../../rows/codes.ts";

/** In SQL: no delivery of an event before it is fresh, and no index says which of those after it are. */
export const FRESH_FROM = "(SELECT value FROM meta WHERE name = 'fresh_from')";
/** In SQL: where `event` and `status` are a fresh delivery's. */
export const IS_FRESH = `event >= ${FRESH_FROM} AND status = ${FRESH}`;

/** In SQL, where `event` is read: its data, if that is in a row of its own. */
export const LARGE_DATA = "(SELECT data FROM large_data WHERE num = large)";
