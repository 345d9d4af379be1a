import type { TAIL } from "../../../cli/tail/commands.ts";
import type { CaseElsewhere } from "./case.ts";

export const TAIL_CASES: { readonly [N in keyof typeof TAIL]: CaseElsewhere } = {
  "events tail": {
    words: ["--status", "failed", "--lines", "1", "--exit-after", "1", "--attempts"],
    testedIn: "test/cli/tail.test.ts",
  },
};
