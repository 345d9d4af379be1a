import { describe, expect, it } from "vitest";
import { isOwnTenant, newTenantFault } from "../../src/domain/tenant.ts";

describe("a tenant that has had nothing so far", () => {
  it("is right if it is the caller's own, the default one, or all of them", () => {
    expect(["acme", "default", "*"].every((name) => isOwnTenant(name, "acme"))).toBe(true);
    expect(isOwnTenant("initech", "acme")).toBe(false);
    expect(isOwnTenant("initech", "*")).toBe(false);
  });

  it("may be a typing error for another one", () => {
    expect(newTenantFault("initehc", ["acme", "initech"])).toMatch(/new_tenant: true.*; did you mean initech\?$/);
    expect(newTenantFault("initehc", ["acme"])).not.toContain("did you mean");
  });
});
