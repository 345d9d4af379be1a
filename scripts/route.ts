/**
 * Lists the files that one event passes, in order, from its POST until its attempt is recorded: with one endpoint that
 * answers 200, one sender thread, and everything warm. The daemon runs as usual, except for its chores. Each function
 * has a breakpoint that never stops it, but records the entry.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { Agent, createServer, type IncomingMessage, request } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { scriptArguments } from "./arguments.ts";
import { Inspector, type Entry } from "./inspector.ts";
import { listed, withRoute } from "./route-page.ts";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
/** Only files that each of these events passes are listed. */
const EVENTS = 5;
const WARM_UP = 30;
/** The daemon reuses a connection once it has been silent for this long. */
const SILENT_MS = 3000;
/** The result of an attempt is recorded within milliseconds. */
const LOOK_MS = 50;
const QUIET_LOOKS = 10;
const SOURCES = `file://${ROOT}src/`;

const USAGE = `npm run route -- [--json] [--write]

Prints the files that one event passes, from POST to the recorded attempt. --write puts them into ARCHITECTURE.md.`;

const { values } = scriptArguments(USAGE, {
  json: { type: "boolean", default: false },
  write: { type: "boolean", default: false },
});
const dir = mkdtempSync(join(tmpdir(), "webhookd-route-"));
process.once("exit", () => rmSync(dir, { recursive: true, force: true }));
// Without this, a timeout on a busy machine would leave the daemon running.
process.once("SIGTERM", () => process.exit(143));

let arrived = () => {};
const receiver = createServer((request, response) => {
  request.resume().once("end", () => {
    response.end();
    arrived();
  });
});
// The receiver must keep its connections, or opening a new one would be part of the route.
receiver.keepAliveTimeout = 0;
await new Promise<void>((resolve) => receiver.listen(0, "127.0.0.1", resolve));

const daemon = spawn(process.execPath, ["--inspect=127.0.0.1:0", join(ROOT, "scripts/route-daemon.ts"), dir], {
  stdio: ["ignore", "pipe", "pipe"],
});
process.once("exit", () => daemon.kill("SIGKILL"));
const [url, inspectorUrl] = await Promise.all([
  lineOf(daemon.stdout, (line) => (line.includes('"listening"') ? (JSON.parse(line) as { url: string }).url : null)),
  lineOf(daemon.stderr, (line) => /Debugger listening on (ws:\S+)/u.exec(line)?.[1] ?? null),
]);
const key = readFileSync(join(dir, "admin.key"), "utf8").trim();
// Publishers send hardly anything but events, and different code reads a connection that has carried another request.
const registration = {
  url: `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/`,
  events: ["goal.achieved"],
};
await post("/v1/webhooks", registration, new Agent());
const publisher = new Agent({ keepAlive: true });

const inspector = await Inspector.connect(inspectorUrl);
const targets = await inspector.targets();
for (let warm = 0; warm < WARM_UP; warm++) await publish();
await sleep(SILENT_MS);
for (const target of targets) await target.watch(SOURCES);
for (let warm = 0; warm < 2; warm++) await publish();
await settled();
for (const target of targets) await target.noteEntries();

const ways: string[][] = [];
while (ways.length < EVENTS) {
  await publish();
  ways.push([...new Set((await settled()).map(([file]) => `src/${file}`))]);
}
const route = ways[0]!.filter((file) => ways.every((way) => way.includes(file)));
inspector.close();
daemon.kill("SIGTERM");
if (values.write) {
  const page = join(ROOT, "ARCHITECTURE.md");
  writeFileSync(page, withRoute(readFileSync(page, "utf8"), route));
}
console.log(values.json ? JSON.stringify(route) : listed(route));
process.exit(0);

/**
 * Sends head and body in one piece, even on a busy machine, because different code reads a request that comes in two.
 */
async function post(path: string, body: object, agent: Agent): Promise<void> {
  const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
  const sent = request(url + path, { method: "POST", headers, agent }).end(JSON.stringify(body));
  const [answer] = (await once(sent, "response")) as [IncomingMessage];
  answer.resume();
  await once(answer, "end");
  if (answer.statusCode! >= 300) throw new Error(`POST ${path} was answered ${answer.statusCode}`);
}

/** Resolves when an event has arrived. */
async function publish(): Promise<void> {
  const there = new Promise<void>((resolve) => (arrived = resolve));
  await post("/v1/webhooks/events", { type: "goal.achieved", data: { goal_id: "goal_1" } }, publisher);
  await there;
}

/** Returns the entries since the last call, in order, once there has been none for a while. */
async function settled(): Promise<Entry[]> {
  const entries: Entry[] = [];
  for (let quiet = 0; quiet < QUIET_LOOKS;) {
    await sleep(LOOK_MS);
    const more = (await Promise.all(targets.map((target) => target.entries()))).flat();
    entries.push(...more);
    quiet = more.length === 0 ? quiet + 1 : 0;
  }
  return entries.toSorted(([, a], [, b]) => a - b);
}

function lineOf(stream: Readable, find: (line: string) => string | null): Promise<string> {
  const found = Promise.withResolvers<string>();
  createInterface({ input: stream }).on("line", (line) => {
    const part = find(line);
    if (part !== null) found.resolve(part);
  });
  return found.promise;
}
