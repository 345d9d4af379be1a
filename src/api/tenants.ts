/** Whose endpoints and events there are. An admin of one tenant sees that one alone. */
import { listTenants } from "./operations/daemon.ts";
import type { ApiParts } from "./parts.ts";
import { linkTo, PAGE_PARAMETERS, pageOf } from "./pipeline/lists.ts";
import { json, type Call, type Reply, type Route } from "./pipeline/route.ts";
import { namedTenant, tenantToRead } from "./pipeline/access.ts";

const PATH = "/v1/tenants";

export function tenantRoutes({ store }: ApiParts): Route[] {
  async function list({ principal, query }: Call): Promise<Reply> {
    const page = await store.reads.listTenants(pageOf(query, tenantToRead(principal, namedTenant(query))));
    const data = page.data.map(({ name, endpoints }) => ({ name, endpoints }));
    return json(200, { data, next_cursor: page.nextCursor }, linkTo(PATH, query, page.nextCursor));
  }

  return [{ method: "GET", path: PATH, access: "admin", query: PAGE_PARAMETERS, operation: listTenants, handle: list }];
}
