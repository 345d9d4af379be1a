/** Whose endpoints and events there are. An admin of one tenant sees that one alone. */
import * as v from "valibot";
import type { ApiParts } from "../parts.ts";
import { namedTenant, tenantToRead } from "../pipeline/access.ts";
import { linkTo, PAGE_PARAMETERS, pageOf } from "../pipeline/lists.ts";
import { type Call, type Route, type Operation } from "../pipeline/route.ts";
import { json, type Reply } from "../pipeline/reply.ts";
import { titled, Tenant, described, Count, pageSchema, aPageOf } from "../pipeline/shapes.ts";

export const TenantSummary = titled(
  "TenantSummary",
  v.object({ name: Tenant, endpoints: described(Count, "How many it has, without deleted ones.") }),
);

export const TenantPage = pageSchema(TenantSummary);
export const aTenant = { name: "default", endpoints: 3 };

export const listTenants: Operation = {
  id: "listTenants",
  tag: "Daemon",
  summary: "List tenants",
  description: "Every tenant for which something was ever registered or published.",
  replies: {
    200: { description: "A page of them.", schema: TenantPage, example: aPageOf(aTenant), headers: ["link"] },
  },
};

const PATH = "/v1/tenants";

export function tenantRoutes({ store }: ApiParts): Route[] {
  async function list({ principal, query }: Call): Promise<Reply> {
    const page = await store.reads.listTenants(pageOf(query, tenantToRead(principal, namedTenant(query))));
    const data = page.data.map(({ name, endpoints }) => ({ name, endpoints }));
    return json(200, { data, next_cursor: page.nextCursor }, linkTo(PATH, query, page.nextCursor));
  }

  return [{ method: "GET", path: PATH, access: "admin", query: PAGE_PARAMETERS, operation: listTenants, handle: list }];
}
