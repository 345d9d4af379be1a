/** Reads `[[outbox]]`: the tables of applications that are read for events. */
import {
  COLUMN,
  DEFAULT_TABLE,
  OUTBOX_NAME,
  TABLE,
  type OutboxDatabase,
  type OutboxSettings,
  type OutboxTenant,
} from "../domain/outbox/outbox.ts";
import { isTenant, DEFAULT_TENANT } from "../domain/id.ts";
import { ALERT_TENANT } from "../domain/alert.ts";
import { KINDS, readOr, ValueFault } from "./kinds.ts";
import type { Mistake } from "./mistake.ts";
import { isTable, notSections, unknownField, type Table, type Where } from "./tables.ts";

export const OUTBOX = "outbox";

const SECTION = `[[${OUTBOX}]]`;
const FIELDS = ["name", "url", "url_file", "sqlite", "table", "tenant", "tenant_column"] as const;
type Field = (typeof FIELDS)[number];
const PLACES = "url (PostgreSQL), url_file (a file with that URL) or sqlite (a file)";

/** Relative paths start from `folder`. */
export function readOutboxes(
  raw: unknown,
  where: Where,
  folder: string,
): { outboxes: readonly OutboxSettings[]; mistakes: readonly Mistake[] } {
  if (!Array.isArray(raw) || !raw.every(isTable)) {
    return { outboxes: [], mistakes: [notSections(OUTBOX, where([OUTBOX]))] };
  }
  const outboxes: OutboxSettings[] = [];
  const mistakes: Mistake[] = [];
  raw.forEach((table, index) => {
    const place = (key: string) => where([OUTBOX, String(index), ...(Object.hasOwn(table, key) ? [key] : [])]);
    const found = new Reading(table, place, folder);
    const outbox = found.outbox(outboxes);
    mistakes.push(...found.mistakes);
    if (outbox !== null && found.mistakes.length === 0) outboxes.push(outbox);
  });
  return { outboxes, mistakes };
}

/** Reads one section, and collects its mistakes. A value may hold a password, so no message shows one. */
class Reading {
  readonly mistakes: Mistake[] = [];
  readonly #table: Table;
  readonly #place: (key: string) => string;
  readonly #folder: string;

  constructor(table: Table, place: (key: string) => string, folder: string) {
    this.#table = table;
    this.#place = place;
    this.#folder = folder;
  }

  outbox(before: readonly OutboxSettings[]): OutboxSettings | null {
    for (const key of Object.keys(this.#table))
      if (!FIELDS.some((field) => field === key)) this.mistakes.push(unknownField(SECTION, key, FIELDS, this.#place));
    const name = this.#name(before);
    const database = this.#database();
    const table = this.#text("table", TABLE, 'a table such as "webhookd_outbox" or "app.webhookd_outbox"');
    const tenant = this.#tenant();
    if (name === null || database === null || tenant === null) return null;
    return { name, database, table: table ?? DEFAULT_TABLE, tenant };
  }

  #name(before: readonly OutboxSettings[]): string | null {
    const { name } = this.#table;
    if (typeof name !== "string" || !OUTBOX_NAME.test(name)) {
      this.#mistake(
        "name",
        'needs a name such as "shop", in lower case',
        "It identifies the rows that were published.",
      );
      return null;
    }
    if (!before.some((one) => one.name === name)) return name;
    this.#mistake("name", `name = "${name}" is used twice`);
    return null;
  }

  #database(): OutboxDatabase | null {
    const { url, url_file: urlFile, sqlite } = this.#table;
    const given = Object.entries({ url, url_file: urlFile, sqlite }).filter(([, value]) => value !== undefined);
    if (given.length !== 1) {
      const what = given.length === 0 ? "does not say where the outbox is" : "says more than once where the outbox is";
      this.#mistake(given[1]?.[0] ?? "name", what, `Give one of ${PLACES}.`);
      return null;
    }
    const [key] = given[0]!;
    const read = (): OutboxDatabase => {
      if (url !== undefined) {
        const address = KINDS.store.read(url, {}, "");
        if (address === "") throw new ValueFault('an address such as "postgres://webhookd@db1/shop"');
        return { kind: "postgres", url: address };
      }
      const file = KINDS.path.read(urlFile ?? sqlite, {}, this.#folder);
      if (file === "") throw new ValueFault("the path of a file");
      return urlFile === undefined ? { kind: "sqlite", file } : { kind: "postgres", urlFile: file };
    };
    return readOr(read, (wanted) => this.#mistake(key, `${key} is not ${wanted}`)) ?? null;
  }

  #tenant(): OutboxTenant | null {
    const { tenant, tenant_column: column } = this.#table;
    if (tenant !== undefined && column !== undefined) {
      this.#mistake("tenant_column", "has both tenant and tenant_column", "Leave one of them out.");
      return null;
    }
    if (column !== undefined) {
      const read = this.#text("tenant_column", COLUMN, 'a column such as "tenant"');
      return read === null ? null : { column: read };
    }
    if (tenant === undefined) return { name: DEFAULT_TENANT };
    if (typeof tenant === "string" && isTenant(tenant) && tenant !== ALERT_TENANT) return { name: tenant };
    this.#mistake("tenant", 'tenant is not the name of a tenant such as "acme"');
    return null;
  }

  /** Returns null if the field is absent or wrong. */
  #text(key: Field, pattern: RegExp, wanted: string): string | null {
    const value = this.#table[key];
    if (value === undefined) return null;
    if (typeof value === "string" && pattern.test(value)) return value;
    this.#mistake(key, `${key} is not ${wanted}`);
    return null;
  }

  #mistake(key: string, what: string, todo?: string): void {
    this.mistakes.push({ where: this.#place(key), what: `${SECTION} ${what}.`, ...(todo !== undefined && { todo }) });
  }
}
