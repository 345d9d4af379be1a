import { expect, it } from "vitest";
import { standingOf, type StandingFacts } from "../../src/domain/endpoints/standing.ts";

const NEW: StandingFacts = {
  isDamaged: false,
  isEnabled: true,
  failuresInARow: 0,
  lastSuccessAt: null,
  lastFailureAt: null,
};

it.each<[string, string, Partial<StandingFacts>]>([
  ["new", "nothing was attempted", {}],
  ["working", "it has only succeeded", { lastSuccessAt: 5 }],
  ["working", "it has succeeded since it failed", { lastSuccessAt: 5, lastFailureAt: 4 }],
  [
    "working",
    "one attempt failed and another succeeded in the same millisecond",
    { lastSuccessAt: 5, lastFailureAt: 5 },
  ],
  ["retrying", "two attempts failed", { failuresInARow: 2, lastFailureAt: 5 }],
  ["failing", "three attempts failed", { failuresInARow: 3, lastSuccessAt: 4, lastFailureAt: 5 }],
  ["untried", "it failed, never succeeded, and was enabled again", { lastFailureAt: 5 }],
  ["untried", "it failed after its last success, and was enabled again", { lastSuccessAt: 4, lastFailureAt: 5 }],
  ["disabled", "it is disabled, whatever happened before", { isEnabled: false, failuresInARow: 9, lastFailureAt: 5 }],
  ["damaged", "it cannot be read, enabled or not", { isDamaged: true, isEnabled: false }],
])("an endpoint is %s when %s", (standing, _, facts) => {
  expect(standingOf({ ...NEW, ...facts })).toBe(standing);
});
