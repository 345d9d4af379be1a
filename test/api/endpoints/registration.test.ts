import { describe, expect, it } from "vitest";
import { headerFaults } from "../../../src/api/endpoints/headers.ts";
import { isPlainText, isSeenWhole, lengthOf } from "../../../src/api/pipeline/shapes.ts";

const faults = (headers: Record<string, unknown>) => headerFaults(headers, ["X-Signature", "Svix-Id"]);

describe("extra headers", () => {
  it("may be any token with visible ASCII", () => {
    expect(faults({ "X-Api-Key": "a b~!", authorization: "Bearer x", "x-a": "y".repeat(4096) })).toEqual([]);
  });

  it.each(["", "x a", "x:a", "é", "x\n", "(x)"])("are not named %j", (name) => {
    expect(faults({ [name]: "1" })).toMatchObject([{ name }]);
  });

  it.each(["", " a", "a ", "a\tb", "é", "a\r\nb", "y".repeat(4097), 1, null, ["1"]])("do not hold %j", (value) => {
    expect(faults({ "x-a": value })).toMatchObject([{ name: "x-a" }]);
  });

  it.each([
    "Host",
    "Cookie",
    "Expect",
    "TE",
    "Proxy-Authorization",
    "Content-Length",
    "X-Webhookd-Attempt",
    "webhook-id",
    "x-service-signature",
    "X-Signature",
    "x-signature",
    "__proto__",
    // Receivers behind CGI read these as the names with dashes.
    "X_Service_Signature",
    "webhook_id",
    "x_signature",
    "svix-id",
    "svix_id",
    "Proxy_Authorization",
    "Transfer_Encoding",
    "X_Webhookd_Attempt",
    // With these headers a metadata service would answer a forged request.
    "Metadata",
    "Metadata-Flavor",
    "X-Google-Metadata-Request",
    "X-aws-ec2-metadata-token",
    "X-aws-ec2-metadata-token-ttl-seconds",
    "X_aws_ec2_metadata_token",
    "X-Aliyun-Ecs-Metadata-Token",
  ])("cannot replace %s", (name) => {
    expect(faults(Object.fromEntries([[name, "1"]]))).toHaveLength(1);
  });

  it("are compared without case, and at most sixteen are allowed", () => {
    expect(faults({ "X-A": "1", "x-a": "2" })).toMatchObject([{ name: "x-a" }]);
    const many = Object.fromEntries(Array.from({ length: 17 }, (_, index) => [`x-${index}`, "1"]));
    expect(faults(many)).toEqual([{ detail: "at most 16 headers" }]);
  });
});

describe("a label", () => {
  it("is one line that reads as it is written", () => {
    for (const text of ["日本語 😀 é", "=HYPERLINK()", "👨‍👩‍👧", "❤️ 1️⃣", "می‌خواهم", ""]) {
      expect(isPlainText(text), text).toBe(true);
    }
    const unseen = [
      "a\u200bb",
      "pay\u200dpal",
      "\ufeffx",
      "soft\u00adhyphen",
      "\u2060",
      "a\u{e0041}",
      "\u3164",
      "a\ufe0f",
    ];
    for (const text of [...unseen, "\0", "a\nb", "\u001b[2J", "\u0085", "a\u202eb", "\u2066", "\u2028"]) {
      expect(isPlainText(text)).toBe(false);
    }
  });

  it("that is compared holds nothing that cannot be seen, whatever is beside it", () => {
    for (const text of ["acme", "日本語", "é"]) expect(isSeenWhole(text)).toBe(true);
    for (const text of ["ac\u200bme", "می‌خواهم", "👨‍👩‍👧", "acme\u00ad"]) expect(isSeenWhole(text)).toBe(false);
  });

  it("is measured in characters", () => {
    expect(lengthOf("😀é")).toBe(2);
  });
});
