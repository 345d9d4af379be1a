/**
 * Returns the tenant of this name. Throws a Failure if there is none, because a mistyped name has no failures and would
 * look healthy.
 */
import type { Client } from "../../src/client/client.ts";
import type { Tenant } from "../../src/client/operations.ts";
import { nearest } from "../../src/domain/nearest.ts";
import { Failure } from "../failure.ts";

export async function findTenant(name: string, client: Client): Promise<Tenant> {
  const known = await tenantNamed(name, client);
  if (known !== null) return known;
  const meant = await tenantMeant(name, client);
  throw new Failure(
    "not_found",
    `no tenant "${name}" has ever published an event or registered an endpoint`,
    `${meant === null ? "" : `Did you mean ${meant}? `}See \`webhookd tenants list\`.`,
  );
}

export async function tenantNamed(name: string, client: Client): Promise<Tenant | null> {
  const { data } = await client.call("listTenants", { query: { tenant: name } });
  return data[0] ?? null;
}

/** Returns the nearest name among the latest hundred tenants, or null if none is near. */
export async function tenantMeant(typed: string, client: Client): Promise<string | null> {
  const { data } = await client.call("listTenants", { query: { limit: 100 } });
  return nearest(
    typed,
    data.map(({ name }) => name),
  );
}
