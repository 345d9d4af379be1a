/**
 * Proves an executable as a user meets it: alone in an empty directory, with an empty environment.
 *
 *   node test/package/executable.ts dist/webhookd
 */
import assert from "node:assert/strict";
import { execFile, spawn, type ChildProcess } from "node:child_process";
import { createHmac } from "node:crypto";
import { once } from "node:events";
import { copyFileSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { createServer, type IncomingHttpHeaders, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { createInterface } from "node:readline";
import { buffer } from "node:stream/consumers";

/** Milliseconds within which the executable should answer, when the machine has nothing else to do. */
const BUDGET = { version: 120, listening: 200 };
const STARTS = 5;

const file = process.argv[2] ?? "dist/webhookd";
const home = mkdtempSync(join(tmpdir(), "webhookd-executable-"));
const executable = join(home, basename(file));
const dataDir = join(home, "data");
const alone = { cwd: home, env: { HOME: home } };
try {
  copyFileSync(file, executable);
  await answersVersion();
  await refusesUnknownFlag();
  await deliversEvent();
  assert.deepEqual(readdirSync(home).toSorted(), ["data", basename(file)], "serve writes to its data directory only");
} finally {
  rmSync(home, { recursive: true, force: true });
}

async function answersVersion(): Promise<void> {
  const packageJson = readFileSync(new URL("../../package.json", import.meta.url), "utf8");
  const { version } = JSON.parse(packageJson) as { version: string };
  const times: number[] = [];
  for (let start = 0; start < STARTS; start++) {
    const began = performance.now();
    const { code, stdout } = await run(["--version"]);
    times.push(performance.now() - began);
    assert.equal(code, 0);
    assert.equal(stdout, `webhookd ${version}\n`);
  }
  report("--version", times, BUDGET.version);
}

async function refusesUnknownFlag(): Promise<void> {
  const { code, stdout, stderr } = await run(["serve", "--no-such-flag"]);
  assert.equal(code, 2, `an unknown flag is exit 2\n${stderr}`);
  assert.equal(stdout, "");
  assert.match(stderr, /--no-such-flag/);
}

/** Publishes an event, through SQLite, and receives it, signed on the sender's thread, from the first of several daemons on one data directory. */
async function deliversEvent(): Promise<void> {
  const times: number[] = [];
  for (let start = 0; start < STARTS; start++) {
    const daemon = await startDaemon();
    try {
      times.push(daemon.startedMs);
      const health = await fetch(new URL("/healthz", daemon.url));
      assert.match(await health.text(), /ok/);
      if (start === 0) await publishAndReceive(daemon);
      daemon.process.kill("SIGTERM");
      const [code] = (await once(daemon.process, "exit", deadline())) as [number | null];
      assert.equal(code, 0, "SIGTERM ends serve with 0");
    } finally {
      daemon.process.kill("SIGKILL");
    }
  }
  report("serve until listening", times, BUDGET.listening);
}

interface Daemon {
  readonly process: ChildProcess;
  readonly url: string;
  readonly startedMs: number;
}

async function startDaemon(): Promise<Daemon> {
  const began = performance.now();
  const daemon = spawn(executable, ["serve", "--dev", "--data-dir", dataDir, "--listen", "127.0.0.1:0"], {
    ...alone,
    stdio: ["ignore", "pipe", "inherit"],
  });
  const lines: string[] = [];
  const silence = setTimeout(() => daemon.kill("SIGKILL"), 10_000);
  for await (const line of createInterface({ input: daemon.stdout })) {
    lines.push(line);
    const { msg, url } = JSON.parse(line) as { msg: string; url: string };
    if (msg !== "listening") continue;
    clearTimeout(silence);
    const startedMs = performance.now() - began;
    daemon.stdout.resume();
    return { process: daemon, url, startedMs };
  }
  clearTimeout(silence);
  throw new Error(`serve ended before it listened:\n${lines.join("\n")}`);
}

async function publishAndReceive(daemon: Daemon): Promise<void> {
  const receiver = createServer();
  receiver.listen(0, "127.0.0.1");
  await once(receiver, "listening");
  try {
    const received = receiveOne(receiver);
    const { port } = receiver.address() as AddressInfo;
    const endpoint = await post(daemon, "/v1/webhooks", {
      url: `http://127.0.0.1:${port}/hook`,
      events: ["budget.exceeded"],
    });
    const event = await post(daemon, "/v1/webhooks/events", { type: "budget.exceeded", data: { spent: 1 } });
    const { headers, body } = await received;
    assert.equal((JSON.parse(body.toString()) as { id: string }).id, event.id);
    assert.equal(
      headers["x-service-signature"],
      createHmac("sha256", endpoint.signing_secret!).update(body).digest("hex"),
    );
    console.log("an event was published, delivered and its signature verified");
  } finally {
    receiver.close();
    receiver.closeAllConnections();
  }
}

async function receiveOne(receiver: Server): Promise<{ headers: IncomingHttpHeaders; body: Buffer }> {
  const [request, response] = await once(receiver, "request", deadline());
  const body = await buffer(request);
  response.end();
  return { headers: request.headers, body };
}

async function post(daemon: Daemon, path: string, body: object): Promise<Record<string, string>> {
  const key = readFileSync(join(dataDir, "admin.key"), "utf8").trim();
  const response = await fetch(new URL(path, daemon.url), {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    body: JSON.stringify(body),
    ...deadline(),
  });
  const text = await response.text();
  assert.ok(response.ok, `POST ${path}: ${response.status} ${text}`);
  return JSON.parse(text) as Record<string, string>;
}

function run(args: string[]): Promise<{ code: number; stdout: string; stderr: string }> {
  return new Promise((resolve) => {
    const child = execFile(executable, args, { ...alone, timeout: 10_000 }, (_, stdout, stderr) =>
      resolve({ code: child.exitCode ?? -1, stdout, stderr }),
    );
  });
}

function deadline(): { signal: AbortSignal } {
  return { signal: AbortSignal.timeout(10_000) };
}

function report(what: string, times: number[], budget: number): void {
  const sorted = times.toSorted((a, b) => a - b).map(Math.round);
  const median = sorted[sorted.length >> 1]!;
  const verdict = median <= budget ? "" : ", over budget: was the machine busy?";
  console.log(`${what}: ${median} ms, at best ${sorted[0]} (budget ${budget}${verdict})`);
}
