import { createPublicKey, randomBytes, verify } from "node:crypto";
import { describe, expect, it } from "vitest";
import {
  AsymmetricSigningKey,
  AsymmetricVerifyingKey,
  isPublicKey,
  jwkOf,
  newPrivateKey,
  publicKeyOf,
} from "../../src/domain/endpoints/asymmetric.ts";

/** Secret and public keys of tests 1 to 3 in RFC 8032, section 7.1. */
const RFC_8032 = [
  [
    "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60",
    "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a",
  ],
  [
    "4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb",
    "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c",
  ],
  [
    "c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7",
    "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025",
  ],
] as const;

const base64 = (hex: string) => Buffer.from(hex, "hex").toString("base64");

describe("asymmetric signatures", () => {
  it.each(RFC_8032)("derive the public key that RFC 8032 gives for %s", (secret, open) => {
    expect(publicKeyOf(`whsk_${base64(secret)}`)).toBe(`whpk_${base64(open)}`);
  });

  it("show a public key as a JSON Web Key with the thumbprint that RFC 8037 gives for it", () => {
    expect(jwkOf(`whpk_${base64(RFC_8032[0][1])}`)).toEqual({
      kty: "OKP",
      crv: "Ed25519",
      x: "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo",
      use: "sig",
      kid: "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k",
    });
  });

  it.each(RFC_8032)("cover id, timestamp and body, as node:crypto sees them, for %s", (secret, open) => {
    const entry = new AsymmetricSigningKey(`whsk_${base64(secret)}`).signStandard("evt_1", 1_700_000_000, '{"ü":1}');
    expect(entry).toMatch(/^v1a,[A-Za-z0-9+/]{86}==$/);
    const jwk = { kty: "OKP", crv: "Ed25519", x: Buffer.from(open, "hex").toString("base64url") };
    const key = createPublicKey({ key: jwk, format: "jwk" });
    const content = Buffer.from('evt_1.1700000000.{"ü":1}');
    expect(verify(null, content, key, Buffer.from(entry.slice(4), "base64"))).toBe(true);
  });

  it("verify one entry among others, and nothing that differs", () => {
    const secret = newPrivateKey(randomBytes);
    const key = new AsymmetricVerifyingKey(publicKeyOf(secret));
    const entry = new AsymmetricSigningKey(secret).signStandard("evt_1", 1, "{}");
    const other = new AsymmetricSigningKey(newPrivateKey(randomBytes)).signStandard("evt_1", 1, "{}");
    expect(key.verifyStandard("evt_1", 1, "{}", `v1,AAAA ${other} ${entry}`)).toBe(true);
    expect(key.verifyStandard("evt_1", 1, Buffer.from("{}"), entry)).toBe(true);
    expect(key.verifyStandard("evt_2", 1, "{}", entry)).toBe(false);
    expect(key.verifyStandard("evt_1", 2, "{}", entry)).toBe(false);
    expect(key.verifyStandard("evt_1", 1, "{ }", entry)).toBe(false);
    for (const header of [other, "", "v1a,", entry.replace("v1a,", "v1,"), entry.slice(0, 20)]) {
      expect(key.verifyStandard("evt_1", 1, "{}", header)).toBe(false);
    }
  });

  it("refuse other keys without repeating them", () => {
    const secret = newPrivateKey(randomBytes);
    expect(isPublicKey(secret)).toBe(false);
    for (const text of [secret.slice(0, -1), secret.replace("whsk_", "whsec_"), `${secret} `]) {
      expect(() => new AsymmetricSigningKey(text)).toThrow(
        /^a private key is whsk_ followed by the base64 of 32 bytes$/,
      );
    }
    expect(() => new AsymmetricVerifyingKey(secret)).toThrow(/^a public key is whpk_/);
    expect(() => newPrivateKey(() => new Uint8Array(31))).toThrow(RangeError);
  });
});
