/** The choices of endpoints: which events each received, from one change to the next. */
import { type ChoiceChange, type ChoiceThen, KEPT_CHOICES } from "../../../domain/endpoints/choice.ts";
import {
  CHOICE_COLUMNS,
  choiceThen,
  type ChoiceRow,
  FIRST_NEEDED,
  insertChoice,
  IS_SAME_CHOICE,
  LAST_CHOICE,
} from "../../rows/choice-row.ts";
import type { Queries } from "../engine/database.ts";
import { CHUNK } from "../engine/engine.ts";

/** Changes on different nodes happen one after the other from here on, so that they are counted as they are committed. */
const COUNT = `INSERT INTO meta (name, value) VALUES ('${LAST_CHOICE}', '1')
  ON CONFLICT (name) DO UPDATE SET value = (meta.value::bigint + 1)::text RETURNING value`;

/** SQL for the last change that a statement sees. */
export const LAST_SEEN = `coalesce((SELECT value::bigint FROM meta WHERE name = '${LAST_CHOICE}'), 0)`;

/**
 * Call it at the end of the transaction that changed the endpoint's row, because others wait from here on. It does
 * nothing if the choice is still the same.
 */
export async function noteChoice(tx: Queries, endpoint: number, change: ChoiceChange, now: number): Promise<void> {
  const same = `SELECT 1 FROM choice c JOIN endpoint e ON e.number = c.endpoint
    WHERE c.endpoint = $1 AND c.until IS NULL AND ${IS_SAME_CHOICE}`;
  if (change === "changed" && (await tx.rows(same, [endpoint])).length > 0) return;
  const [counted] = await tx.rows<{ value: string }>(COUNT);
  const num = Number(counted!.value);
  await tx.change("UPDATE choice SET until = $1 WHERE endpoint = $2 AND until IS NULL", [num, endpoint]);
  const added = insertChoice(["$1::bigint", "$2::text", "$3::bigint", "$4"]);
  await tx.change(added, [num, change, now, endpoint]);
  await tx.change(
    `DELETE FROM choice WHERE endpoint = $1 AND num <
       (SELECT num FROM choice WHERE endpoint = $1 ORDER BY num DESC LIMIT 1 OFFSET ${KEPT_CHOICES - 1})`,
    [endpoint],
  );
}

/**
 * Returns the endpoint's choice for an event whose publish saw that change. If several nodes publish, a publish may
 * have waited for a change and seen only a part of it.
 */
export async function choiceAt(
  queries: Queries,
  endpoint: number,
  seen: number,
  takesTurns: boolean,
): Promise<ChoiceThen> {
  const rows = await queries.rows<ChoiceRow>(
    `SELECT ${CHOICE_COLUMNS} FROM choice WHERE endpoint = $1 AND (until IS NULL OR until > $2::bigint)
     ORDER BY num LIMIT 2`,
    [endpoint, seen],
  );
  return choiceThen(rows, seen, takesTurns);
}

/** Removes at most 500 choices that no event needs any more. */
export function pruneChoices(tx: Queries): Promise<number> {
  return tx.change(
    `DELETE FROM choice WHERE (endpoint, num) IN (
       SELECT endpoint, num FROM choice WHERE until IS NOT NULL AND until <= coalesce(${FIRST_NEEDED}, until)
       ORDER BY until LIMIT ${CHUNK})`,
  );
}
