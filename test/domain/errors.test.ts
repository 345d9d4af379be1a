import { describe, expect, it } from "vitest";
import { FIELD_CODES, PROBLEMS, WebhookdError } from "../../src/domain/errors.ts";

describe("errors", () => {
  it("carry the code, what the caller may read, and when to come back", () => {
    const cause = new Error("SQLITE_FULL");
    const error = new WebhookdError("storage_full", "the disk is full", { retryAfterSeconds: 30, cause });
    expect(error).toMatchObject({
      code: "storage_full",
      detail: "the disk is full",
      errors: [],
      retryAfterSeconds: 30,
    });
    expect(error.message).toBe("storage_full: the disk is full");
    expect(error.cause).toBe(cause);
  });

  it("have an HTTP error status and a title for every code", () => {
    for (const [code, { status, title }] of Object.entries(PROBLEMS)) {
      expect(code).toMatch(/^[a-z_]+$/);
      expect(status).toBeGreaterThanOrEqual(400);
      expect(title).not.toBe("");
    }
  });

  it("name each field fault once, and never like a top code", () => {
    expect(new Set(FIELD_CODES).size).toBe(FIELD_CODES.length);
    expect(FIELD_CODES.filter((code) => code in PROBLEMS)).toEqual([]);
  });
});
