import { expect, it } from "vitest";
import { incrementsOf } from "../../src/domain/tally.ts";
import { ATTEMPT_ERRORS, type AttemptError } from "../../src/domain/deliveries/attempt.ts";

/** Counters on disk refer to an error by its position in this list, so no position may change. */
const PLACES: readonly AttemptError[] = [
  "http_status",
  "redirect_not_followed",
  "timeout",
  "dns_failure",
  "connection_refused",
  "connection_closed",
  "tls_error",
  "bad_response",
  "response_headers_too_large",
  "too_many_informational",
  "address_not_public",
  "address_metadata",
  "address_denied",
  "address_self",
  "unreachable",
  "payload_corrupt",
  "held_expired",
  "interrupted",
];

it("each error keeps its place in the counters that are on disk, and none has another's", () => {
  expect(ATTEMPT_ERRORS.slice(0, PLACES.length)).toEqual(PLACES);
  const marks = ATTEMPT_ERRORS.map((error) => {
    const claim = { number: 1, trigger: "ladder", dueAt: 0 } as const;
    return incrementsOf({ claim, startedAt: 0, outcome: { outcome: "failed", error, durationMs: 1 } }, "failed");
  });
  expect(marks.map(({ result }) => result)).toEqual(ATTEMPT_ERRORS.map((_, at) => 8 + at));
  expect(marks.map(({ end }) => end)).toEqual(ATTEMPT_ERRORS.map((_, at) => 32 + at));
  // Blocks have 24 counters for errors.
  expect(ATTEMPT_ERRORS.length).toBeLessThanOrEqual(24);
});
