import { expect, it } from "vitest";
import { accountOf } from "../../src/domain/caller.ts";

const key = (keyId: string, tenant: string) => ({ keyId, tenant, isPortal: false, madeBy: null });
const link = (keyId: string, tenant: string, madeBy: string | null) => ({ keyId, tenant, isPortal: true, madeBy });

it("is null over the unix socket", () => {
  expect(accountOf({ keyId: null, tenant: "*", isPortal: false, madeBy: null })).toBeNull();
});

it("is a key's own rate, and its tenant's share", () => {
  expect(accountOf(key("key_1", "a"))).toEqual({ payer: "key_1", caller: "key_1", share: "tenant a" });
  expect(accountOf(key("key_2", "a"))).toEqual({ payer: "key_2", caller: "key_2", share: "tenant a" });
  expect(accountOf(key("key_3", "*"))).toEqual({ payer: "key_3", caller: "key_3", share: "key key_3" });
});

it("is the same for all links that one key made for one tenant", () => {
  const account = { payer: "key_1", caller: "links of key_1 for a", share: "tenant a" };
  expect([accountOf(link("key_5", "a", "key_1")), accountOf(link("key_6", "a", "key_1"))]).toEqual([account, account]);
  expect(accountOf(link("key_7", "*", "key_1"))).toEqual({
    payer: "key_1",
    caller: "links of key_1 for *",
    share: "key key_1",
  });
});

it("is that of a tenant's links where the operator made them over the socket", () => {
  const account = { payer: "links of socket for a", caller: "links of socket for a", share: "tenant a" };
  expect([accountOf(link("key_5", "a", null)), accountOf(link("key_6", "a", null))]).toEqual([account, account]);
  expect(accountOf(link("key_7", "*", null))!.share).toBe("key links of socket for *");
});
