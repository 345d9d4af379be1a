/**
 * Tests an executable as users run it: alone in an empty directory, without this checkout, its environment, its home
 * directory or a network.
 *
 * node test/package/executable.ts dist/webhookd [--through <emulator>]
 */
import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { createHmac } from "node:crypto";
import { once } from "node:events";
import { existsSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { createServer, type IncomingHttpHeaders, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { userInfo } from "node:os";
import { join } from "node:path";
import { buffer } from "node:stream/consumers";
import { parseArgs } from "node:util";
import { COMMANDS } from "../../cli/commands.ts";
import { openDashboard } from "./dashboard.ts";
import { listensOnce } from "./listening.ts";
import { deadline, Site, type Daemon } from "./site.ts";

/** Milliseconds within which the executable should respond on an idle machine, and its size in bytes. */
const BUDGET = { version: 120, listening: 200, dashboard: 400, bytes: 115e6 };

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { through: { type: "string" }, offline: { type: "boolean" } },
});
const file = positionals[0] ?? "dist/webhookd";
const emulator = values.through ?? null;
/** Times measured in an emulator mean nothing. */
const STARTS = emulator === null ? 7 : 1;
if (!values.offline && withoutNetwork(["--version"]) === 0) {
  process.exitCode = withoutNetwork([...process.argv.slice(1), "--offline"]);
} else {
  if (!values.offline)
    say("NOT SHOWN: that it needs no network (unshare and ip are what this takes, and the right to)");
  await prove(new Site(file, emulator));
}

/** Runs Node with these words where only the loopback interface exists. Returns its exit code. */
function withoutNetwork(words: readonly string[]): number {
  const script = 'ip link set lo up && exec "$0" "$@"';
  const stdio = words.length === 1 ? "ignore" : "inherit";
  return spawnSync("unshare", ["-rn", "sh", "-c", script, process.execPath, ...words], { stdio }).status ?? 1;
}

async function prove(site: Site): Promise<void> {
  try {
    sizeIsKept();
    await answersVersion(site);
    await refusesUnknownFlag(site);
    await helpsWithEveryCommand(site);
    await startsAndStops(site);
    await delivers(site);
    await heedsNoSwitchOfNode(site);
    assert.deepEqual(site.strays(), [], "nothing is written outside of the data directory");
    const where = values.offline ? ", without a network" : "";
    say(`alone in a directory${where}: nothing was written but ${site.dataDir.split("/").pop()}/`);
  } finally {
    site.remove();
  }
}

function sizeIsKept(): void {
  const { size } = statSync(file);
  if (emulator === null) assert.ok(size <= BUDGET.bytes, `${size} bytes are more than ${BUDGET.bytes}`);
}

async function answersVersion(site: Site): Promise<void> {
  const packageJson = readFileSync(new URL("../../package.json", import.meta.url), "utf8");
  const { version } = JSON.parse(packageJson) as { version: string };
  const times: number[] = [];
  const bare: number[] = [];
  for (let start = 0; start < STARTS; start++) {
    const began = performance.now();
    const { code, stdout, stderr } = await site.run(["--version"], {});
    times.push(performance.now() - began);
    assert.equal(code, 0, stderr);
    assert.equal(stdout, `webhookd ${version}\n`);
    bare.push(bareStart());
  }
  report("--version", times, BUDGET.version, bare);
}

function bareStart(): number {
  const began = performance.now();
  execFileSync(process.execPath, ["-e", "0"], { env: {} });
  return performance.now() - began;
}

async function refusesUnknownFlag(site: Site): Promise<void> {
  const { code, stdout, stderr } = await site.run(["serve", "--no-such-flag"]);
  assert.equal(code, 2, `an unknown flag is exit 2\n${stderr}`);
  assert.equal(stdout, "");
  assert.match(stderr, /--no-such-flag/);
}

async function helpsWithEveryCommand(site: Site): Promise<void> {
  for (const name of Object.keys(COMMANDS)) {
    const { code, stdout, stderr } = await site.run([...name.split(" "), "--help"], {});
    assert.equal(code, 0, `${name} --help is exit ${code}\n${stderr}`);
    assert.match(stdout, new RegExp(`webhookd ${name}`), `${name} --help`);
  }
  say(`${Object.keys(COMMANDS).length} commands show their help`);
}

async function startsAndStops(site: Site): Promise<void> {
  const times: number[] = [];
  const bare: number[] = [];
  for (let start = 0; start < STARTS; start++) {
    const daemon = await site.serve();
    try {
      times.push(daemon.startedMs);
      const health = await fetch(new URL("/healthz", daemon.url));
      assert.match(await health.text(), /ok/);
      await daemon.stop();
    } finally {
      daemon.kill();
    }
    bare.push(bareStart());
  }
  report("serve until listening", times, BUDGET.listening, bare);
}

/** Delivers an event, through SQLite and the sender's thread. Then runs an operator's commands. */
async function delivers(site: Site): Promise<void> {
  const daemon = await site.serve();
  const receiver = createServer();
  receiver.listen(0, "127.0.0.1");
  await once(receiver, "listening");
  try {
    const event = await deliversOne(daemon, receiver);
    const again = receiveOne(receiver);
    assert.match(await site.ask("replay", event, "--force"), /Delivered\./);
    await again;
    const backup = (await site.ask("backup")).trim();
    assert.ok(backup.startsWith(join(site.dataDir, "")) && existsSync(backup), `a backup is in ${backup}`);
    await site.ask("status", "--wait");
    await listensOnce(site, () => daemon.post("/v1/webhooks/events", { type: "goal.achieved", data: {} }));
    await opensDashboard(site);
    await knowsCaller(daemon);
    await daemon.stop();
    const words = ["--data-dir", `${site.dataDir}-restored`, "--secret-key", join(site.dataDir, "secret.key"), "--yes"];
    const { code, stderr } = await site.run(["restore", backup, ...words]);
    assert.equal(code, 0, `restore is exit ${code}\n${stderr}`);
    say("an event was delivered with a signature that verifies, and replayed; listen heard another");
    say("a backup was made while it ran, and restored");
  } finally {
    daemon.kill();
    receiver.close();
    receiver.closeAllConnections();
  }
}

/** Checks the audit entries of the calls over the socket, which commands of this user made. */
async function knowsCaller(daemon: Daemon): Promise<void> {
  const { data } = await daemon.get<{ data: { actor: string; uid: number | null; user: string | null }[] }>(
    "/v1/audit",
  );
  const callers = data.filter(({ actor }) => actor === "socket").map(({ uid, user }) => ({ uid, user }));
  const { uid, username: user } = userInfo();
  const caller = process.platform === "linux" ? { uid, user } : { uid: null, user: null };
  assert.ok(callers.length > 0, "commands over the socket are in the audit log");
  for (const found of callers) assert.deepEqual(found, caller);
  if (caller.uid !== null) say(`commands over the socket are audited as ${caller.user}, uid ${caller.uid}`);
}

/** Threads read NODE_OPTIONS themselves, so they are tested too. */
async function heedsNoSwitchOfNode(site: Site): Promise<void> {
  const ran = join(site.directory, "home", "ran");
  const code = join(site.directory, "home", "code.cjs");
  writeFileSync(code, `require("node:fs").writeFileSync(${JSON.stringify(ran)}, "");`);
  const daemon = await site.serve({ NODE_OPTIONS: `--require ${code} --inspect=127.0.0.1:0` });
  try {
    daemon.signal("SIGUSR1");
    await daemon.post("/v1/webhooks/events", { type: "goal.achieved", data: {} });
    await daemon.stop();
    assert.ok(!existsSync(ran), "NODE_OPTIONS runs no code");
    assert.equal(daemon.stderr, "", "neither NODE_OPTIONS nor SIGUSR1 opens a debugger");
    say("NODE_OPTIONS runs nothing, and SIGUSR1 opens no debugger");
  } finally {
    daemon.kill();
    rmSync(code);
  }
}

async function opensDashboard(site: Site): Promise<void> {
  const times: number[] = [];
  for (let start = 0; start < Math.min(STARTS, 3); start++) {
    const time = await openDashboard(site);
    if (time === null) return say("NOT SHOWN: that the dashboard opens (script, of util-linux, makes the terminal)");
    times.push(time);
  }
  report("tui until drawn", times, BUDGET.dashboard, [bareStart(), bareStart(), bareStart()]);
}

async function deliversOne(daemon: Daemon, receiver: Server): Promise<string> {
  const received = receiveOne(receiver);
  const { port } = receiver.address() as AddressInfo;
  const url = `http://127.0.0.1:${port}/hook`;
  const endpoint = await daemon.post("/v1/webhooks", { url, events: ["budget.exceeded"] });
  const event = await daemon.post("/v1/webhooks/events", { type: "budget.exceeded", data: { spent: 1 } });
  const { headers, body } = await received;
  assert.equal((JSON.parse(body.toString()) as { id: string }).id, event.id);
  const signature = createHmac("sha256", endpoint.signing_secret!).update(body).digest("hex");
  assert.equal(headers["x-service-signature"], signature);
  return event.id!;
}

async function receiveOne(receiver: Server): Promise<{ headers: IncomingHttpHeaders; body: Buffer }> {
  const [request, response] = await once(receiver, "request", deadline());
  const body = await buffer(request);
  response.end();
  return { headers: request.headers, body };
}

function report(what: string, times: readonly number[], budget: number, bare: readonly number[]): void {
  if (emulator !== null) return;
  const verdict = median(times) <= budget ? "" : ", over budget: was the machine busy?";
  const ratio = (median(times) / median(bare)).toFixed(1);
  const best = Math.round(Math.min(...times));
  say(
    `${what}: ${median(times)} ms, at best ${best} (budget ${budget}${verdict}), ${ratio} times the start of bare Node`,
  );
}

function median(times: readonly number[]): number {
  return Math.round(times.toSorted((a, b) => a - b)[times.length >> 1]!);
}

function say(sentence: string): void {
  console.log(`  ${sentence}`);
}
