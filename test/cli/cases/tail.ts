import type { CaseElsewhere } from "./case.ts";

export const TAIL_CASES: { readonly "events tail": CaseElsewhere } = {
  "events tail": {
    words: ["--status", "failed", "--lines", "1", "--exit-after", "1", "--attempts"],
    testedIn: "test/cli/tail.test.ts",
  },
};
