import type { Runs } from "./front.ts";

/** What each command runs, loaded when it does: `version` must not wait for the daemon's modules. */
export const RUNS: Runs = {
  serve: () => import("./daemon/serve.ts"),
  status: () => import("./daemon/status.ts"),
  pause: () => import("./daemon/pause.ts"),
  resume: () => import("./daemon/resume.ts"),
  version: () => import("./daemon/version.ts"),

  tui: () => import("./tui/tui.ts"),

  "endpoints add": () => import("./endpoints/add.ts"),
  "endpoints list": () => import("./endpoints/list.ts"),
  "endpoints show": () => import("./endpoints/show.ts"),
  "endpoints update": () => import("./endpoints/update.ts"),
  "endpoints rm": () => import("./endpoints/rm.ts"),
  "endpoints enable": () => import("./endpoints/enable.ts"),
  "endpoints disable": () => import("./endpoints/disable.ts"),
  "endpoints test": () => import("./endpoints/test.ts"),
  "endpoints rotate-secret": () => import("./endpoints/rotate-secret.ts"),
  "endpoints secret": () => import("./endpoints/secret.ts"),

  "events list": () => import("./events/list.ts"),
  "events show": () => import("./events/show.ts"),
  "events send": () => import("./events/send.ts"),
  "events cancel": () => import("./events/cancel.ts"),
  "events erase": () => import("./events/erase.ts"),
  "events tail": () => import("./tail/tail.ts"),

  "deliveries list": () => import("./deliveries/list.ts"),
  "deliveries show": () => import("./deliveries/show.ts"),
  "deliveries attempt": () => import("./deliveries/attempt.ts"),

  "attempts list": () => import("./attempts/list.ts"),
  "attempts show": () => import("./attempts/show.ts"),

  failures: () => import("./failures/failures.ts"),

  replay: () => import("./replay/replay.ts"),

  "jobs list": () => import("./jobs/list.ts"),
  "jobs show": () => import("./jobs/show.ts"),
  "jobs pause": () => import("./jobs/pause.ts"),
  "jobs resume": () => import("./jobs/resume.ts"),
  "jobs cancel": () => import("./jobs/cancel.ts"),

  listen: () => import("./receiver/listen.ts"),
  trigger: () => import("./receiver/trigger.ts"),
  demo: () => import("./receiver/demo.ts"),
  verify: () => import("./receiver/verify.ts"),
  sign: () => import("./receiver/sign.ts"),

  "keys create": () => import("./keys/create.ts"),
  "keys list": () => import("./keys/list.ts"),
  "keys revoke": () => import("./keys/revoke.ts"),

  "config init": () => import("./config/init.ts"),
  "config check": () => import("./config/check.ts"),
  "config show": () => import("./config/show.ts"),

  doctor: () => import("./doctor/doctor.ts"),

  backup: () => import("./upkeep/backup.ts"),
  restore: () => import("./upkeep/restore.ts"),
  migrate: () => import("./upkeep/migrate.ts"),
  "secrets reissue": () => import("./upkeep/reissue.ts"),
  "secrets rekey": () => import("./upkeep/rekey.ts"),

  completions: () => import("./completions/completions.ts"),
};
