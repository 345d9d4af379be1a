import * as v from "valibot";
import { AUDIT_ACTIONS, type AuditRecord as StoredRecord } from "../../domain/caller.ts";
import { formatInstant } from "../../domain/time/instant.ts";
import type { ApiParts } from "../parts.ts";
import { callerOf, listParameters, listQuery, pageReply } from "../pipeline/lists.ts";
import { type Call, type Route, type Operation } from "../pipeline/route.ts";
import { type Reply } from "../pipeline/reply.ts";
import { Count, described, id, Instant, named, pageSchema, titled, aPageOf } from "../pipeline/shapes.ts";

export const AuditRecord = titled(
  "AuditRecord",
  v.object({
    at: Instant,
    actor: described(v.string(), "The key that was used, or `socket` for a call over the unix socket."),
    uid: described(
      v.nullable(Count),
      "The caller over the unix socket, as the kernel reports it; null for a key, or if the kernel cannot be asked.",
    ),
    user: described(v.nullable(v.string()), "The login name of that uid in /etc/passwd; null if there is none."),
    tenant: described(v.string(), "The tenant whose data the call concerned, or `*`."),
    action: described(
      named("AuditAction", v.picklist(AUDIT_ACTIONS)),
      "`endpoint.disable` and `endpoint.enable` are changes that set `enabled`, whatever else they changed; a refused one is an `endpoint.update`.",
    ),
    object: described(
      v.nullable(v.string()),
      "The id of the object, or the name of the event type; null for the daemon as a whole.",
    ),
    request_id: described(id("req"), "The first of these calls."),
    count: described(Count, "How many calls this entry stands for; more than 1 where calls of a kind were repeated."),
    last_at: described(Instant, "The last of these calls; the same as `at` if there is only one."),
    outcome: described(v.string(), "`ok`, `repeated` if the idempotency key had been used before, or the error code."),
  }),
);

export const AuditPage = pageSchema(AuditRecord);

export const anAuditRecord = {
  at: "2026-11-20T09:50:00.000Z",
  actor: "key_06fbqxv0d8r2s4t6v8w0x2y4z6",
  uid: null,
  user: null,
  tenant: "default",
  action: "endpoint.register",
  object: "ep_06fbqxvx8r4m8q2v6ng0c3kz7t",
  request_id: "req_06fbqxvx8q1r2s3t4v5w6x7y8z",
  count: 1,
  last_at: "2026-11-20T09:50:00.000Z",
  outcome: "ok",
};

export const listAudit: Operation = {
  id: "listAudit",
  tag: "Daemon",
  summary: "List who did what",
  description:
    "Every call that changed something or revealed a secret, including refused calls, but never their contents. Calls of a kind share an entry, with their `count`: of calls with the same key, action, object and outcome, the first three a minute have entries of their own, and the third counts the rest; if nothing is changed, as with `secret.read` or a repeated request, there is one entry an hour. For refused calls the object makes no difference, and one key's refused calls have at most thirty entries a minute.",
  replies: {
    200: {
      description: "A page of the audit log.",
      schema: AuditPage,
      example: aPageOf(anAuditRecord),
      headers: ["link"],
    },
  },
};

const PATH = "/v1/audit";
export function auditRoutes({ store }: ApiParts): Route[] {
  async function list(call: Call): Promise<Reply> {
    const page = await store.audit.list(listQuery("audit", call), callerOf(call));
    const items = page.data.map((item) => JSON.stringify(presentRecord(item)));
    return pageReply(PATH, call.query, page, items);
  }

  const query = listParameters("audit");
  return [{ method: "GET", path: PATH, access: "admin", query, operation: listAudit, handle: list }];
}

function presentRecord({ at, lastAt, requestId, outcome, count, ...entry }: StoredRecord) {
  const { actor, uid, user, tenant, action, object } = entry;
  const who = { at: formatInstant(at), actor, uid, user, tenant, action, object, request_id: requestId };
  return { ...who, count, last_at: formatInstant(lastAt), outcome };
}
