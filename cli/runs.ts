import type { Runs } from "./front.ts";

/** What each command runs, loaded when it does: `version` must not wait for the daemon's modules. */
export const RUNS: Runs = {
  serve: () => import("./daemon/serve.ts"),
  status: () => import("./daemon/status.ts"),
  pause: () => import("./daemon/pause.ts"),
  resume: () => import("./daemon/resume.ts"),
  version: () => import("./daemon/version.ts"),

  tui: () => import("./tui/tui.ts"),

  failures: () => import("./failures/failures.ts"),
  replay: () => import("./replay/replay.ts"),

  "jobs list": () => import("./jobs/list.ts"),
  "jobs show": () => import("./jobs/show.ts"),
  "jobs pause": () => import("./jobs/pause.ts"),
  "jobs resume": () => import("./jobs/resume.ts"),
  "jobs cancel": () => import("./jobs/cancel.ts"),
  verify: () => import("./receiver/verify.ts"),
  sign: () => import("./receiver/sign.ts"),

  "keys create": () => import("./keys/create.ts"),
  "keys list": () => import("./keys/list.ts"),
  "keys revoke": () => import("./keys/revoke.ts"),

  "config init": () => import("./config/init.ts"),
  "config check": () => import("./config/check.ts"),
  "config show": () => import("./config/show.ts"),

  backup: () => import("./upkeep/backup.ts"),
};
