/** Describes what a start finds on a rebuilt disk, and checks that everything acknowledged before the cut is there. */
import Database from "better-sqlite3";
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import type { Expectation, Promised, Verdict } from "./promises.ts";

export interface Contents {
  /** The description of each endpoint, by id. */
  readonly endpoints: ReadonlyMap<string, string | null>;
  readonly keys: ReadonlySet<string>;
  /** The names of complete backups. */
  readonly backups: ReadonlySet<string>;
  readonly events: ReadonlyMap<string, readonly DeliveryThere[]>;
  /** The deliveries that would be sent, with the SHA-256 of their bodies. Null if a daemon sends them. */
  readonly pending: ReadonlyMap<string, string> | null;
}

export interface DeliveryThere {
  readonly id: string;
  readonly status: string;
}

export function judge(
  contents: Contents,
  { promised, succeeded }: Pick<Expectation, "promised" | "succeeded">,
): Verdict {
  const isKept = keptBy(contents, promised);
  const lost = promised.filter((one) => !isKept(one)).map((one) => JSON.stringify(one));
  const wrong: string[] = [];
  const answered = new Set(succeeded);
  for (const { id, status } of deliveriesOf(contents)) {
    if (status === "delivered" && !answered.has(id)) wrong.push(`${id} is delivered, and nobody answered 2xx`);
  }
  return { lost, wrong: [...wrong, ...wronglyPending(contents, promised)] };
}

/** The waiting deliveries must be those shown as pending, with the bytes that were published. */
function wronglyPending({ events, pending: stored }: Contents, promised: readonly Promised[]): string[] {
  if (stored === null) return [];
  const bodies = new Map(promised.flatMap((one) => (one.kind === "event" ? [[one.id, one.body] as const] : [])));
  const wrong: string[] = [];
  const pending = new Set<string>();
  for (const [event, deliveries] of events) {
    for (const { id, status } of deliveries) {
      if (status !== "pending") continue;
      pending.add(id);
      const body = stored.get(id);
      if (body === undefined) wrong.push(`${id} is pending, and would never be sent`);
      else if (body !== (bodies.get(event) ?? body)) wrong.push(`${id} would be sent with other bytes`);
    }
  }
  for (const id of stored.keys()) if (!pending.has(id)) wrong.push(`${id} would be sent, and is not pending`);
  return wrong;
}

function keptBy(contents: Contents, promised: readonly Promised[]): (one: Promised) => boolean {
  const { backups, endpoints, events, keys } = contents;
  const statuses = new Map(deliveriesOf(contents).map(({ id, status }) => [id, status]));
  const removed = new Set(promised.flatMap((one) => (one.kind === "removed" ? one.endpoint : [])));
  return (one) => {
    switch (one.kind) {
      case "endpoint":
        return endpoints.has(one.id) || removed.has(one.id);
      case "described":
        return removed.has(one.endpoint) || Number(endpoints.get(one.endpoint)) >= one.version;
      case "removed":
        return !endpoints.has(one.endpoint);
      case "key":
        return keys.has(one.id);
      case "backup":
        return backups.has(one.name);
      case "event":
        return events.get(one.id)?.length === one.deliveries;
      case "settled":
        return statuses.get(one.delivery) === one.status;
    }
  };
}

function deliveriesOf({ events }: Pick<Contents, "events">): DeliveryThere[] {
  return [...events.values()].flat();
}

export function wholeBackups(data: string): Set<string> {
  const dir = join(data, "backups");
  const names = existsSync(dir) ? readdirSync(dir) : [];
  return new Set(names.filter((name) => name.endsWith(".db") && isWhole(join(dir, name))));
}

function isWhole(file: string): boolean {
  const db = new Database(file, { readonly: true });
  try {
    return db.pragma("quick_check", { simple: true }) === "ok";
  } catch {
    return false;
  } finally {
    db.close();
  }
}
