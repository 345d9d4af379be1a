/** The driver's side of the receivers. */
import { fork, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { watchOver } from "./children.ts";
import type { Home } from "./daemon.ts";
import type { Asked } from "./receivers.ts";

const PROGRAM = fileURLToPath(new URL("receivers.ts", import.meta.url));

export class ReceiversProcess {
  readonly port: number;
  readonly #child: ChildProcess;
  readonly #waiting = new Map<number, () => void>();
  readonly #lost: Promise<never>;
  #asked = 0;
  #stopped: Promise<void> | null = null;

  private constructor(child: ChildProcess, port: number) {
    this.port = port;
    this.#child = child;
    child.on("message", ({ done }: { done: number }) => {
      this.#waiting.get(done)?.();
      this.#waiting.delete(done);
    });
    this.#lost = once(child, "exit").then(([code]) => {
      throw new Error(`the receivers ended with ${code}`);
    });
    this.#lost.catch(() => {});
  }

  static async start(home: Home, seed: number, plant: string): Promise<ReceiversProcess> {
    const child = watchOver(
      fork(PROGRAM, [journalOf(home), String(seed), plant], {
        env: { ...process.env, NODE_COMPILE_CACHE: home.compileCache },
      }),
    );
    const [{ port }] = (await once(child, "message")) as [{ port: number }];
    return new ReceiversProcess(child, port);
  }

  /** Resolves when the receivers have done it. */
  ask(asked: Asked): Promise<void> {
    const number = ++this.#asked;
    const done = new Promise<void>((resolve) => this.#waiting.set(number, resolve));
    this.#child.send({ number, ...asked });
    return Promise.race([done, this.#lost]);
  }

  stop(): Promise<void> {
    return (this.#stopped ??= this.#stop());
  }

  async #stop(): Promise<void> {
    await this.ask({ ask: "end" }).catch(() => {});
    if (this.#child.connected) this.#child.disconnect();
    await this.#lost.catch(() => {});
  }
}

export function journalOf(home: Pick<Home, "dir">): string {
  return join(home.dir, "receivers.jsonl");
}
