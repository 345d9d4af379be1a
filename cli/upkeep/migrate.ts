import { loadConfig } from "../../src/config.ts";
import type { MigrateOptions, MigrationReport, Moved, MoveProgress } from "../../src/offline.ts";
import { type ArgsOf, command, CONFIG, JSON_FLAG } from "../command.ts";
import { EXIT } from "../exit-code.ts";
import { usage } from "../failure.ts";
import type { Io } from "../io.ts";
import { say, sayJson } from "../output/print.ts";
import { Progress } from "../output/progress.ts";
import { sayTable } from "../output/table.ts";
import { count } from "../output/words.ts";
import { configOf, DATA_DIR, directorySettings } from "./data-directory.ts";

const ARGS = {
  status: { type: "boolean", description: "Only check whether a migration is needed; exits 0 if not, else 8" },
  "dry-run": {
    type: "boolean",
    description: "Run the steps on the data, then undo them; with --to or --from, try part of the move",
  },
  to: { type: "string", valueHint: "URL", description: "Move the store into this PostgreSQL database, postgres://…" },
  from: {
    type: "string",
    valueHint: "URL",
    description: "Move the store of this PostgreSQL database into the data directory",
  },
  online: {
    type: "boolean",
    description: "With --to or --from: copy while the daemon runs, and say when to stop it for the last seconds",
  },
  resume: { type: "boolean", description: "With --to or --from: continue a move that was interrupted" },
  "give-up": { type: "boolean", description: "Remove what an unfinished --online move left in the original store" },
  "data-dir": DATA_DIR,
  json: JSON_FLAG,
  config: CONFIG,
} as const;
type Args = ArgsOf<typeof ARGS>;

export const migrate = command({
  args: ARGS,
  examples: [
    "webhookd migrate --status",
    "webhookd migrate --dry-run",
    "webhookd migrate --data-dir /var/lib/webhookd",
    "webhookd migrate --to postgres://webhookd@db1,db2/webhookd --dry-run",
    "webhookd migrate --to postgres://webhookd@db1,db2/webhookd --online",
    "webhookd migrate --from postgres://webhookd@db1,db2/webhookd --data-dir /var/lib/webhookd",
  ],
  async run(args, io) {
    if (args.status && args["dry-run"]) {
      throw usage("--status and --dry-run cannot be combined", "Use one of them.");
    }
    if (args.to !== undefined || args.from !== undefined) return move(args, io);
    for (const flag of ["resume", "online", "give-up"] as const) {
      if (args[flag]) throw usage(`--${flag} needs --to or --from`, `Repeat the earlier command, and add --${flag}.`);
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

const ADDRESS = /^postgres(ql)?:\/\/.+\/.+/;

function hasPassword(url: string): boolean {
  return /^[^/]*\/\/[^/@]*:[^/]*@/.test(url) || /[?&]password=/.test(url);
}

async function move(args: Args, io: Io): Promise<number> {
  const url = args.to ?? args.from!;
  if (args.to !== undefined && args.from !== undefined) throw usage("--to and --from cannot be combined");
  if (args.status) throw usage("--status is about the schema", "Use --dry-run to see what would be moved.");
  if (args.resume && args["dry-run"]) throw usage("--resume and --dry-run cannot be combined", "Use one of them.");
  if (args["give-up"] && (args.resume || args.online || args["dry-run"]))
    throw usage("--give-up cannot be combined with another flag of a move", "Use it alone, with --to or --from.");
  if (!ADDRESS.test(url))
    throw usage("--to and --from take the address of a database", "postgres://user@host/database");
  if (hasPassword(url)) {
    const how = "Leave it out, and set PGPASSWORD or write a ~/.pgpass. Nothing was done.";
    throw usage("the address has a password, which every user of this host could see in the list of processes", how);
  }
  const settings = directorySettings(args["data-dir"]);
  // The command means the data directory, whichever store the daemon will use.
  const config = loadConfig(io.configInputs({ config: args.config, settings }));
  const direction = args.to === undefined ? "to_file" : "to_postgres";
  const progress = new Progress(io);
  const { giveUp, move } = await import("../../src/offline.ts");
  if (args["give-up"]) {
    await giveUp(config, { url, direction });
    say(io, "The store stays where it was, and no longer records its changes for a move. You may delete the copy.");
    return EXIT.ok;
  }
  const begun = io.monotonic();
  const moved = await move(config, {
    url,
    direction,
    beside: args.online ?? false,
    onReady: () => progress.say(args.to === undefined ? STOP_ALL : STOP),
    how: args["dry-run"] ? "dry-run" : "move",
    resume: args.resume ?? false,
    onProgress: (how) => progress.show(progressLine(how, io.monotonic() - begun)),
  }).finally(() => progress.end());
  if (args.json) sayJson(io, { ...moved, ms: Math.round(moved.ms) });
  else tell(moved, args, io, config.data.secretKeyFile);
  return EXIT.ok;
}

const STOP =
  "Stop the daemon now. Everything except its last changes is copied and compared; they follow once it has stopped.";
const STOP_ALL =
  "Stop all daemons now. Everything except their last changes is copied and compared; those follow once all have stopped.";

function progressLine({ doing, table, rows, of, part }: MoveProgress, ms: number): string {
  if (doing === "catching up") return `catching up with changes made since: ${count(rows, "row", "rows")}`;
  // The first rows say little about how fast the others will be.
  const left = part < 0.02 || ms < 1000 ? "" : `, about ${seconds((ms * (1 - part)) / part)} left`;
  return `${Math.floor(part * 100)} %${left}: ${doing} ${table}, ${rows} of ${of}`;
}

const seconds = (ms: number) => `${Math.max(1, Math.ceil(ms / 1000))} s`;

function tell({ from, to, tables, bytes, ms, stoppedMs }: Moved, args: Args, io: Io, keyFile: string): void {
  const rows = tables.reduce((sum, table) => sum + table.rows, 0);
  const size = `${count(rows, "row", "rows")}, ${Math.ceil(bytes / 1024 / 1024)} MiB`;
  const isTrial = args["dry-run"] === true;
  if (isTrial) {
    say(io, `The store in ${from} can be moved to ${to}: ${size}, in about ${seconds(ms)}. Nothing was moved.`);
  } else {
    say(io, `Moved the store from ${from} to ${to} in ${seconds(ms)}: ${size}. Both have the same rows.`);
  }
  if (stoppedMs !== null) say(io, `It was out of use for ${seconds(stoppedMs)}.`);
  sayTable(io, [
    ["TABLE", "ROWS", isTrial ? "" : "SUM"],
    ...tables.filter((table) => table.rows > 0).map(({ name, rows: some, sum }) => [name, String(some), sum ?? ""]),
  ]);
  if (isTrial) return;
  if (args.to === undefined) {
    say(io, "The old store is marked as moved; no daemon starts on it.");
    say(io, "Next: remove [data] store from the configuration, then start the daemon: webhookd serve");
  } else {
    say(io, "The old file is kept in the data directory as webhookd.db.moved-…; no daemon starts on it.");
    say(io, `Each host needs the same secret.key: copy ${keyFile}.`);
    say(io, "Next: set [data] store to the address of the database, then start the daemon: webhookd serve");
  }
}
