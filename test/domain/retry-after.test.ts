import { describe, expect, it } from "vitest";
import { noResponse, type Outcome } from "../../src/domain/deliveries/attempt.ts";
import { askedDelay } from "../../src/domain/deliveries/due-time.ts";

const NOW = Date.UTC(2026, 10, 20, 9, 55);

function answered(retryAfter: string | undefined, statusCode = 503): Outcome {
  const responseHeaders: Record<string, string> = retryAfter === undefined ? {} : { "retry-after": retryAfter };
  return { ...noResponse("http_status", "", 1), statusCode, responseHeaders };
}

describe("Retry-After", () => {
  it.each([
    ["0", 0],
    ["120", 120_000],
    ["Fri, 20 Nov 2026 10:00:00 GMT", 300_000],
    ["Friday, 20-Nov-26 10:00:00 GMT", 300_000],
    ["Fri Nov 20 10:00:00 2026", 300_000],
    ["Tue Dec  1 09:55:00 2026", 11 * 86_400_000],
    ["Fri, 20 Nov 2026 09:54:59 GMT", 0],
  ])("%j asks for a wait of %i ms", (text, wait) => {
    expect(askedDelay(answered(text), NOW)).toBe(wait);
    expect(askedDelay(answered(text, 429), NOW)).toBe(wait);
  });

  it.each([
    "",
    "-1",
    "1.5",
    " 5",
    "soon",
    "2026-11-20T10:00:00Z",
    "Fri, 20 Nov 2026 10:00:00 +0100",
    "Fri, 99 Nov 2026 10:00:00 GMT",
  ])("%j asks for nothing", (text) => {
    expect(askedDelay(answered(text), NOW)).toBe(0);
  });

  it("counts on 429 and 503 alone", () => {
    for (const status of [301, 400, 500, 502, 504]) expect(askedDelay(answered("60", status), NOW)).toBe(0);
    expect(askedDelay(answered(undefined), NOW)).toBe(0);
  });
});
