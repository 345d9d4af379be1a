import type { TUI } from "../../../cli/tui/commands.ts";
import type { Case, CaseElsewhere } from "./case.ts";

export const TUI_CASES: { readonly [N in keyof typeof TUI]: Case | CaseElsewhere } = {
  tui: {
    words: ["--screen", "failures", "--filter=since:2h", "--read-only", "--refresh", "1s", "--ascii"],
    testedIn: "test/tui/command.test.ts",
  },
};
