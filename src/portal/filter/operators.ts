/** The comparisons that a row offers, in words, and the operators that they are in a filter. */

/**
 * The kind of a field's values. An amount is a text such as `512.40`, which can be more or less than a number. An
 * instant is a text that sorts by time.
 */
export type Kind = "number" | "amount" | "text" | "instant" | "boolean";

export interface Operator {
  /** The name in a filter. */
  readonly name: string;
  /** Two comparisons may share a name: `$in` takes a list, or a part of a text. */
  readonly id: string;
  /** Completes "amount …". */
  readonly words: string;
  /** Completes "amount is 250, but must …". */
  readonly must: string;
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
  { id: "gt", name: "$gt", words: "is more than", must: "be more than", ...NUMBERS },
  { id: "gte", name: "$gte", words: "is at least", must: "be at least", ...NUMBERS },
  { id: "lt", name: "$lt", words: "is less than", must: "be less than", ...NUMBERS },
  { id: "lte", name: "$lte", words: "is at most", must: "be at most", ...NUMBERS },
  { id: "after", name: "$gt", words: "is after", must: "be after", takes: "value", kinds: ["instant"] },
  { id: "from", name: "$gte", words: "is at or after", must: "be at or after", takes: "value", kinds: ["instant"] },
  { id: "before", name: "$lt", words: "is before", must: "be before", takes: "value", kinds: ["instant"] },
  { id: "to", name: "$lte", words: "is at or before", must: "be at or before", takes: "value", kinds: ["instant"] },
  { id: "eq", name: "$eq", words: "is", must: "be", takes: "value", kinds: ANY },
  { id: "neq", name: "$neq", words: "is not", must: "not be", takes: "value", kinds: ANY },
  { id: "in", name: "$in", words: "is one of", must: "be one of", takes: "list", kinds: NAMED },
  { id: "nin", name: "$nin", words: "is none of", must: "be none of", takes: "list", kinds: NAMED },
  { id: "contains", name: "$in", words: "contains", must: "contain", takes: "value", kinds: TEXTS },
  { id: "lacks", name: "$nin", words: "does not contain", must: "not contain", takes: "value", kinds: TEXTS },
  { id: "starts", name: "$startsWith", words: "begins with", must: "begin with", takes: "value", kinds: TEXTS },
  { id: "ends", name: "$endsWith", words: "ends with", must: "end with", takes: "value", kinds: TEXTS },
  { id: "there", name: "$exist", words: "is there", must: "be there", takes: "nothing", operand: true, kinds: ANY },
  {
    id: "missing",
    name: "$exist",
    words: "is missing",
    must: "be missing",
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
