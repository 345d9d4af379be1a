/**
 * How many deliveries each tenant has pending, for `[limits] max_pending_per_tenant` and `[tenants.NAME] max_pending`.
 * Made only where there is such a limit: temporary triggers keep the counts with every change of a status, whoever makes it, in the same transaction. A
 * row is only ever deleted when it is settled.
 */
import type { Database, Statement } from "better-sqlite3";
import { WebhookdError } from "../../../domain/errors.ts";
import { IS_FRESH, WAITING } from "../numbers/codes.ts";

const COUNTS = `
  CREATE TEMP TABLE pending (tenant INTEGER PRIMARY KEY, deliveries INTEGER NOT NULL) STRICT;
  INSERT INTO pending
    SELECT e.tenant, sum(d.deliveries) FROM (
      SELECT endpoint, count(*) AS deliveries FROM delivery INDEXED BY delivery_waiting WHERE status = 1 GROUP BY endpoint
      UNION ALL
      SELECT endpoint, count(*) FROM delivery WHERE ${IS_FRESH} GROUP BY endpoint
    ) d JOIN endpoint e ON e.number = d.endpoint GROUP BY e.tenant;
  ${trigger("inserted", "INSERT", `new.status <= ${WAITING}`, "new", 1)}
  ${trigger("left", "UPDATE OF status", `old.status <= ${WAITING} AND new.status > ${WAITING}`, "old", -1)}
  ${trigger("back", "UPDATE OF status", `old.status > ${WAITING} AND new.status <= ${WAITING}`, "new", 1)}
`;

/** A caller who is refused asks again then: what is pending goes down with the attempts, not with the asking. */
const RETRY_AFTER_SECONDS = 10;

export class Pending {
  readonly #count: Statement<[number], number>;

  /** Not inside a transaction. Reads the index of all that is owed, once: about 0.1 s for a million deliveries. */
  constructor(db: Database) {
    db.exec(COUNTS);
    this.#count = db.prepare<[number], number>("SELECT deliveries FROM pending WHERE tenant = ?").pluck();
  }

  /** A refusal if the tenant would have more than its limit with these; 0 is no limit. */
  refusal(tenant: number, deliveries: number, limit: number): WebhookdError | null {
    const pending = this.#count.get(tenant) ?? 0;
    if (deliveries === 0 || limit === 0 || pending + deliveries <= limit) return null;
    const detail = `the tenant has ${pending} deliveries pending, and may have ${limit}; see [limits] max_pending_per_tenant and [tenants.NAME] max_pending`;
    return new WebhookdError("overloaded", detail, { retryAfterSeconds: RETRY_AFTER_SECONDS });
  }
}

function trigger(name: string, change: string, condition: string, row: "new" | "old", by: 1 | -1): string {
  return `CREATE TEMP TRIGGER pending_${name} AFTER ${change} ON main.delivery WHEN ${condition} BEGIN
    INSERT INTO pending VALUES ((SELECT tenant FROM endpoint WHERE number = ${row}.endpoint), ${by})
    ON CONFLICT (tenant) DO UPDATE SET deliveries = deliveries + ${by};
  END;`;
}
