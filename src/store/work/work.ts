/**
 * Work that both stores do alike. It is written once, as a generator that yields what it needs from the store; SQLite
 * answers at once, and PostgreSQL when its server has. Work that runs for every event is written for each store instead.
 */
import type { Once } from "../../domain/events/idempotency.ts";
import type { Box } from "../rows/box.ts";

/** A tenant in rows: its number, or its name. */
export type TenantKey = number | string;

export type Ask =
  /** Values stand for `$1` and so on. */
  | { readonly sql: string; readonly values: readonly unknown[]; readonly reads: boolean }
  /** Finds what stands for a tenant; `add` gives it a row if it has none. */
  | { readonly tenant: string; readonly add: boolean }
  /** These endpoints of a tenant were changed, so what is known of them must be read again. */
  | { readonly changed: readonly string[]; readonly tenant: string };

/** The answer: rows, the number of rows that changed, or what stands for the tenant. */
export type Answer = readonly object[] | number | TenantKey | undefined;
export type Work<T> = Generator<Ask, T, Answer>;

/** Reads rows. */
export function* rowsOf<Row extends object>(sql: string, ...values: readonly unknown[]): Work<readonly Row[]> {
  return (yield { sql, values, reads: true }) as readonly Row[];
}

/** Changes rows, and returns their number. */
export function* change(sql: string, ...values: readonly unknown[]): Work<number> {
  return (yield { sql, values, reads: false }) as number;
}

/** Returns undefined for a tenant that nobody has named yet. */
export function* tenantKey(tenant: string): Work<TenantKey | undefined> {
  return (yield { tenant, add: false }) as TenantKey | undefined;
}

export function* addedTenant(tenant: string): Work<TenantKey> {
  return (yield { tenant, add: true }) as TenantKey;
}

export function* changed(tenant: string, endpoints: readonly string[]): Work<void> {
  yield { tenant, changed: endpoints };
}

/** A store, as this work sees it. Work that commits may be begun twice. */
export interface Workplace {
  readonly box: Box;
  /** SQL that locks the rows of a query until the commit, if another process may change them. */
  readonly lock: "" | "FOR UPDATE";
  /** A key below that of every tenant. */
  readonly firstTenant: TenantKey;
  /** SQL for the name of the tenant in a column. */
  readonly tenantName: (column: string) => string;
  read<T>(begin: () => Work<T>): Promise<T>;
  commit<T>(begin: () => Work<T>): Promise<T>;
  /** Commits once for each idempotency key. */
  commitOnce<T>(once: Once<T> | undefined, now: number, begin: () => Work<T>): Promise<T>;
}
