import type { Cases } from "./case.ts";

export const FAILURES_CASES: Cases<"failures"> = {
  failures: {
    words: ["--since", "2h"],
    asks: ["listFailures", "getStatus", "getEndpoint", "getAttempt"],
    spares: ["getStatus", "getEndpoint", "getAttempt"],
    out: /^FAILED +RETRIED .+\n441 +1,978 +0 +ep_\S+ +\S+\/\S+ +503 from the receiver +.+ {20,}\.#\nFor the first group:\n  meaning +A proxy answers, .+\n(?: {2}.+\n){8}  replay them +webhookd replay .+ --since 2h --canary\n$/,
    err: /^Events received since \S+; each mark of SERIES is 1h\.\n$/,
    json: { total: 1 },
  },
};
