/** The comparisons that a row offers, in words, and the operators that they are in a filter. */

/**
 * The kind of a field's values. An amount is a text such as `512.40`, which can be more or less than a number. An
 * instant is a text that sorts by time.
 */
import type { PlainKey, WordKey } from "../language/catalogue.ts";

export type Kind = "number" | "amount" | "text" | "instant" | "boolean";

/** A text with a place for the value, if the comparison takes one. */
type MustKey = Extract<PlainKey, `operator.${string}Must`>;

export interface Operator {
  /** The name in a filter. */
  readonly name: string;
  /** Two comparisons may share a name: `$in` takes a list, or a part of a text. */
  readonly id: string;
  /** Completes "amount …". */
  readonly words: WordKey;
  /** Completes "amount is 250, but must …". */
  readonly must: MustKey;
  readonly takes: "value" | "list" | "nothing";
  /** True if it compares with a number, also where the field is an amount. */
  readonly isNumeric?: boolean;
  /** Its operand in a filter, if it takes nothing. */
  readonly operand?: boolean;
  readonly kinds: readonly Kind[];
}

const ANY: readonly Kind[] = ["number", "amount", "text", "instant", "boolean"];
const NAMED: readonly Kind[] = ["number", "amount", "text", "instant"];
const NUMBERS = { takes: "value", isNumeric: true, kinds: ["number", "amount"] } as const;
const TEXTS: readonly Kind[] = ["text", "instant"];

/** In the order in which they are offered. The first that fits a kind is the one that a new row has. */
export const OPERATORS: readonly Operator[] = [
  { id: "gt", name: "$gt", words: "operator.gt", must: "operator.gtMust", ...NUMBERS },
  { id: "gte", name: "$gte", words: "operator.gte", must: "operator.gteMust", ...NUMBERS },
  { id: "lt", name: "$lt", words: "operator.lt", must: "operator.ltMust", ...NUMBERS },
  { id: "lte", name: "$lte", words: "operator.lte", must: "operator.lteMust", ...NUMBERS },
  { id: "after", name: "$gt", words: "operator.after", must: "operator.afterMust", takes: "value", kinds: ["instant"] },
  { id: "from", name: "$gte", words: "operator.from", must: "operator.fromMust", takes: "value", kinds: ["instant"] },
  {
    id: "before",
    name: "$lt",
    words: "operator.before",
    must: "operator.beforeMust",
    takes: "value",
    kinds: ["instant"],
  },
  { id: "to", name: "$lte", words: "operator.to", must: "operator.toMust", takes: "value", kinds: ["instant"] },
  { id: "eq", name: "$eq", words: "operator.eq", must: "operator.eqMust", takes: "value", kinds: ANY },
  { id: "neq", name: "$neq", words: "operator.neq", must: "operator.neqMust", takes: "value", kinds: ANY },
  { id: "in", name: "$in", words: "operator.in", must: "operator.inMust", takes: "list", kinds: NAMED },
  { id: "nin", name: "$nin", words: "operator.nin", must: "operator.ninMust", takes: "list", kinds: NAMED },
  {
    id: "contains",
    name: "$in",
    words: "operator.contains",
    must: "operator.containsMust",
    takes: "value",
    kinds: TEXTS,
  },
  { id: "lacks", name: "$nin", words: "operator.lacks", must: "operator.lacksMust", takes: "value", kinds: TEXTS },
  {
    id: "starts",
    name: "$startsWith",
    words: "operator.starts",
    must: "operator.startsMust",
    takes: "value",
    kinds: TEXTS,
  },
  { id: "ends", name: "$endsWith", words: "operator.ends", must: "operator.endsMust", takes: "value", kinds: TEXTS },
  {
    id: "there",
    name: "$exist",
    words: "operator.there",
    must: "operator.thereMust",
    takes: "nothing",
    operand: true,
    kinds: ANY,
  },
  {
    id: "missing",
    name: "$exist",
    words: "operator.missing",
    must: "operator.missingMust",
    takes: "nothing",
    operand: false,
    kinds: ANY,
  },
];

export function operatorOf(id: string): Operator {
  return OPERATORS.find((one) => one.id === id)!;
}

export function operatorsFor(kind: Kind): readonly Operator[] {
  return OPERATORS.filter(({ kinds }) => kinds.includes(kind));
}
