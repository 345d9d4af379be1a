/** Conditions about the lines of ordering keys. Both stores read them with the same SQL. */

/** True if the endpoint `e` holds no key, whatever fails there. `holdsKey` decides the same for a delivery. */
export const FREED = "(e.ordering <> 'by_key' OR e.after_failure <> 'hold')";

/** Selects what holds a key, although its endpoint does not hold any now. */
export const FREED_KEYS = `SELECT h.ordering_key AS key, h.sequence, h.event, h.endpoint
  FROM held_key h JOIN endpoint e ON e.number = h.endpoint WHERE ${FREED} AND e.deleted_at IS NULL`;

/** True if every event of an ordering key is gone, so that its row may go too. */
export const IS_OVER = `seen < coalesce((SELECT min(key) FROM event), ${Number.MAX_SAFE_INTEGER})`;
