/** Says why a filter takes an event or leaves it out: the conditions that decided, with the values found. */
import type { Decision } from "../../domain/events/filter/evaluate.ts";
import { excerptOf } from "../../domain/json/excerpt.ts";
import type { FilterReading } from "./draft.ts";
import { operatorOf } from "./operators.ts";
import type { Row } from "./rows.ts";

const MOST_SHOWN = 60;

/** Names the value that a condition found, and what it must be if that is not so. */
export function reasonText(decision: Decision, rows: readonly Row[], pointers: FilterReading["pointers"]): string {
  const { pointer, path, found, holds } = decision;
  const value = found === undefined ? "missing" : excerptOf(found, MOST_SHOWN);
  const name =
    path === "/type" ? "the event type" : path.replace(/^\/data\//, "").slice(path.startsWith("/data/") ? 0 : 1);
  const is = `${name.replaceAll("/", ".").replaceAll("~1", "/").replaceAll("~0", "~")} is ${value}`;
  if (holds) return is;
  const row = rows[pointers.indexOf(pointer)];
  if (row === undefined) return `${is}, at ${pointer}`;
  const { must, takes } = operatorOf(row.operator);
  return `${is}, but must ${must}${takes === "nothing" ? "" : ` ${row.value.trim()}`}`;
}
