/** Says in words what a filter asks for, and why it takes an event or leaves it out. */
import type { Decision } from "../../domain/events/filter/evaluate.ts";
import type { FilterDocument } from "../../domain/events/filter/filter.ts";
import { excerptOf } from "../../domain/json/excerpt.ts";
import type { FilterReading } from "./draft.ts";
import { operatorOf } from "./operators.ts";
import { read, type Row } from "./rows.ts";

const MOST_SHOWN = 60;

/** Returns the conditions as one sentence without its end; null if rows cannot say what the filter says. */
export function filterText(document: FilterDocument): string | null {
  const found = read(document);
  return found && found.rows.map(conditionText).join(found.join === "all" ? ", and " : ", or ");
}

function conditionText({ path, operator, value }: Row): string {
  const { words, takes } = operatorOf(operator);
  return `${nameOf(path)} ${words}${takes === "nothing" ? "" : ` ${value.trim()}`}`;
}

function nameOf(path: readonly string[]): string {
  if (path.length === 1) return path[0] === "type" ? "the event type" : path[0]!;
  return path.slice(path[0] === "data" ? 1 : 0).join(".");
}

/** Names the value that a condition found, and what it must be if that is not so. */
export function reasonText(decision: Decision, rows: readonly Row[], pointers: FilterReading["pointers"]): string {
  const { pointer, path, found, holds } = decision;
  const value = found === undefined ? "missing" : excerptOf(found, MOST_SHOWN);
  const tokens = path.slice(1).split("/");
  const is = `${nameOf(tokens.map((token) => token.replaceAll("~1", "/").replaceAll("~0", "~")))} is ${value}`;
  if (holds) return is;
  const row = rows[pointers.indexOf(pointer)];
  if (row === undefined) return `${is}, at ${pointer}`;
  const { must, takes } = operatorOf(row.operator);
  return `${is}, but must ${must}${takes === "nothing" ? "" : ` ${row.value.trim()}`}`;
}
