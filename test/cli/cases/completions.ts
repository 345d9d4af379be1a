import type { COMPLETIONS } from "../../../cli/completions/commands.ts";
import type { Case, CaseElsewhere } from "./case.ts";

export const COMPLETIONS_CASES: { readonly [N in keyof typeof COMPLETIONS]: Case | CaseElsewhere } = {
  completions: { words: ["bash"], testedIn: "test/cli/completions.test.ts" },
};
