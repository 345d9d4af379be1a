/** Runs the dashboard on a real terminal, and restores the terminal however the program ends. */
import { writeFileSync } from "node:fs";
import { resolve } from "node:path";
import { render, type SuspendTerminal } from "ink";
import type { Client } from "../src/client/client.ts";
import { App } from "./app.tsx";
import type { Tab } from "./model/list.ts";
import type { Settings } from "./model/state.ts";
import { MouseReports, type MouseReport } from "./mouse/reports.ts";
import { Program, type Surroundings } from "./program.ts";
import { initialState } from "./state/reduce.ts";
import { unawaited } from "../src/domain/unawaited.ts";

export interface DashboardOptions {
  readonly client: Client;
  readonly settings: Settings;
  readonly tab: Tab;
  readonly filter: string;
  readonly stdin: NodeJS.ReadStream;
  readonly stdout: NodeJS.WriteStream;
}

/** A row that the terminal counts as wider than we do must not push the others down. */
const AUTOWRAP_OFF = "\x1b[?7l";
const AUTOWRAP_ON = "\x1b[?7h";
/**
 * Clears the cursor's line. The alternate screen begins where the cursor is, so text that was typed too early would
 * break the first row.
 */
const EMPTY_LINE = "\r\x1b[K";
/** Reports clicks and the wheel, but not movement alone, in the form whose end can be recognised (SGR). */
const [MOUSE_ON, MOUSE_OFF] = ["\x1b[?1000h\x1b[?1006h", "\x1b[?1006l\x1b[?1000l"];
const SIGNALS = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 } as const;

/**
 * Resolves with the exit code once the terminal is restored. Rejects with the error that ended the program, also after
 * that.
 */
export async function openDashboard({
  client,
  settings,
  tab,
  filter,
  stdin,
  stdout,
}: DashboardOptions): Promise<number> {
  let exit = 0;
  const hold = new Hold(stdout);
  const loan = new Loan(stdout, hold);
  const around = surroundingsOf({ stdout, loan, hold }, (code) => {
    exit = code;
    app.unmount();
  });
  const now = around.now();
  const program = new Program(initialState({ now, size: sizeOf(stdout), settings, tab, filter }), client, around);
  // The terminal would echo keys until Ink reads them.
  stdin.setRawMode(true);
  stdout.write(EMPTY_LINE);
  const app = render(<App program={program} onReady={(suspend) => loan.ready(suspend)} />, {
    stdin: withoutReports(stdin, (reports) => program.mouse(reports)),
    stdout,
    alternateScreen: true,
    incrementalRendering: true,
    interactive: true,
    exitOnCtrlC: false,
    patchConsole: true,
    isScreenReaderEnabled: false,
    maxFps: 30,
  });
  const leave = watchProcess({
    end: (code) => around.quit(code),
    crash: () => {
      app.unmount();
      hold.release();
    },
    release: () => hold.release(),
    resize: () => program.resize(sizeOf(stdout)),
    wake: () => around.redraw(),
    stdout,
  });
  hold.take();
  around.mouse(settings.mouse);
  program.start();
  try {
    // Ink waits until its output has arrived, which never happens on a terminal that is gone.
    await Promise.race([app.waitUntilExit(), terminalGone(stdin, stdout).then(() => around.quit(SIGNALS.SIGHUP))]);
  } finally {
    program.stop();
    stdin.setRawMode(false);
    hold.release();
    leave();
  }
  return exit;
}

/** The terminal's modes that we set in addition to Ink's. They are reset whenever the terminal is given back. */
class Hold {
  readonly #stdout: NodeJS.WriteStream;
  #isTaken = false;
  #mouse = false;

  constructor(stdout: NodeJS.WriteStream) {
    this.#stdout = stdout;
  }

  take(): void {
    this.#isTaken = true;
    this.#stdout.write(AUTOWRAP_OFF + (this.#mouse ? MOUSE_ON : ""));
  }

  release(): void {
    if (!this.#isTaken) return;
    this.#isTaken = false;
    // Reset the mouse even if it is off: a terminal left in this mode would type every click at the next prompt.
    this.#stdout.write(MOUSE_OFF + AUTOWRAP_ON);
  }

  mouse(isOn: boolean): void {
    if (this.#mouse === isOn) return;
    this.#mouse = isOn;
    if (this.#isTaken) this.#stdout.write(isOn ? MOUSE_ON : MOUSE_OFF);
  }
}

/** Returns the same stream without mouse reports. `tell` gets the reports before the keys of their chunk are read. */
function withoutReports(stdin: NodeJS.ReadStream, tell: (reports: readonly MouseReport[]) => void): NodeJS.ReadStream {
  const mouse = new MouseReports();
  const read = (): string | null => {
    const chunk = stdin.read() as string | Buffer | null;
    if (chunk === null) return null;
    const { text, reports } = mouse.take(String(chunk));
    tell(reports);
    return text;
  };
  return new Proxy(stdin, {
    get(target, name) {
      if (name === "read") return read;
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === "function" ? (value.bind(target) as unknown) : value;
    },
  });
}

interface Terminal {
  readonly stdout: NodeJS.WriteStream;
  readonly loan: Loan;
  readonly hold: Hold;
}

function surroundingsOf({ stdout, loan, hold }: Terminal, quit: (exit: number) => void): Surroundings {
  return {
    now: () => Date.now(),
    after(ms, run) {
      const timer = setTimeout(run, ms);
      return () => clearTimeout(timer);
    },
    mouse: (isOn) => hold.mouse(isOn),
    suspend: () => unawaited(loan.lend(stopped)),
    redraw: () => unawaited(loan.lend(async () => {})),
    // OSC 52: the terminal copies the text to the clipboard, even over ssh.
    copy: (text) => void stdout.write(`\x1b]52;c;${Buffer.from(text).toString("base64")}\x07`),
    save(name, text) {
      const path = resolve(name);
      writeFileSync(path, text, { mode: 0o600, flag: "wx" });
      return path;
    },
    quit,
  };
}

/** Lends the terminal to other programs for a while. */
class Loan {
  readonly #stdout: NodeJS.WriteStream;
  readonly #hold: Hold;
  #suspend: SuspendTerminal | null = null;
  #isLent = false;

  constructor(stdout: NodeJS.WriteStream, hold: Hold) {
    this.#stdout = stdout;
    this.#hold = hold;
  }

  ready(suspend: SuspendTerminal): void {
    this.#suspend = suspend;
  }

  /** Does nothing if the terminal is already lent, or not taken yet. */
  async lend(run: () => Promise<void>): Promise<void> {
    if (this.#suspend === null || this.#isLent) return;
    this.#isLent = true;
    await this.#suspend(async () => {
      this.#hold.release();
      await run();
      this.#stdout.write(EMPTY_LINE);
      this.#hold.take();
    });
    this.#isLent = false;
  }
}

/**
 * Resolves when the terminal can no longer be read or written. A hang-up sends a signal only to the session that the
 * terminal controls, so another dashboard would run for ever, unseen. The listeners stay, because restoring the
 * terminal fails as well.
 */
function terminalGone(stdin: NodeJS.ReadStream, stdout: NodeJS.WriteStream): Promise<void> {
  return new Promise((resolve) => {
    for (const event of ["end", "close", "error"]) stdin.on(event, () => resolve());
    for (const event of ["close", "error"]) stdout.on(event, () => resolve());
  });
}

function sizeOf({ columns, rows }: NodeJS.WriteStream) {
  // Under `docker exec` the size is only known after the first resize.
  return { columns: columns || 80, rows: rows || 24 };
}

/** Stops this process as the terminal would. Resolves when it continues. */
function stopped(): Promise<void> {
  return new Promise((resolve) => {
    process.once("SIGCONT", () => resolve());
    process.kill(0, "SIGTSTP");
  });
}

interface Watch {
  readonly end: (exit: number) => void;
  readonly crash: () => void;
  readonly release: () => void;
  readonly resize: () => void;
  readonly wake: () => void;
  readonly stdout: NodeJS.WriteStream;
}

function watchProcess({ end, crash, release, resize, wake, stdout }: Watch): () => void {
  const signals = Object.entries(SIGNALS).map(([name, code]) => [name, () => end(code)] as const);
  for (const [name, run] of signals) process.on(name, run);
  // Restore the terminal before the error is printed, because the alternate screen would lose it.
  process.prependListener("uncaughtException", crash);
  // Restore the terminal however else the process ends.
  process.on("exit", release);
  process.on("SIGCONT", wake);
  stdout.on("resize", resize);
  return () => {
    for (const [name, run] of signals) process.off(name, run);
    process.off("uncaughtException", crash);
    process.off("exit", release);
    process.off("SIGCONT", wake);
    stdout.off("resize", resize);
  };
}
