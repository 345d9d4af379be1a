/**
 * Compiles the parts of a bundle: starts its daemon, has it deliver an event, and keeps what V8 compiled for that. Runs on
 * the Node that the bundle is for:
 *
 *   node scripts/package/code.ts <bundle>
 */
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { CODE, loadCompiled } from "../../src/compiled.ts";
import { loadConfig } from "../../src/config.ts";

/** The daemon makes files that are its user's alone. */
const umask = process.umask();
const [bundle] = process.argv.slice(2) as [string];
const { script, parts } = loadCompiled(bundle);
const { startDaemon } = parts["src/daemon.ts"]!() as typeof import("../../src/daemon.ts");
const { createLog } = parts["src/log.ts"]!() as typeof import("../../src/log.ts");

const dir = mkdtempSync(join(tmpdir(), "webhookd-code-"));
let arrived = () => {};
const arrival = new Promise<void>((resolve) => (arrived = resolve));
const receiver = createServer((request, response) => {
  request.resume();
  response.end(arrived);
});
try {
  receiver.listen(0, "127.0.0.1");
  await once(receiver, "listening");
  const config = loadConfig({
    flags: { dev: true },
    env: { WEBHOOKD_DATA_DIR: dir, WEBHOOKD_DATA_DISK_FLOOR: "1MiB", WEBHOOKD_SERVER_LISTEN: "127.0.0.1:0" },
    cwd: dir,
    home: dir,
    root: false,
    platform: process.platform,
    checkout: null,
    readFile: () => null,
    exists: () => false,
  });
  const daemon = await startDaemon(config, { log: createLog({ format: "json", level: "info", write() {} }) });
  await publish(daemon.url, readFileSync(daemon.adminKeyFile!, "utf8").trim());
  await arrival;
  await daemon.idle();
  await daemon.stop();
} finally {
  receiver.close();
  rmSync(dir, { recursive: true, force: true });
}
process.umask(umask);
writeFileSync(join(bundle, CODE), script.createCachedData());
process.exit(0);

async function publish(url: string, key: string): Promise<void> {
  const post = async (path: string, body: object) => {
    const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
    const response = await fetch(url + path, { method: "POST", headers, body: JSON.stringify(body) });
    if (!response.ok) throw new Error(`${path} was answered ${response.status}: ${await response.text()}`);
  };
  const { port } = receiver.address() as AddressInfo;
  await post("/v1/webhooks", { url: `http://127.0.0.1:${port}/`, events: ["goal.achieved"] });
  await post("/v1/webhooks/events", { type: "goal.achieved", data: { goal_id: "goal_1" } });
}
