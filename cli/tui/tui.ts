import { randomBytes } from "node:crypto";
import { readFilter } from "../../src/client/filter.ts";
import { parseDuration } from "../../src/config/units.ts";
import { version } from "../../src/version.ts";
import type { Args } from "../commands.ts";
import { Failure } from "../failure.ts";
import type { Io } from "../io.ts";
import { connect } from "../target.ts";
import { readTsx } from "../tsx.ts";

const REFRESH_MS = 250;
/** Faster is more work for the terminal than anybody can read. */
const LEAST_REFRESH_MS = 100;

export async function run(args: Args<"tui">, io: Io): Promise<number> {
  const settings = settingsOf(args, io);
  refuseWithoutTerminal(io);
  const client = connect(args, io);
  // Ink leaves colours to us; read when it is loaded.
  process.env.FORCE_COLOR = "0";
  await readTsx();
  const { openDashboard } = await import("../../tui/main.tsx");
  return openDashboard({
    client,
    settings: { ...settings, target: client.target },
    tab: args.screen,
    filter: args.filter ?? "",
    stdin: process.stdin,
    stdout: process.stdout,
  });
}

function settingsOf(args: Args<"tui">, { env }: Io) {
  const refreshMs = args.refresh === undefined ? REFRESH_MS : parseDuration(args.refresh);
  if (refreshMs === null || refreshMs < LEAST_REFRESH_MS) {
    throw new Failure(
      "usage",
      `--refresh "${args.refresh}" is not a duration of 100ms or more`,
      "Such as 500ms or 1s.",
    );
  }
  const [mistake] = readFilter(args.filter ?? "").mistakes;
  if (mistake !== undefined) throw new Failure("usage", `--filter: ${mistake.what}`, mistake.hint);
  return {
    version,
    label: "",
    readOnly: args["read-only"],
    refreshMs,
    session: randomBytes(12).toString("hex"),
    look: { color: !env.NO_COLOR, ascii: args.ascii || !isUtf8(env) },
  };
}

/** Of the variables the first that is set; without any it is the C locale. */
function isUtf8({ LC_ALL, LC_CTYPE, LANG, TERM }: Io["env"]): boolean {
  return TERM !== "linux" && /utf-?8/i.test(LC_ALL || LC_CTYPE || LANG || "");
}

/** Before Ink is loaded, which would write to it all the same. */
function refuseWithoutTerminal({ stdin, stdout, env }: Io): void {
  const what = !stdin.isTTY
    ? "stdin is not a terminal"
    : !stdout.isTTY
      ? "stdout is not a terminal"
      : env.TERM === "dumb"
        ? "TERM is dumb, and this terminal cannot move its cursor"
        : env.INK_SCREEN_READER === "true"
          ? "a screen that is drawn again and again is nothing to be read aloud"
          : null;
  if (what === null) return;
  const hint = "These can do it in lines: `webhookd events tail` and `webhookd status`.";
  throw new Failure("usage", `the dashboard needs a terminal: ${what}`, hint);
}
