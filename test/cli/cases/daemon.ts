import type { Case, CaseElsewhere, Cases } from "./case.ts";

export const DAEMON_CASES: Cases<"serve" | "status" | "pause" | "resume" | "version", Case | CaseElsewhere> = {
  serve: { words: ["--listen", "127.0.0.1:0", "--dev", "--no-create"], testedIn: "test/cli/serve.test.ts" },
  status: {
    words: [],
    asks: ["getStatus", "getStatistics", "listFailures", "listTenants", "listJobs", "getEndpoint"],
    spares: ["getStatistics", "listFailures", "listTenants", "listJobs", "getEndpoint"],
    out: /^webhookd 1\.0\.0: ready, up 1h 50m\n {2}sending {3}on\n {2}now {7}12 failed, 4 held, 9 pending\n[^]+\n {2}last hour [^]+\n {2}next {6}webhookd replay --all-failed --dry-run\n$/,
    json: { state: "ready", statistics: { window: "1h" }, failing: [] },
  },
  pause: {
    words: ["a flood"],
    asks: ["pauseDaemon"],
    out: /^Sending was paused at \S+ by \S+: .+\nNo attempt starts, .+\n$/,
    err: /^It was already paused/,
    json: { paused: { by: /^key_/ } },
  },
  resume: { words: [], asks: ["resumeDaemon"], out: /Sending has resumed\.\n$/, json: { paused: null } },
  version: { words: [], asks: [], out: /^webhookd \d+\.\d+\.\d+\n$/, json: { packed: false } },
};
