import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { deadline, type Site } from "./site.ts";

/** Runs `listen --register --once` and calls `publish`. The first request must verify and end the command. */
export async function listensOnce(site: Site, publish: () => Promise<unknown>): Promise<void> {
  const [command, ...before] = site.command as [string];
  const words = [
    "listen",
    "--register",
    "--once",
    "--port",
    "0",
    "--json",
    "--socket",
    `${site.dataDir}/webhookd.sock`,
  ];
  const listener = spawn(command, [...before, ...words], {
    cwd: site.directory,
    env: site.env,
    stdio: ["ignore", "pipe", "inherit"],
  });
  const silence = setTimeout(() => listener.kill("SIGKILL"), 60_000);
  try {
    const exit = once(listener, "exit", deadline());
    const kinds: string[] = [];
    for await (const line of createInterface({ input: listener.stdout })) {
      const { kind } = JSON.parse(line) as { kind: string };
      kinds.push(kind);
      if (kind === "listening") await publish();
    }
    assert.deepEqual(await exit, [0, null], `listen ends with 0 after ${kinds.join(", ")}`);
  } finally {
    clearTimeout(silence);
    listener.kill("SIGKILL");
  }
}
