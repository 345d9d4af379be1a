/**
 * Installs a release in each way that docs/install.md names, into an empty directory, then serves and publishes there.
 */
import assert from "node:assert/strict";
import { execFileSync, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { appendFileSync, cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { thisMachine } from "../package/targets.ts";
import { missingForChroot } from "./try/chroot.ts";
import { tryImage } from "./try/image.ts";
import { tryDebianPackage } from "./try/debian.ts";

export async function tryRelease(directory: string): Promise<void> {
  const files = readdirSync(directory);
  const named = (pattern: RegExp) => files.find((file) => pattern.test(file));
  const scratch = mkdtempSync(join(tmpdir(), "webhookd-try-"));
  try {
    console.log("npx:");
    await tryNpx(join(directory, named(/^webhookd-.*\.tgz$/)!), empty(scratch, "npx"));
    console.log("install.sh:");
    await tryInstaller(directory, empty(scratch, "install"));

    const missing = missingForChroot();
    if (missing !== null) return console.log(`NOT TRIED, because this needs ${missing}: the Debian package, the image`);
    const debian = named(new RegExp(`_${{ x64: "amd64", arm64: "arm64" }[process.arch as "x64"]}\\.deb$`));
    console.log("the Debian package:");
    if (debian === undefined) console.log("  NOT TRIED: the release has none for this machine");
    else await tryDebianPackage(join(directory, debian));
    console.log("the image's steps:");
    await tryImage(directory, join(directory, named(new RegExp(`-${thisMachine()?.name}$`))!));
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

function empty(scratch: string, name: string): string {
  const directory = join(scratch, name);
  mkdirSync(directory);
  return directory;
}

/** Works without a network, because nothing else may be installed with it. */
async function tryNpx(archive: string, directory: string): Promise<void> {
  const npx = ["--yes", "--offline", `--package=${archive}`, "--", "webhookd"];
  const env = { PATH: process.env.PATH, HOME: directory, npm_config_update_notifier: "false" };
  const event = await serveAndPublish("npx", npx, { cwd: directory, env });
  console.log(`  npx webhookd serve, offline, on Node ${process.version}: published ${event}`);
}

/** Tries the installer with a sound release, and with one that has an extra byte. */
async function tryInstaller(directory: string, scratch: string): Promise<void> {
  const release = join(scratch, "release");
  cpSync(directory, release, { recursive: true });
  const isSigned = readdirSync(release).includes("SHA256SUMS.sig");
  const words = [join(release, "install.sh"), "--from", release, ...(isSigned ? [] : ["--unsigned"])];
  const env = { PATH: process.env.PATH, HOME: scratch };
  const install = () => spawnSync("sh", words, { cwd: scratch, env, encoding: "utf8" });
  const { status, stdout, stderr } = install();
  assert.equal(status, 0, stderr);
  console.log(stdout.trimEnd().replaceAll(/^/gm, "  "));
  const event = await serveAndPublish(join(scratch, ".local/bin/webhookd"), [], { cwd: scratch, env });
  console.log(`  published ${event}`);
  const sums = readFileSync(join(release, "SHA256SUMS"), "utf8");
  const [, name = ""] = new RegExp(`  (\\S+-${thisMachine()?.name})$`, "m").exec(sums)!;
  appendFileSync(join(release, name), "\n");
  const broken = install();
  assert.equal(broken.status, 1);
  console.log(`  broken: ${broken.stderr.trim().replaceAll("\n", "\n  ")}`);
}

interface Place {
  readonly cwd: string;
  readonly env: NodeJS.ProcessEnv;
}

/** Returns the id of a new event. */
async function serveAndPublish(command: string, before: readonly string[], place: Place): Promise<string> {
  const data = join(place.cwd, "data");
  const serve = [...before, "serve", "--data-dir", data, "--listen", "127.0.0.1:0"];
  const daemon = spawn(command, serve, { ...place, stdio: ["ignore", "pipe", "inherit"], detached: true });
  try {
    for await (const line of createInterface({ input: daemon.stdout! })) if (line.includes('"listening"')) break;
    daemon.stdout!.resume();
    const send = ["events", "send", "--type", "goal.achieved", "--data", '{"goal_id":"goal_1"}', "--json"];
    const words = [...before, ...send, "--socket", join(data, "webhookd.sock")];
    return (JSON.parse(execFileSync(command, words, { ...place, encoding: "utf8" })) as { id: string }).id;
  } finally {
    // npx starts the daemon as a separate process.
    if (daemon.exitCode === null) {
      process.kill(-daemon.pid!, "SIGTERM");
      await once(daemon, "exit");
    }
  }
}
