import type { UPKEEP } from "../../../cli/upkeep/commands.ts";
import type { Case } from "./case.ts";

export const UPKEEP_CASES: { readonly [N in keyof typeof UPKEEP]: Case } = {
  backup: {
    words: [],
    asks: ["createBackup"],
    out: /^\/\S+\n$/,
    err: /secret\.key is in it, sealed/,
    json: { file: /./ },
  },
};
