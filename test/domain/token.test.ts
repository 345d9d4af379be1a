import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createToken, hashSecret, matchesHash, parseToken } from "../../src/domain/caller.ts";

const ID = "01k8x3v6d2m9qwertyz0123456".replaceAll(/[ilou]/g, "0");
const secret = fc.uint8Array({ minLength: 32, maxLength: 32 });

describe("tokens", () => {
  it("hold the key's id and its secret", () => {
    fc.assert(
      fc.property(secret, (bytes) => {
        const token = createToken(ID, bytes);
        expect(token).toMatch(/^whk_[0-9a-z]{26}_[0-9a-z]{52}$/);
        expect(parseToken(token)).toEqual({ keyId: `key_${ID}`, secret: bytes });
      }),
    );
  });

  it("are refused with any one character changed to one that cannot stand there", () => {
    const token = createToken(ID, new Uint8Array(32));
    for (let at = 0; at < token.length; at++) {
      expect(parseToken(`${token.slice(0, at)}!${token.slice(at + 1)}`)).toBeNull();
    }
  });

  it.each([
    ["empty", ""],
    ["another scheme", `sk_${"0".repeat(80)}`],
    ["a character short", createToken(ID, new Uint8Array(32)).slice(0, -1)],
    ["a character long", `${createToken(ID, new Uint8Array(32))}0`],
    ["bits beyond the 32 bytes", `${createToken(ID, new Uint8Array(32)).slice(0, -1)}1`],
    ["megabytes long", `whk_${"0".repeat(5_000_000)}`],
    ["upper case", createToken(ID, new Uint8Array(32).fill(255)).toUpperCase()],
  ])("are refused when %s", (_, text) => {
    expect(parseToken(text)).toBeNull();
  });

  it("are made only from an id's characters and 32 bytes", () => {
    expect(() => createToken("short", new Uint8Array(32))).toThrow(RangeError);
    expect(() => createToken(ID, new Uint8Array(31))).toThrow(RangeError);
  });

  it("match the hash of their own secret and no other", () => {
    fc.assert(
      fc.property(secret, secret, (one, two) => {
        expect(matchesHash(one, hashSecret(one))).toBe(true);
        expect(matchesHash(one, hashSecret(two))).toBe(Buffer.compare(one, two) === 0);
      }),
    );
    expect(matchesHash(new Uint8Array(32), new Uint8Array(0))).toBe(false);
  });
});
