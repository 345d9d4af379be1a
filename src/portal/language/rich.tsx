/** Returns a text of the catalogue with elements in it. */
import { Fragment, type ReactNode } from "react";
import type { Key, Marks, Places } from "./catalogue.ts";
import { formOf, languageNow, written } from "./text.ts";

/** A value for each place, and a function for each mark, which makes an element of the text within. */
type Values<K extends Key> = { readonly [Name in Places<K>]: ReactNode } & {
  readonly [Name in Marks<K>]: (within: ReactNode) => ReactNode;
};

export function rich<K extends Key>(key: K, values: Values<K>): ReactNode {
  const given = values as Readonly<Record<string, Value>>;
  return nodesOf(formOf(languageNow().texts[key], given["count"]), given);
}

type Value = ReactNode | ((within: ReactNode) => ReactNode);

const PART = /\{(\w+)\}|<(\w+)>(.*?)<\/\2>/gs;

function nodesOf(text: string, given: Readonly<Record<string, Value>>): ReactNode[] {
  const nodes: ReactNode[] = [];
  let done = 0;
  for (const { 0: whole, 1: place, 2: mark, 3: within, index } of text.matchAll(PART)) {
    const value = given[(place ?? mark)!];
    const node = typeof value === "function" ? value(nodesOf(within ?? "", given)) : shown(value);
    nodes.push(text.slice(done, index), <Fragment key={index}>{node}</Fragment>);
    done = index + whole.length;
  }
  nodes.push(text.slice(done));
  return nodes;
}

function shown(value: ReactNode): ReactNode {
  return typeof value === "number" ? written(value) : value;
}

/** The marks of emphasis and of code, for `rich`. */
export const MARKS = {
  strong: (within: ReactNode) => <strong>{within}</strong>,
  code: (within: ReactNode) => <code>{within}</code>,
} as const;
