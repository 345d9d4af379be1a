/** Runs the real program in a real terminal: a separate tmux server, whose screen is read as a person would. */
import { execFileSync } from "node:child_process";
import { setTimeout as sleep } from "node:timers/promises";

export interface Size {
  readonly columns: number;
  readonly rows: number;
}

/** A busy machine may need this long. */
const PATIENCE_MS = 60_000;
const LOOK_EVERY_MS = 100;

export class Terminal {
  readonly #server = `webhookd-screens-${process.pid}`;

  constructor(
    { columns, rows }: Size,
    folder: string,
    command: readonly string[],
    env: Readonly<Record<string, string>>,
  ) {
    const variables = Object.entries(env).flatMap(([name, value]) => ["-e", `${name}=${value}`]);
    const size = ["-x", String(columns), "-y", String(rows)];
    this.#tmux("-f", "/dev/null", "-u", "new-session", "-d", "-c", folder, ...size, ...variables, ...command);
  }

  resize({ columns, rows }: Size): void {
    this.#tmux("resize-window", "-x", String(columns), "-y", String(rows));
  }

  type(...keys: readonly string[]): void {
    this.#tmux("send-keys", ...keys);
  }

  /** Resolves to the screen with its colours, once it shows this text and has stopped changing. */
  async showing(text: string): Promise<string> {
    const end = Date.now() + PATIENCE_MS;
    let before = "";
    for (;;) {
      await sleep(LOOK_EVERY_MS);
      const now = this.#tmux("capture-pane", "-e", "-p", "-N");
      if (now === before && this.#tmux("capture-pane", "-p").includes(text)) return now;
      if (Date.now() > end) throw new Error(`the dashboard does not show "${text}":\n${now}`);
      before = now;
    }
  }

  close(): void {
    this.#tmux("kill-server");
  }

  #tmux(...words: readonly string[]): string {
    return execFileSync("tmux", ["-L", this.#server, ...words], { encoding: "utf8" });
  }
}
