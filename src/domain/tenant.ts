/** Tenants come into being with their first endpoint, event or key, so a mistyped name looks like a new customer. */
import { DEFAULT_TENANT, EVERY_TENANT } from "./id.ts";
import { nearest } from "./nearest.ts";

/**
 * True for a name that is right whether or not the tenant has anything yet: that of the caller's key, or one of ours.
 */
export function isOwnTenant(tenant: string, own: string): boolean {
  return tenant === own || tenant === EVERY_TENANT || tenant === DEFAULT_TENANT;
}

/**
 * Returns what is wrong with a tenant that has had nothing so far, as the end of a sentence about it. `known` has the
 * names of other tenants, of which the caller may have meant one.
 */
export function newTenantFault(tenant: string, known: Iterable<string>): string {
  const near = nearest(tenant, known);
  const meant = near === null ? "" : `; did you mean ${near}?`;
  return `has had no endpoint, event or key of its own, so send new_tenant: true too if it is a new customer${meant}`;
}
