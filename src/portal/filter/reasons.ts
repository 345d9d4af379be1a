/** Says in words what a filter asks for, and why it takes an event or leaves it out. */
import type { Decision } from "../../domain/events/filter/evaluate.ts";
import type { FilterDocument } from "../../domain/events/filter/filter.ts";
import { excerptOf } from "../../domain/json/excerpt.ts";
import type { FilterReading } from "./draft.ts";
import { operatorOf } from "./operators.ts";
import { read, type Row } from "./rows.ts";
import { t } from "../language/text.ts";

const MOST_SHOWN = 60;

/** Returns the conditions as one sentence without its end; null if rows cannot say what the filter says. */
export function filterText(document: FilterDocument): string | null {
  const found = read(document);
  const between = found?.join === "all" ? t("filter.and") : t("filter.or");
  return found && found.rows.map(conditionText).join(between);
}

function conditionText({ path, operator, value }: Row): string {
  const { words, takes } = operatorOf(operator);
  const name = nameOf(path);
  if (takes === "nothing") return t("filter.conditionAlone", { name, words: t(words) });
  return t("filter.condition", { name, words: t(words), value: value.trim() });
}

function nameOf(path: readonly string[]): string {
  if (path.length === 1) return path[0] === "type" ? t("filter.theType") : path[0]!;
  return path.slice(path[0] === "data" ? 1 : 0).join(".");
}

/** Names the value that a condition found, and what it must be if that is not so. */
export function reasonText(decision: Decision, rows: readonly Row[], pointers: FilterReading["pointers"]): string {
  const { pointer, path, found, holds } = decision;
  const tokens = path.slice(1).split("/");
  const name = nameOf(tokens.map((token) => token.replaceAll("~1", "/").replaceAll("~0", "~")));
  const is =
    found === undefined
      ? t("filter.isMissing", { name })
      : t("filter.is", { name, found: excerptOf(found, MOST_SHOWN) });
  if (holds) return is;
  const row = rows[pointers.indexOf(pointer)];
  if (row === undefined) return t("filter.isAt", { is, pointer });
  const must = t(operatorOf(row.operator).must, { value: row.value.trim() });
  return t("filter.butMust", { is, must });
}
