/**
 * The secrets of an endpoint, and how one takes over from another: `interface.md` §5. The switch is a commit of its own
 * that nothing takes back, so that signing needs no clock.
 */
import type { Database, Statement } from "better-sqlite3";
import type { NextSecret, SigningSecrets } from "../../domain/endpoint.ts";
import type { Rotation as Rotated } from "../store.ts";
import type { Box } from "./box.ts";
import type { EndpointIndex } from "./endpoint-index.ts";
import type { Interned } from "./interned.ts";

interface Row {
  readonly id: string;
  readonly tenant: number;
  readonly secret: string;
  readonly next_secret: string | null;
  readonly switches_at: number | null;
}

/** Where a secret is sealed for: as `next` it does not open in the place of the current one. */
export const secretPlace = (endpoint: string): string => `${endpoint}:secret`;
export const nextSecretPlace = (endpoint: string): string => `${endpoint}:next_secret`;

export class Rotation {
  readonly #tenants: Interned;
  readonly #index: EndpointIndex;
  readonly #box: Box;
  readonly #select: Statement<[string], Row>;
  readonly #due: Statement<[number, number], Row>;
  readonly #setNext: Statement<[string | null, number | null, string]>;
  readonly #switch: Statement<[string, string]>;

  constructor(db: Database, parts: { tenants: Interned; index: EndpointIndex; box: Box }) {
    this.#tenants = parts.tenants;
    this.#index = parts.index;
    this.#box = parts.box;
    const select = "SELECT id, tenant, secret, next_secret, switches_at FROM endpoint";
    this.#select = db.prepare(`${select} WHERE id = ? AND deleted_at IS NULL`);
    this.#due = db.prepare(`${select} WHERE switches_at <= ? ORDER BY switches_at LIMIT ?`);
    this.#setNext = db.prepare("UPDATE endpoint SET next_secret = ?, switches_at = ? WHERE id = ?");
    this.#switch = db.prepare(
      `UPDATE endpoint SET secret = ?, secret_version = secret_version + 1, next_secret = NULL, switches_at = NULL
       WHERE id = ?`,
    );
  }

  secrets(tenant: string | null, id: string): SigningSecrets | null {
    const row = this.#find(tenant, id);
    return row === null ? null : { current: this.#box.open(row.secret, secretPlace(id)), next: this.#next(row) };
  }

  begin(tenant: string | null, id: string, next: NextSecret, now: number): Rotated {
    const row = this.#find(tenant, id);
    if (row === null) return { result: "not_found" };
    if (row.next_secret !== null) return { result: "rotation_in_progress" };
    if (next.switchesAt <= now) this.#takeOver(row, next.secret);
    else this.#setNext.run(this.#box.seal(next.secret, nextSecretPlace(id)), next.switchesAt, id);
    return this.#done(id);
  }

  complete(tenant: string | null, id: string): Rotated {
    return this.#end(tenant, id, (row, next) => this.#takeOver(row, next.secret));
  }

  abandon(tenant: string | null, id: string): Rotated {
    return this.#end(tenant, id, () => this.#setNext.run(null, null, id));
  }

  isDue(now: number): boolean {
    return this.#due.get(now, 1) !== undefined;
  }

  /** The endpoints whose next secret took over. */
  switchDue(now: number, limit: number): string[] {
    const rows = this.#due.all(now, limit);
    for (const row of rows) this.#takeOver(row, this.#next(row)!.secret);
    return rows.map(({ id }) => id);
  }

  #find(tenant: string | null, id: string): Row | null {
    const row = this.#select.get(id);
    if (row === undefined) return null;
    return tenant === null || this.#tenants.name(row.tenant) === tenant ? row : null;
  }

  #next({ id, next_secret, switches_at }: Row): NextSecret | null {
    if (next_secret === null || switches_at === null) return null;
    return { secret: this.#box.open(next_secret, nextSecretPlace(id)), switchesAt: switches_at };
  }

  #end(tenant: string | null, id: string, end: (row: Row, next: NextSecret) => void): Rotated {
    const row = this.#find(tenant, id);
    if (row === null) return { result: "not_found" };
    const next = this.#next(row);
    if (next === null) return { result: "not_rotating" };
    end(row, next);
    return this.#done(id);
  }

  #takeOver({ id, tenant }: Row, secret: string): void {
    this.#switch.run(this.#box.seal(secret, secretPlace(id)), id);
    this.#index.changed(this.#tenants.name(tenant), id);
  }

  #done(id: string): Rotated {
    return { result: "done", secrets: this.secrets(null, id)! };
  }
}
