import { randomBytes } from "node:crypto";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Box } from "../../../src/store/rows/box.ts";

describe("a sealed secret", () => {
  const box = new Box(Buffer.alloc(32, 1), randomBytes);

  it("opens with the same key in the same place only", () => {
    fc.assert(
      fc.property(fc.string(), fc.string(), (text, place) => {
        const sealed = box.seal(text, place);
        expect(sealed).toMatch(/^v1:[0-9a-f]{8}:[\w-]{16}:[\w-]+$/);
        expect(box.open(sealed, place)).toBe(text);
        expect(box.open(sealed, `${place}x`)).toBeNull();
        expect(new Box(Buffer.alloc(32, 2), randomBytes).open(sealed, place)).toBeNull();
      }),
      { numRuns: 200 },
    );
  });

  it("does not open when a bit of it was changed", () => {
    const [version, keyId, nonce, text] = box.seal("whsec_x", "ep_1:secret").split(":");
    const bytes = Buffer.from(text!, "base64url");
    for (let index = 0; index < bytes.length; index++) {
      const changed = Buffer.from(bytes);
      changed[index]! ^= 1;
      const sealed = [version, keyId, nonce, changed.toString("base64url")].join(":");
      expect(box.open(sealed, "ep_1:secret")).toBeNull();
    }
  });

  it("is never the same text twice", () => {
    expect(box.seal("a", "b")).not.toBe(box.seal("a", "b"));
  });
});
