/** Shows the list of any command: a table for people, or fields, ids or JSON for programs. */
import type { Client, Item, Listing, Query } from "../../src/client/client.ts";
import type { Page } from "../../src/client/operations.ts";
import { nearest } from "../../src/domain/nearest.ts";
import { printable } from "../../src/domain/printable.ts";
import { counted } from "../../src/domain/wording.ts";
import type { ArgsOf, LIST } from "../command.ts";
import { usage } from "../failure.ts";
import type { Io } from "../io.ts";
import { glyphsOf } from "./glyphs.ts";
import { note, say, sayJson } from "./print.ts";
import { sayColumns } from "./table.ts";
import { readCount } from "../values.ts";
import { ago, count, grouped } from "./words.ts";
import { Progress } from "./progress.ts";

export type ListArgs = Omit<ArgsOf<typeof LIST>, "url" | "socket" | "key-file" | "config">;

/** A field that can be shown, under its name in the API. */
export interface Field<T> {
  readonly name: string;
  /** The column's title. The default is the name in capitals. */
  readonly title?: string;
  readonly text: (item: T, now: number) => string;
  /** A shorter text for a narrow terminal. */
  readonly brief?: (item: T, now: number) => string;
  /** As in `Column`. A field that `--fields` names is never dropped. */
  readonly least?: number;
  readonly rank?: number;
  /** True to show it only if `--fields` names it. A function shows it also if it returns false for some item. */
  readonly hidden?: true | ((item: T) => boolean);
}

interface Shown<T> {
  readonly id: (item: T) => string;
  readonly fields: readonly Field<T>[];
  /** The command that creates the first item, shown if a list without filters is empty. */
  readonly first?: string;
  /** Fetches what the table shows in addition to the list itself. It is not called for programs. */
  readonly learn?: (items: readonly T[]) => Promise<void>;
}

const PAGE = 100;

/** Fetches as many items as `--limit` says, page by page, and shows them. */
export async function list<O extends Listing>(
  { client, operation, id, query }: { client: Client; operation: O; id?: string; query: Query },
  args: ListArgs,
  shown: Shown<Item<O>>,
  io: Io,
): Promise<void> {
  const known = chosen(shown.fields, args.fields);
  const limit = readCount(args.limit, "--limit", { min: 1, max: 1_000_000 });
  if (args.sort !== undefined && args.order !== undefined)
    throw usage("--order and --sort cannot be combined", "Use one of them.");
  const order = args.sort === undefined ? { order: args.order ?? "newest" } : { sort: args.sort };
  const items: Item<O>[] = [];
  let cursor: string | null | undefined = args.cursor;
  // The total is counted once. Output of ids and fields has nowhere to show it.
  let total: Total | undefined = args.ids || args.plain || query.data !== undefined ? {} : undefined;
  const search = query.data === undefined ? null : new Search(io);
  do {
    const wanted = Math.min(PAGE, limit - items.length);
    const asked = { ...query, ...order, limit: wanted, cursor, ...(total === undefined && { total: true }) };
    const page = (await client.call(operation, { ...(id !== undefined && { id }), query: asked })) as Page<Item<O>>;
    items.push(...page.data);
    cursor = page.next_cursor ?? null;
    total ??= { total: page.total, total_is: page.total_is };
    search?.show(page, items.length);
  } while (cursor !== null && items.length < limit);
  search?.end();
  if (!args.json && !args.ids) await shown.learn?.(items);
  const fields = known.filter((field) => isShown(field, items));
  const narrowed = args.cursor !== undefined || Object.entries(query).some(narrows);
  show({ items, cursor, total }, { ...args, fields }, narrowed ? { id: shown.id } : shown, io);
}

/** Shows a list that the daemon returns whole, after the command has chosen from it. */
export function listWhole<T>(
  items: readonly T[],
  args: Pick<ListArgs, "fields" | "ids" | "plain" | "json">,
  { id, fields }: Pick<Shown<T>, "id" | "fields">,
  io: Io,
): void {
  const known = chosen(fields, args.fields).filter((field) => isShown(field, items));
  show({ items, cursor: null, total: {} }, { ...args, fields: known }, { id }, io);
}

function isShown<T>({ hidden }: Field<T>, items: readonly T[]): boolean {
  return typeof hidden !== "function" || !items.every((item) => hidden(item));
}

/** `include` chooses what is shown of each item, not which items. */
function narrows([name, value]: [string, unknown]): boolean {
  return value !== undefined && name !== "include";
}

/** Shows on a terminal how far a search through events' data has got. */
class Search {
  readonly #io: Io;
  readonly #progress: Progress | null;
  #events = 0;

  constructor(io: Io) {
    this.#io = io;
    this.#progress = io.stderr.isTTY ? new Progress(io) : null;
  }

  show({ searched }: Page<unknown>, found: number): void {
    if (searched === undefined) return;
    this.#events += searched.events;
    const { until } = searched;
    const reached = until === null ? "" : `, as far as ${ago(until, this.#io.now())}`;
    this.#progress?.show(`${found} found in ${counted(this.#events, "event", "events")}${reached}`);
  }

  end(): void {
    this.#progress?.end();
    if (this.#progress !== null) note(this.#io, `Searched the data of ${count(this.#events, "event", "events")}.`);
  }
}

type Total = Pick<Page<unknown>, "total" | "total_is">;

interface Listed<T> {
  readonly items: readonly T[];
  readonly cursor: string | null;
  readonly total: Total;
}

function show<T>(
  { items, cursor, total }: Listed<T>,
  { fields, ids, plain, json }: { fields: readonly Field<T>[] } & Pick<ListArgs, "ids" | "plain" | "json">,
  { id, first }: Pick<Shown<T>, "id" | "first">,
  io: Io,
): void {
  const row = (item: T) => fields.map(({ text }) => text(item, io.now()));
  let omitted: readonly string[] = [];
  if (json) sayJson(io, { data: items, next_cursor: cursor, ...total });
  else if (ids) for (const item of items) say(io, id(item));
  else if (plain) {
    for (const cells of [fields.map(({ name }) => name), ...items.map(row)]) {
      io.stdout.write(`${cells.map((cell) => printable(cell)).join("\t")}\n`);
    }
  } else if (items.length > 0) {
    const columns = fields.map(({ name, title, text, brief, least, rank }) => ({
      title: title ?? name.toUpperCase().replaceAll("_", " "),
      cells: items.map((item) => text(item, io.now())),
      ...(brief && { brief: items.map((item) => brief(item, io.now())) }),
      ...(least !== undefined && { least }),
      ...(rank !== undefined && { rank }),
    }));
    omitted = sayColumns(io, columns);
  }
  if (json) return;
  if (items.length === 0)
    note(io, first === undefined ? "Nothing matches." : `There are none yet. To create the first: ${first}`);
  if (cursor !== null) note(io, `${items.length}${ofAll(total, io)} shown. For more: --cursor ${cursor}`);
  if (omitted.length > 0) note(io, `Not shown in ${io.stdout.columns} columns: ${omitted.join(", ")}.`);
}

function ofAll({ total, total_is: is }: Total, io: Io): string {
  if (total === undefined) return "";
  return is === "at_least" ? ` of ${glyphsOf(io).least} ${grouped(total)}` : ` of ${grouped(total)}`;
}

function chosen<T>(fields: readonly Field<T>[], names: string | undefined): readonly Field<T>[] {
  if (names === undefined) return fields.filter(({ hidden }) => hidden !== true);
  const known = fields.map(({ name }) => name);
  return names.split(",").map((name) => {
    const field = fields.find((one) => one.name === name.trim());
    if (field !== undefined) {
      const { hidden: _, ...rest } = field;
      return { ...rest, rank: Number.POSITIVE_INFINITY };
    }
    const near = nearest(name, known);
    const hint = near === null ? `The fields are ${known.join(", ")}.` : `Did you mean ${near}?`;
    throw usage(`there is no field "${name}"`, hint);
  });
}
