import type { Case, CaseElsewhere, Cases } from "./case.ts";

export const TUI_CASES: Cases<"tui", Case | CaseElsewhere> = {
  tui: {
    words: ["--screen", "failures", "--filter=since:2h", "--read-only", "--refresh", "1s", "--ascii"],
    testedIn: "test/tui/command.test.ts",
  },
};
