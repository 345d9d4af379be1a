/** The verbs of the store, by noun: each takes what it needs of what it stands on. */
import type { Database } from "better-sqlite3";
import { AttemptLists } from "./attempt-lists.ts";
import { Audit } from "./audit.ts";
import { Census } from "./census.ts";
import { Failures } from "./failures.ts";
import type { Foundation } from "./foundation.ts";
import { Health } from "./health.ts";
import { Held } from "./held.ts";
import { Jobs } from "./jobs.ts";
import { Operations } from "./operations.ts";
import type { SqliteStoreOptions } from "./options.ts";
import { Prune } from "./prune.ts";
import { Reads } from "./reads.ts";
import { Registry } from "./registry.ts";
import { Replay } from "./replay.ts";
import { Rotation } from "./rotation.ts";
import type { Rows } from "./rows.ts";
import { ShiftDue } from "./shift.ts";
import { Statistics } from "./statistics.ts";
import { AuditVerbs } from "./verbs/audit.ts";
import { CarefulVerbs } from "./verbs/careful.ts";
import { ClockVerbs } from "./verbs/clock.ts";
import { DeliveryVerbs } from "./verbs/deliveries.ts";
import { IdempotencyVerbs } from "./verbs/idempotency.ts";
import { KeyVerbs } from "./verbs/keys.ts";
import { ManualVerbs } from "./verbs/manual.ts";
import { PublishVerbs } from "./verbs/publish.ts";
import { RetentionVerbs } from "./verbs/retention.ts";
import { RotationVerbs } from "./verbs/rotation.ts";
import { Withdraw } from "./withdraw.ts";

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
