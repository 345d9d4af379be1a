import type { UPKEEP } from "../../../cli/upkeep/commands.ts";
import type { Case, CaseElsewhere } from "./case.ts";

export const UPKEEP_CASES: { readonly [N in keyof typeof UPKEEP]: Case | CaseElsewhere } = {
  backup: {
    words: [],
    asks: ["createBackup"],
    out: /^\/\S+\n$/,
    err: /secret\.key is in it, sealed/,
    json: { file: /./ },
  },
  restore: { words: ["/backups/one.db"], testedIn: "test/cli/restore.test.ts" },
  "secrets reissue": { words: ["--yes"], testedIn: "test/cli/secrets.test.ts" },
  "secrets rekey": { words: [], testedIn: "test/cli/secrets.test.ts" },
  migrate: { words: ["--status"], testedIn: "test/cli/restore.test.ts" },
};
