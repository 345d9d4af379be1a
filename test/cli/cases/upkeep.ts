import type { Case, CaseElsewhere, Cases } from "./case.ts";

export const UPKEEP_CASES: Cases<"backup" | "restore" | "migrate" | "compact" | "secrets", Case | CaseElsewhere> = {
  backup: {
    words: [],
    asks: ["createBackup"],
    out: /^\/\S+\n$/,
    err: /It includes secret\.key, sealed/,
    json: { file: /./ },
  },
  restore: { words: ["/backups/one.db"], testedIn: "test/cli/restore.test.ts" },
  "secrets reissue": { words: ["--yes"], testedIn: "test/cli/secrets.test.ts" },
  "secrets rekey": { words: [], testedIn: "test/cli/secrets.test.ts" },
  compact: { words: [], testedIn: "test/cli/restore.test.ts" },
  migrate: { words: ["--status"], testedIn: "test/cli/restore.test.ts" },
};
