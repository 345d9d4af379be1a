/** The dashboard as users run it: started at a prompt, and quit to the prompt again. */
import { expect } from "vitest";
import { MAIN } from "../harness/process.ts";
import { Tmux, type TerminalState, type TmuxOptions } from "./tmux.ts";

export interface RunOptions extends TmuxOptions {
  /** The daemon's socket. */
  readonly socket: string;
  readonly flags?: string;
  /** The screen to open. Null opens the default screen. */
  readonly screen?: string | null;
  /** A text that is on the screen once it is open. */
  readonly shows?: string | RegExp;
  /** Replaces the program of this checkout. */
  readonly program?: string;
}

export class RunningDashboard {
  readonly terminal: Tmux;
  /** Milliseconds from the command until the screen shows. */
  readonly openedMs: number;
  readonly #before: { readonly modes: string; readonly state: TerminalState };

  private constructor(terminal: Tmux, before: { modes: string; state: TerminalState }, openedMs: number) {
    this.terminal = terminal;
    this.openedMs = openedMs;
    this.#before = before;
  }

  static async open({
    socket,
    flags = "",
    screen = "events",
    shows = "● live",
    program,
    ...options
  }: RunOptions): Promise<RunningDashboard> {
    const terminal = await Tmux.start(options);
    const before = { modes: await modesOf(terminal), state: await terminal.state() };
    const began = performance.now();
    await terminal.command(
      `clear; echo what was there before; ${program ?? `node ${MAIN}`} tui --socket ${socket} ${screen === null ? "" : `--screen ${screen}`} ${flags}`,
    );
    await terminal.until(shows);
    return new RunningDashboard(terminal, before, performance.now() - began);
  }

  /** Waits for the dashboard to end with this exit code. The terminal must be as it was before. */
  async isOver(exit: number): Promise<string> {
    const { terminal } = this;
    await terminal.until((screen) => screen.trimEnd().endsWith("$"));
    const left = await terminal.screen();
    await terminal.command('echo "exit=$?"');
    await terminal.until(`exit=${exit}`);
    expect(await terminal.state()).toEqual(this.#before.state);
    expect(await modesOf(terminal)).toBe(this.#before.modes);
    return left;
  }
}

/** Returns the modes of the line discipline, such as echo, signals and line editing. */
async function modesOf(terminal: Tmux): Promise<string> {
  await terminal.command('clear; echo "modes=$(stty -g)="');
  const screen = await terminal.until(/modes=[0-9a-f:\n]{20,}=/);
  return /modes=([0-9a-f:\n]+)=/.exec(screen)![1]!.replaceAll("\n", "");
}
