import { join } from "node:path";
import Database from "better-sqlite3";
import { expect, it } from "vitest";
import { AuditTrail } from "../../../src/api/pipeline/audit-trail.ts";
import { AUDIT_ACTIONS } from "../../../src/domain/caller.ts";
import { WebhookdError, type ErrorCode } from "../../../src/domain/errors.ts";
import { silentLog } from "../../../src/log.ts";
import { open, temporaryDirectory } from "../../store/stores.ts";

const MINUTE = 60_000;
const CODES: readonly ErrorCode[] = ["forbidden", "not_found", "validation_failed", "rate_limited"];
/** Of the 60,000 that 1,000 a second are; past the first few of a kind they make no difference. */
const CALLS_A_MINUTE = 500;

it("grows by less than 1 MiB in an hour of refused calls, whatever they ask for", async () => {
  const dir = temporaryDirectory();
  const store = await open({ dir });
  const trail = new AuditTrail(store, silentLog);
  const db = new Database(join(dir, "webhookd.db"), { readonly: true });
  const bytes = () =>
    Number(db.pragma("page_count", { simple: true })) * Number(db.pragma("page_size", { simple: true }));
  const before = bytes();
  const who = { keyId: `key_${"0".repeat(26)}`, tenant: "a".repeat(64), scopes: ["metrics"] } as const;
  const principal = { ...who, isPortal: false, endpoints: null, account: null };
  for (let minute = 0; minute < 60; minute++) {
    const calls = Array.from({ length: CALLS_A_MINUTE }, (_, at) => {
      const action = AUDIT_ACTIONS[at % AUDIT_ACTIONS.length]!;
      const code = CODES[Math.floor(at / AUDIT_ACTIONS.length) % CODES.length]!;
      const requestId = `req_${String(minute * CALLS_A_MINUTE + at).padStart(26, "0")}`;
      const object = () => `ep_${"0".repeat(26)}`;
      const act = { action, principal, peer: null, object, requestId, now: minute * MINUTE };
      return trail.keep(act, async () => {
        throw new WebhookdError(code, "refused");
      });
    });
    for (const each of await Promise.allSettled(calls)) expect(each.status).toBe("rejected");
  }
  expect(bytes() - before).toBeLessThan(1024 * 1024);
  db.close();
  await store.close();
});
