/** What reads and writes the rows of events, deliveries and attempts, for the verbs to share. */
import type { Database } from "better-sqlite3";
import { Attempts } from "./attempts.ts";
import { Deliveries } from "./deliveries.ts";
import { Due } from "./due.ts";
import { Endpoints } from "./endpoints.ts";
import { Events } from "./events.ts";
import type { Foundation } from "./foundation.ts";
import { EventKeys, RandomChars } from "./ids.ts";
import type { SqliteStoreOptions } from "./options.ts";
import { Pending } from "./pending.ts";
import { Publish } from "./publish.ts";
import { RecordAttempts } from "./record.ts";
import { Responses } from "./responses.ts";
import { Sources } from "./sources.ts";
import { Started } from "./started.ts";
import { Sweep } from "./sweep.ts";

export type Rows = ReturnType<typeof rowsOf>;

export function rowsOf(db: Database, base: Foundation, { box, maxPendingPerTenant, random }: SqliteStoreOptions) {
  const { index, manual, meta } = base;
  const endpoints = new Endpoints(db, { ...base, box });
  const lastKey = db.prepare<[], number | null>("SELECT max(key) FROM event").pluck().get() ?? 0;
  const ids = { keys: new EventKeys(lastKey), random: new RandomChars(random) };
  const pending = maxPendingPerTenant > 0 ? new Pending(db, maxPendingPerTenant) : null;
  const publish = new Publish(db, { ...base, ...ids, pending });
  const responses = new Responses(db, meta);
  const attempts = new Attempts(db, { ...base, responses });
  const due = new Due(db, index);
  const started = new Started(db, { meta, index, due, manual });
  const record = new RecordAttempts(db, { index, attempts, started, manual });
  const sources = new Sources(db);
  const deliveries = new Deliveries(db, { ...base, attempts, sources });
  const events = new Events(db, { ...base, attempts, deliveries, sources });
  return {
    attempts,
    deliveries,
    due,
    endpoints,
    events,
    publish,
    record,
    responses,
    started,
    sweep: new Sweep(db, index),
  };
}
