import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { deadline, type Site } from "./site.ts";

const ALTERNATE_SCREEN = "\u001B[?1049";

/**
 * Opens the dashboard in its own terminal and quits it with its key. Returns how many milliseconds it took to draw, or
 * null if there is no `script` command to make a terminal.
 */
export async function openDashboard(site: Site): Promise<number | null> {
  if (spawnSync("script", ["--version"]).status !== 0) return null;
  const began = performance.now();
  const words = ["tui", "--screen", "events", "--socket", `${site.dataDir}/webhookd.sock`];
  const command = [...site.command, ...words].map((word) => `'${word}'`).join(" ");
  const env = { ...site.env, PATH: process.env.PATH, TERM: "xterm-256color", LANG: "C.UTF-8" };
  const terminal = spawn("script", ["-qefc", `stty cols 160 rows 40; exec ${command}`, "/dev/null"], { env });
  const silence = setTimeout(() => terminal.kill("SIGKILL"), 60_000);
  try {
    let screen = "";
    let drawnMs: number | null = null;
    const exit = once(terminal, "exit", deadline());
    for await (const chunk of terminal.stdout) {
      screen += String(chunk);
      if (drawnMs !== null || !screen.includes(`${ALTERNATE_SCREEN}h`) || !screen.includes("budget.exceeded")) continue;
      drawnMs = performance.now() - began;
      terminal.stdin.write("q");
    }
    assert.deepEqual(await exit, [0, null], `the dashboard ends with 0\n${screen}`);
    assert.ok(drawnMs !== null, `the dashboard shows the event\n${screen}`);
    assert.ok(screen.includes(`${ALTERNATE_SCREEN}l`), "the dashboard gives the terminal back");
    return drawnMs;
  } finally {
    clearTimeout(silence);
    terminal.kill("SIGKILL");
  }
}
