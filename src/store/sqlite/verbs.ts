/** The verbs of the store, by noun: each takes what it needs of what it stands on. */
import type { Database } from "better-sqlite3";
import { AttemptLists } from "./reads/attempt-lists.ts";
import { Audit } from "./callers/audit.ts";
import { Census } from "./statistics/census.ts";
import { Failures } from "./statistics/failures.ts";
import type { Foundation } from "./foundation.ts";
import { Health } from "./endpoints/health.ts";
import { Held } from "./deliveries/held.ts";
import { Jobs } from "./jobs/jobs.ts";
import { Operations } from "./operations.ts";
import type { SqliteStoreOptions } from "./engine/options.ts";
import { Prune } from "./events/prune.ts";
import { Reads } from "./reads/reads.ts";
import { Registry } from "./endpoints/registry.ts";
import { Replay } from "./events/replay.ts";
import { Rotation } from "./secrets/rotation.ts";
import type { Rows } from "./rows.ts";
import { ShiftDue } from "./deliveries/shift.ts";
import { Statistics } from "./statistics/statistics.ts";
import { AuditVerbs } from "./callers/audit-store.ts";
import { CarefulVerbs } from "./deliveries/careful.ts";
import { ClockVerbs } from "./deliveries/clock.ts";
import { DeliveryVerbs } from "./deliveries/delivery-store.ts";
import { IdempotencyVerbs } from "./callers/idempotency-store.ts";
import { KeyVerbs } from "./callers/key-store.ts";
import { ManualVerbs } from "./events/manual-verbs.ts";
import { PublishVerbs } from "./events/event-store.ts";
import { RetentionVerbs } from "./events/retention.ts";
import { RotationVerbs } from "./secrets/secret-store.ts";
import { Withdraw } from "./events/withdraw.ts";

export type Verbs = ReturnType<typeof verbsOf>;

export function verbsOf(db: Database, base: Foundation, rows: Rows, options: SqliteStoreOptions) {
  const { index } = base;
  const parts = { ...base, ...rows };
  const registry = new Registry({ ...parts, health: new Health(db) });
  const statistics = new Statistics(parts);
  const jobs = new Jobs(db, parts);
  base.memories.push(jobs);
  const audit = new Audit(db);
  return {
    registry,
    statistics,
    jobs,
    rotation: new RotationVerbs({ ...base, rotation: new Rotation(db, { ...base, box: options.box }) }),
    publish: new PublishVerbs({ ...parts, statistics }),
    deliveries: new DeliveryVerbs({ ...parts, ...options, jobs, registry, statistics }),
    clock: new ClockVerbs({ ...base, shift: new ShiftDue(db, index) }),
    manual: new ManualVerbs({ ...parts, jobs, replay: new Replay(db, index), withdraw: new Withdraw(db, base) }),
    careful: new CarefulVerbs(parts),
    reads: new Reads({ ...parts, attempts: new AttemptLists(db, rows), audit }),
    failures: new Failures(db, parts),
    census: new Census(db, index),
    keys: new KeyVerbs(base),
    audit: new AuditVerbs({ ...base, audit }),
    idempotency: new IdempotencyVerbs(base),
    retention: new RetentionVerbs({ ...parts, held: new Held(db, rows.attempts), prune: new Prune(db), statistics }),
    operations: new Operations(db, { ...base, ...options, floorBytes: options.diskFloor }),
  };
}
