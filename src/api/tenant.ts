/** Whose data a request is about: the key's tenant, or, for a key of `*`, the tenant it names. */
import { ALERT_TENANT } from "../domain/alert.ts";
import { WebhookdError } from "../domain/errors.ts";
import { TENANT } from "../domain/tenant.ts";
import type { Principal } from "./authentication.ts";
import { textParameter, type Query } from "./parameter.ts";
import { validationFailed } from "./validation.ts";

export const DEFAULT_TENANT = "default";
export const EVERY_TENANT = "*";

export const TenantParameter = textParameter(
  "tenant",
  "For a key of every tenant, the one it acts for; another key may only name its own.",
  TENANT,
  "is no tenant's name",
);

/** Where something new belongs. */
export function tenantToWrite(principal: Principal, named: string | undefined): string {
  const tenant = oneTenantOf(principal, named);
  if (tenant !== ALERT_TENANT) return tenant;
  throw new WebhookdError("forbidden", `${ALERT_TENANT} is kept for the daemon's own events`);
}

/** The one tenant that is meant, also where a key of `*` names none. */
export function oneTenantOf(principal: Principal, named: string | undefined): string {
  if (principal.tenant === EVERY_TENANT) return named ?? DEFAULT_TENANT;
  if (named !== undefined && named !== principal.tenant) {
    throw new WebhookdError("forbidden", "this key belongs to another tenant");
  }
  return principal.tenant;
}

/** For what is about the daemon as a whole. */
export function requireEveryTenant(principal: Principal): void {
  if (principal.tenant === EVERY_TENANT) return;
  throw new WebhookdError("forbidden", "this concerns every tenant, and the key belongs to one: use a key of tenant *");
}

/** Where to look: null means everywhere, for a key of `*` that names no tenant. */
export function tenantToRead(principal: Principal, named: string | undefined): string | null {
  return principal.tenant === EVERY_TENANT && named === undefined ? null : oneTenantOf(principal, named);
}

/** The one that the query or the body names; throws `validation_failed` when they name two. */
export function oneTenant(query: string | undefined, body: string | undefined, pointer: string): string | undefined {
  if (query === undefined || body === undefined || query === body) return body ?? query;
  const detail = "is another one than ?tenant= names: give one of the two";
  throw validationFailed([{ pointer, code: "conflicting_fields", detail }]);
}

export function namedTenant(query: Query): string | undefined {
  return TenantParameter.read(query);
}
