/**
 * Compiles the scripts of a bundle: runs it as a daemon, lets it deliver an event, and keeps the code that V8 compiled
 * for that. It must run on the Node that the bundle is for:
 *
 *   node scripts/package/code.ts <bundle>
 */
import { once } from "node:events";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, request } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { codeOf, runProgram } from "../../src/bundle.ts";

const LOOK_MS = 5;

const bundle = resolve(process.argv[2]!);
const dir = mkdtempSync(join(tmpdir(), "webhookd-code-"));
const socketPath = join(dir, "webhookd.sock");
/** The daemon sets a strict umask, but others must be able to read the compiled code. */
const umask = process.umask();
const receiver = createServer((request, response) => {
  request.resume();
  // The daemon takes a while to stop, and records the attempt before it ends.
  response.end(() => process.kill(process.pid, "SIGTERM"));
});
receiver.listen(0, "127.0.0.1");
await once(receiver, "listening");

for (const name of Object.keys(process.env)) if (name.startsWith("WEBHOOKD_")) delete process.env[name];
Object.assign(process.env, { HOME: dir, WEBHOOKD_DATA_DISK_FLOOR: "1MiB" });
const flags = ["--dev", "--listen", "127.0.0.1:0", "--socket", socketPath, "--data-dir", join(dir, "data")];
process.argv = [process.execPath, bundle, "serve", ...flags];
process.chdir(dir);
const scripts = runProgram(bundle);
// The program ends the process itself, so the rest happens on exit.
process.on("exit", (code) => {
  process.umask(umask);
  if (code === 0)
    for (const [name, script] of scripts) writeFileSync(join(bundle, codeOf(name)), script.createCachedData());
  rmSync(dir, { recursive: true, force: true });
});

while (!existsSync(socketPath)) await sleep(LOOK_MS);
const { port } = receiver.address() as AddressInfo;
await post("/v1/webhooks", { url: `http://127.0.0.1:${port}/`, events: ["goal.achieved"] });
await post("/v1/webhooks/events", { type: "goal.achieved", data: { goal_id: "goal_1" } });

async function post(path: string, body: object): Promise<void> {
  const headers = { "content-type": "application/json" };
  const sent = request({ socketPath, method: "POST", path, headers }).end(JSON.stringify(body));
  const [response] = await once(sent, "response");
  response.resume();
  if (response.statusCode >= 300) throw new Error(`${path} was answered ${response.statusCode}`);
}
