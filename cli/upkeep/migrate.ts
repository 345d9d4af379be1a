import type { MigrateOptions, MigrationReport } from "../../src/offline.ts";
import type { Args } from "../commands.ts";
import { EXIT } from "../exit-code.ts";
import { usage } from "../failure.ts";
import type { Io } from "../io.ts";
import { say, sayJson } from "../print.ts";
import { configOf } from "./data-directory.ts";

export async function run(args: Args<"migrate">, io: Io): Promise<number> {
  if (args.status && args["dry-run"]) {
    throw usage("--status and --dry-run are two questions", "Give one.");
  }
  const config = configOf(args, io);
  const how = args.status ? "status" : args["dry-run"] ? "dry-run" : "migrate";
  const { migrate } = await import("../../src/offline.ts");
  const report = await migrate(config, how);
  if (args.json) sayJson(io, report);
  else for (const line of linesOf(report, how)) say(io, line);
  return how === "status" && report.steps.length > 0 ? EXIT.answer_is_no : EXIT.ok;
}

function linesOf({ schema, wanted, steps, copy }: MigrationReport, how: MigrateOptions["how"]): string[] {
  if (steps.length === 0) return [`The store has schema ${schema}, which is this version's.`];
  const list = steps.map(({ to, name }) => `  to ${to}: ${name}`);
  if (how === "status") return [`The store has schema ${schema}, and this version needs ${wanted}:`, ...list];
  if (how === "dry-run") return [`These steps succeed on this data, and were undone:`, ...list];
  return [`Migrated the store from schema ${schema} to ${wanted}:`, ...list, `To go back: webhookd restore ${copy}`];
}
