/** Reading who did what. */
import { AUDIT_ACTIONS, type AuditRecord } from "../domain/audit.ts";
import { formatInstant } from "../domain/instant.ts";
import { listAudit } from "./operations/daemon.ts";
import type { ApiParts } from "./parts.ts";
import { choiceParameter, instantParameter } from "./pipeline/query.ts";
import { linkTo, PAGE_PARAMETERS, pageOf } from "./pipeline/lists.ts";
import { json, type Call, type Reply, type Route } from "./pipeline/route.ts";
import { namedTenant, tenantToRead } from "./pipeline/access.ts";

const PATH = "/v1/audit";

const Action = choiceParameter("action", AUDIT_ACTIONS, "Calls of this kind alone.");
const Since = instantParameter("since", "Calls at or after this instant.");
const Until = instantParameter("until", "Calls before this instant.");

export function auditRoutes({ store }: ApiParts): Route[] {
  async function list({ principal, query }: Call): Promise<Reply> {
    const page = await store.audit.list({
      ...pageOf(query, tenantToRead(principal, namedTenant(query))),
      since: Since.read(query),
      until: Until.read(query),
      action: Action.read(query),
    });
    const answer = { data: page.data.map(presentRecord), next_cursor: page.nextCursor };
    return json(200, answer, linkTo(PATH, query, page.nextCursor));
  }

  const query = [...PAGE_PARAMETERS, Action, Since, Until];
  return [{ method: "GET", path: PATH, access: "admin", query, operation: listAudit, handle: list }];
}

function presentRecord({ at, actor, uid, user, tenant, action, object, requestId, outcome }: AuditRecord) {
  return { at: formatInstant(at), actor, uid, user, tenant, action, object, request_id: requestId, outcome };
}
