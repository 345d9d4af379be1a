import type { MigrateOptions, MigrationReport } from "../../src/offline.ts";
import { command, CONFIG, JSON_FLAG } from "../command.ts";
import { EXIT } from "../exit-code.ts";
import { usage } from "../failure.ts";
import { say, sayJson } from "../output/print.ts";
import { configOf, DATA_DIR } from "./data-directory.ts";

export const migrate = command({
  args: {
    status: { type: "boolean", description: "Only check whether it is needed; exits 0 if not, else 8" },
    "dry-run": { type: "boolean", description: "Run the steps on the data, then undo them" },
    "data-dir": DATA_DIR,
    json: JSON_FLAG,
    config: CONFIG,
  },
  examples: [
    "webhookd migrate --status",
    "webhookd migrate --dry-run",
    "webhookd migrate --data-dir /var/lib/webhookd",
  ],
  async run(args, io) {
    if (args.status && args["dry-run"]) {
      throw usage("--status and --dry-run cannot be combined", "Use one of them.");
    }
    const config = configOf(args, io);
    const how = args.status ? "status" : args["dry-run"] ? "dry-run" : "migrate";
    const { migrate } = await import("../../src/offline.ts");
    const report = await migrate(config, how);
    if (args.json) sayJson(io, report);
    else for (const line of linesOf(report, how)) say(io, line);
    return how === "status" && report.steps.length > 0 ? EXIT.answer_is_no : EXIT.ok;
  },
});

function linesOf({ schema, wanted, steps, copy }: MigrationReport, how: MigrateOptions["how"]): string[] {
  if (steps.length === 0)
    return [`The store has schema ${schema}, which is what this version needs. Nothing to migrate.`];
  const list = steps.map(({ to, name }) => `  to ${to}: ${name}`);
  if (how === "status") return [`The store has schema ${schema}, but this version needs ${wanted}:`, ...list];
  if (how === "dry-run") return [`These steps work on this data, and were undone:`, ...list];
  return [`Migrated the store from schema ${schema} to ${wanted}:`, ...list, `To go back: webhookd restore ${copy}`];
}
