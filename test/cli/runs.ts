import { front, type Runs } from "../../cli/front.ts";
import type { FakeIo } from "./fake-io.ts";

/** As in cli/main.ts, which ends the process. */
const RUNS: Runs = {
  serve: () => import("../../cli/serve.ts"),
  replay: () => import("../../cli/replay.ts"),
  status: () => import("../../cli/status.ts"),
  pause: () => import("../../cli/pause.ts"),
  resume: () => import("../../cli/resume.ts"),
  backup: () => import("../../cli/backup.ts"),
  "keys create": () => import("../../cli/keys-create.ts"),
  "keys list": () => import("../../cli/keys-list.ts"),
  "keys revoke": () => import("../../cli/keys-revoke.ts"),
  version: () => import("../../cli/version.ts"),
};

export function webhookd(io: FakeIo, ...words: string[]): Promise<number> {
  return front(words, io, RUNS);
}
