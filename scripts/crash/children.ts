/** Kills our child processes when this process ends, however it ends. If it is killed, the receivers do that. */
import type { ChildProcess } from "node:child_process";

const running = new Set<ChildProcess>();

process.once("exit", () => {
  for (const child of running) child.kill("SIGKILL");
});

export function watchOver<T extends ChildProcess>(child: T): T {
  running.add(child);
  child.once("exit", () => running.delete(child));
  return child;
}
