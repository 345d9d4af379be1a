import type { Cases } from "./case.ts";

export const FAILURES_CASES: Cases<"failures"> = {
  failures: {
    words: ["ep_01m7w8bx02jeyjr53r14y5rmma", "--since", "2h"],
    asks: ["listFailures", "getStatus", "getEndpoint", "getAttempt"],
    spares: ["getStatus", "getEndpoint", "getAttempt"],
    out: /^FAILED +RETRIED .+\n441 +1,978 +0 +ep_\S+ +\S+\/\S+ +503 from the receiver +.+ {20,}\.#\nFor the first group:\n  meaning +A proxy answers, .+\n(?: {2}.+\n){8}  try waiting ones +webhookd deliveries attempt .+ --since 2h --canary\n  replay them +webhookd replay .+ --since 2h --canary\n$/,
    err: /^Events received since \S+; each mark in SERIES stands for 1h\.\n$/,
    json: { total: 1 },
  },
};

export const STATS_CASES: Cases<"stats"> = {
  stats: {
    words: ["--window", "24h", "--endpoint", "ep_01m7w8bx02jeyjr53r14y5rmma"],
    asks: ["getStatistics"],
    out: /^Since \S+; each mark .+\n +events +3,570, 1\/s\n +by type .+\n +deliveries +3,560 delivered, 2 failed\n +attempts +3,600, 1\.008\/s; 40 failed\n(?:.+\n){6}$/,
    json: { window: "1h" },
  },
};
