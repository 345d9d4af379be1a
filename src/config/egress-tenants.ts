/** `[[egress.tenant]]`: networks that only endpoints of some tenants may be in. */
import type { TenantNetworks } from "../domain/network/address.ts";
import { isTenant } from "../domain/id.ts";
import type { Mistake } from "./error.ts";
import { KINDS, ValueFault } from "./kinds.ts";
import { nearest } from "./nearest.ts";

export const EGRESS_TENANTS = "egress.tenant";

const FIELDS = ["names", "allow_cidrs"] as const;
type Field = (typeof FIELDS)[number];

/** `where` tells the place of what stands under a path of keys; costs a search. */
export function readEgressTenants(
  raw: unknown,
  where: (path: readonly string[]) => string,
): { tenants: readonly TenantNetworks[]; mistakes: readonly Mistake[] } {
  const path = EGRESS_TENANTS.split(".");
  if (!Array.isArray(raw) || !raw.every(isTable)) {
    const todo = `Write [[${EGRESS_TENANTS}]], with double brackets, once for each.`;
    return {
      tenants: [],
      mistakes: [{ where: where(path), what: `${EGRESS_TENANTS} must be a list of sections.`, todo }],
    };
  }
  const tenants: TenantNetworks[] = [];
  const mistakes: Mistake[] = [];
  raw.forEach((table, index) => {
    const place = (key: string) => where([...path, String(index), ...(Object.hasOwn(table, key) ? [key] : [])]);
    for (const key of Object.keys(table))
      if (!FIELDS.some((field) => field === key)) mistakes.push(unknown(key, place));
    const read = <T>(key: Field, of: (value: unknown) => T): T | undefined => {
      try {
        return of(table[key]);
      } catch (error) {
        if (!(error instanceof ValueFault)) throw error;
        mistakes.push({ where: place(key), what: `[[${EGRESS_TENANTS}]] ${key} is not ${error.message}.` });
        return undefined;
      }
    };
    const names = read("names", readNames);
    const allowCidrs = read("allow_cidrs", (value) => KINDS.cidrs.read(value, {}, ""));
    if (names !== undefined && allowCidrs !== undefined) tenants.push({ names, allowCidrs });
  });
  return { tenants, mistakes };
}

function unknown(key: string, place: (key: string) => string): Mistake {
  const near = nearest(key, FIELDS);
  const todo = near === null ? `Its fields are ${FIELDS.join(" and ")}.` : `Did you mean ${near}?`;
  return { where: place(key), what: `[[${EGRESS_TENANTS}]] ${key} is unknown.`, todo };
}

function readNames(raw: unknown): readonly string[] {
  const fits = Array.isArray(raw) && raw.length > 0 && raw.every((name) => typeof name === "string" && isTenant(name));
  if (!fits) throw new ValueFault('a list of tenant names such as ["acme"]');
  return raw as string[];
}

function isTable(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value) && !(value instanceof Date);
}
