/** A real terminal: a shell in its own tmux server. Tests type into it and look at it from outside. */
import { execFile, spawnSync } from "node:child_process";
import { closeSync, constants, openSync, readFileSync, writeSync } from "node:fs";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { describe } from "vitest";
import { afterEveryTest } from "../harness/ends.ts";
import type { Size } from "../../tui/model/state.ts";
import { aDirectory } from "../harness/daemon.ts";
import { MAIN } from "../harness/process.ts";
import { TmuxControl } from "./tmux-control.ts";

const run = promisify(execFile);
const CHECKOUT = dirname(dirname(MAIN));
const POLL_MS = 10;
/** The time for which all looks at a screen must be the same. */
const SETTLED_MS = 120;
/** Only a test that hangs waits this long. */
const PATIENCE_MS = 90_000;
const OPTIONS = [
  // Otherwise tmux would delay Esc to see what follows it.
  ["-s", "escape-time", "0"],
  // Allowed so that a test can see an attempt to change the clipboard or the title.
  ["-s", "set-clipboard", "on"],
  ["allow-rename", "on"],
  ["automatic-rename", "off"],
  ["default-terminal", "tmux-256color"],
];
const MOUSE_FLAGS = ["mouse_standard_flag", "mouse_button_flag", "mouse_all_flag", "mouse_utf8_flag", "mouse_sgr_flag"];
const running = new Set<Tmux>();

const hasTmux = spawnSync("tmux", ["-V"]).status === 0;
if (!hasTmux) process.stderr.write("\nNO TMUX: the dashboard is NOT tested in a real terminal. Install tmux.\n\n");
/** A group of tests that is skipped, with a warning, if there is no tmux. */
export const inTerminal = hasTmux ? describe : describe.skip;

afterEveryTest(async () => {
  for (const terminal of running) await terminal.close();
});

export interface TmuxOptions extends Partial<Size> {
  readonly env?: Readonly<Record<string, string>>;
}

/** Settings of a terminal that an application can change and must restore. */
export interface TerminalState {
  readonly alternate: boolean;
  readonly cursor: boolean;
  readonly wraps: boolean;
  /** The names of the mouse modes that are on. */
  readonly mouse: string;
  readonly title: string;
  /** The name of the window, which a title may change. */
  readonly window: string;
}

export class Tmux {
  /** The directory for the server's socket and the reports that the dashboard writes. */
  readonly #dir = aDirectory();
  #control!: TmuxControl;

  /** Starts a shell whose prompt is `$ `. PATH is the only variable of the tests that it inherits. */
  static async start({ columns = 80, rows = 24, env = {} }: TmuxOptions = {}): Promise<Tmux> {
    const terminal = new Tmux();
    running.add(terminal);
    const around = {
      PATH: `${dirname(process.execPath)}:${process.env.PATH ?? ""}`,
      HOME: "/nonexistent",
      LANG: "C.UTF-8",
      NODE_COMPILE_CACHE: join(CHECKOUT, ".cache/compile"),
      ...env,
    };
    const variables = Object.entries(around).flatMap(([name, value]) => ["-e", `${name}=${value}`]);
    const set = OPTIONS.flatMap((option) => ["set", "-g", ...option, ";"]);
    const size = ["-x", String(columns), "-y", String(rows), "-c", terminal.#dir];
    await terminal.tmux("start-server", ";", ...set, "new-session", "-d", ...size, ...variables, "exec sh -i");
    terminal.#control = new TmuxControl(terminal.#server, terminal.#env);
    await terminal.until(/[#$]/);
    // Shells have another prompt for root.
    await terminal.command(`PS1='$ '; clear`);
    await terminal.until(/^\$\s*$/);
    return terminal;
  }

  /** Runs a tmux command and returns its output. */
  async tmux(...words: string[]): Promise<string> {
    return (await this.#run(words)).stdout;
  }

  get #server(): string[] {
    return ["-S", join(this.#dir, "tmux.sock"), "-f", "/dev/null", "-u"];
  }

  get #env(): NodeJS.ProcessEnv {
    return { PATH: process.env.PATH, TERM: "xterm-256color", LANG: "C.UTF-8" };
  }

  #run(words: readonly string[]) {
    return run("tmux", [...this.#server, ...words], { env: this.#env });
  }

  /** Types the text literally, in one chunk. */
  async type(text: string): Promise<void> {
    await this.#control.ask("send-keys", "-l", "--", text);
  }

  /** Presses keys by tmux's names: `Enter`, `Escape`, `C-c`, `PPage`. Each is sent in a chunk of its own. */
  async press(...keys: string[]): Promise<void> {
    for (const key of keys) await this.#control.ask("send-keys", "--", key);
  }

  /** Sends bytes as a terminal does, in one chunk. */
  async send(bytes: string): Promise<void> {
    await this.#control.ask("send-keys", "-H", ...Array.from(Buffer.from(bytes), (byte) => byte.toString(16)));
  }

  async command(line: string): Promise<void> {
    await this.type(line);
    await this.press("Enter");
  }

  /** Pastes the text. An application that asked for it learns that it is pasted. */
  async paste(text: string): Promise<void> {
    const loaded = this.#run(["load-buffer", "-b", "pasted", "-"]);
    loaded.child.stdin!.end(text);
    await loaded;
    await this.tmux("paste-buffer", "-p", "-r", "-d", "-b", "pasted");
  }

  /** Writes into the middle of the screen, past the application, as `wall` and the kernel do. */
  async scribble(text: string): Promise<void> {
    const tty = (await this.#control.ask("display-message", "-p", "#{pane_tty}")).trim();
    const file = openSync(tty, constants.O_WRONLY | constants.O_NOCTTY);
    writeSync(file, `\x1b7\x1b[8;20H${text}\x1b8`);
    closeSync(file);
    await this.until(text);
  }

  async resize({ columns, rows }: Size): Promise<void> {
    await this.#control.ask("resize-window", "-x", String(columns), "-y", String(rows));
  }

  async lines(): Promise<string[]> {
    return (await this.screen()).split("\n");
  }

  async screen(): Promise<string> {
    return (await this.#control.ask("capture-pane", "-p")).replace(/\n$/, "");
  }

  /** Returns the screen with its colours, as SGR sequences. */
  async painted(): Promise<string> {
    return this.#control.ask("capture-pane", "-p", "-e");
  }

  async state(): Promise<TerminalState> {
    const names = ["alternate_on", "cursor_flag", "wrap_flag", ...MOUSE_FLAGS, "pane_title", "window_name"];
    const format = names.map((name) => `#{${name}}`).join("\t");
    const [alternate, cursor, wraps, ...rest] = (await this.#control.ask("display-message", "-p", format)).split("\t");
    const flags = rest.splice(0, MOUSE_FLAGS.length);
    const [title, window] = rest;
    return {
      alternate: alternate === "1",
      cursor: cursor === "1",
      wraps: wraps === "1",
      mouse: MOUSE_FLAGS.filter((_, at) => flags[at] === "1").join(" "),
      title: title!,
      window: window!.trimEnd(),
    };
  }

  /** Returns the contents of the clipboard, newest first. */
  async clipboard(): Promise<string[]> {
    const names = (await this.tmux("list-buffers", "-F", "#{buffer_name}")).split("\n").filter((name) => name !== "");
    return Promise.all(names.map((name) => this.tmux("show-buffer", "-b", name)));
  }

  /** Waits until the screen shows this, and returns it. */
  async until(wanted: string | RegExp | ((screen: string) => boolean)): Promise<string> {
    const holds =
      typeof wanted === "function"
        ? wanted
        : (screen: string) => (typeof wanted === "string" ? screen.includes(wanted) : wanted.test(screen));
    const end = Date.now() + PATIENCE_MS;
    for (;;) {
      const screen = await this.screen();
      if (holds(screen)) return screen;
      if (Date.now() > end) throw new Error(`the terminal never showed ${String(wanted)}, but\n${screen}`);
      await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    }
  }

  /** Waits until the screen stays the same, apart from what `still` removes, and returns it. */
  async settled(still: (screen: string) => string): Promise<string> {
    let [last, since] = ["", performance.now()];
    return this.until((screen) => {
      if (still(screen) !== last) [last, since] = [still(screen), performance.now()];
      return performance.now() - since > SETTLED_MS;
    });
  }

  /** Returns the process that has the terminal and for which the shell waits. */
  async foreground(): Promise<number> {
    const shell = Number(await this.#control.ask("display-message", "-p", "#{pane_pid}"));
    const stat = readFileSync(`/proc/${shell}/stat`, "latin1");
    return Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[5]);
  }

  async close(): Promise<void> {
    running.delete(this);
    this.#control?.close();
    await this.tmux("kill-server").catch(() => {});
  }
}
