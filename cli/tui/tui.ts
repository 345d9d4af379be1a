import { randomBytes } from "node:crypto";
import { setFlagsFromString } from "node:v8";
import { readFilter } from "../../src/client/filter.ts";
import { withoutSecrets, type ConfigFlags } from "../../src/config/inputs.ts";
import { loadSettings } from "../../src/config/settings.ts";
import { packed, version } from "../../src/build.ts";
import { type ArgsOf, command, TARGET } from "../command.ts";
import { Failure } from "../failure.ts";
import type { Io } from "../io.ts";
import { connect } from "../target.ts";

const ARGS = {
  screen: {
    type: "enum",
    options: ["overview", "events", "deliveries", "endpoints", "failures", "activity"],
    description: "Screen to open first [overview, or events with --filter]",
  },
  filter: {
    type: "string",
    valueHint: "WORDS",
    description: 'Filter for that screen, such as "status:failed since:2h"',
  },
  "read-only": { type: "boolean", description: "Turn off every key that changes something" },
  refresh: { type: "string", valueHint: "DURATION", description: "How often to redraw [250ms]" },
  ascii: { type: "boolean", description: "Use ASCII only; the default if the locale is not UTF-8" },
  ...TARGET,
} as const;
type Args = ArgsOf<typeof ARGS>;

export const tui = command({
  args: ARGS,
  examples: ["webhookd tui", "webhookd tui --screen failures", "webhookd tui --read-only --filter status:failed"],
  async run(args, io) {
    const settings = settingsOf(args, io);
    refuseWithoutTerminal(io);
    const client = connect(args, io);
    // Ink leaves colours to us, and reads this variable when it is loaded.
    process.env.FORCE_COLOR = "0";
    // The executable contains no .tsx file. The path is not a literal, because scripts/build.ts would follow it, and
    // esbuild cannot bundle itself.
    if (!packed) await import(new URL("../../scripts/tsx.ts", import.meta.url).href);
    const { openDashboard } = await import("../../tui/main.tsx");
    // Frames become garbage at once. Keep the young generation at its size after loading: if it grew with the frames it
    // would cost 100 MB, and if it were limited from the start it would be collected too often.
    setFlagsFromString("--semi-space-growth-factor=1");
    return openDashboard({
      client,
      settings: { ...settings, target: client.target },
      tab: args.screen ?? (args.filter === undefined ? "overview" : "events"),
      filter: args.filter ?? "",
      stdin: process.stdin,
      stdout: process.stdout,
    });
  },
});

/** Flags override variables, and variables override the file, as everywhere. */
function settingsOf(args: Args, io: Io) {
  const [mistake] = readFilter(args.filter ?? "").mistakes;
  if (mistake !== undefined) throw new Failure("usage", `--filter: ${mistake.what}`, mistake.hint);
  const flags: ConfigFlags["settings"] = [
    ...(args.refresh === undefined ? [] : [{ name: "ui.refresh", flag: "--refresh", text: args.refresh } as const]),
    ...(args["read-only"] ? [{ name: "ui.read_only", flag: "--read-only", text: "true" } as const] : []),
    ...(args.ascii ? [{ name: "ui.ascii", flag: "--ascii", text: "always" } as const] : []),
  ];
  const { settings } = loadSettings(withoutSecrets(io.configInputs({ config: args.config, settings: flags })));
  const ascii = settings["ui.ascii"];
  return {
    version,
    label: settings["ui.label"],
    readOnly: settings["ui.read_only"],
    mouse: settings["ui.mouse"],
    refreshMs: settings["ui.refresh"],
    session: randomBytes(12).toString("hex"),
    look: { color: !io.env.NO_COLOR, ascii: ascii === "always" || (ascii === "auto" && !isUtf8(io.env)) },
  };
}

/** The first variable that is set decides. If none is set, the locale is C. */
function isUtf8({ LC_ALL, LC_CTYPE, LANG, TERM }: Io["env"]): boolean {
  return TERM !== "linux" && /utf-?8/i.test(LC_ALL || LC_CTYPE || LANG || "");
}

/** Called before Ink is loaded, because Ink would write even without a terminal. */
function refuseWithoutTerminal({ stdin, stdout, env }: Io): void {
  const what = !stdin.isTTY
    ? "stdin is not a terminal"
    : !stdout.isTTY
      ? "stdout is not a terminal"
      : env.TERM === "dumb"
        ? "TERM is dumb, so this terminal cannot move its cursor"
        : env.INK_SCREEN_READER === "true"
          ? "a screen reader cannot follow a screen that keeps changing"
          : null;
  if (what === null) return;
  const hint = "Use `webhookd events tail` and `webhookd status` instead.";
  throw new Failure("usage", `the dashboard needs a terminal: ${what}`, hint);
}
