/** What reads and writes the rows of events, deliveries and attempts, for the verbs to share. */
import type { Database } from "better-sqlite3";
import { Attempts } from "./attempts/attempts.ts";
import { Deliveries } from "./deliveries/deliveries.ts";
import { Due } from "./claims/due.ts";
import { Endpoints } from "./endpoints/endpoints.ts";
import { Events } from "./events/events.ts";
import type { Foundation } from "./foundation.ts";
import { EventKeys, RandomChars } from "./numbers/ids.ts";
import type { SqliteStoreOptions } from "./engine/options.ts";
import { Pending } from "./events/pending.ts";
import { Publish } from "./events/publish.ts";
import { RecordAttempts } from "./deliveries/record.ts";
import { Responses } from "./attempts/responses.ts";
import { Sources } from "./attempts/sources.ts";
import { Started } from "./claims/started.ts";
import { Sweep } from "./endpoints/sweep.ts";

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
