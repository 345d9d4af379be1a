import type { Cases } from "./case.ts";

export const CONFIG_CASES: Cases<"config"> = {
  "config init": {
    words: ["--path", "{dir}/new.toml", "--force"],
    asks: [],
    out: /^Wrote {dir}\/new\.toml\.\n/,
    json: { path: "{dir}/new.toml" },
  },
  "config check": {
    words: ["webhookd.toml"],
    asks: [],
    files: { "webhookd.toml": "" },
    out: /^ok {2}{dir}\/webhookd\.toml\n$/,
    json: { ok: true },
  },
  "config show": { words: ["--origin"], asks: [], out: /^# .+\n\n\[server\]\n/, json: { file: null } },
};
