import type { Case, CaseElsewhere, Cases } from "./case.ts";

export const COMPLETIONS_CASES: Cases<"completions", Case | CaseElsewhere> = {
  completions: { words: ["bash"], testedIn: "test/cli/completions.test.ts" },
};
