/**
 * Installs the Debian package in a fresh Debian, serves and publishes as its unit would, then removes and purges it.
 */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { copyFileSync, readFileSync, statSync } from "node:fs";
import { basename, join } from "node:path";
import { createInterface } from "node:readline";
import { Chroot } from "./chroot.ts";

const DATA = "/var/lib/webhookd";
const CONFIG = "/etc/webhookd/webhookd.toml";
const RUNTIME = "/run/webhookd";

/** Prints what the package did. Throws if it does not do what it should. */
export async function tryDebianPackage(file: string): Promise<void> {
  lint(file);
  const chroot = Chroot.make();
  try {
    copyFileSync(file, join(chroot.path, basename(file)));
    chroot.run("apt-get", "update", "-qq");
    chroot.run("apt-get", "install", "-y", "-qq", "--no-install-recommends", `/${basename(file)}`);
    const [uid, home] = chroot
      .run("getent", "passwd", "webhookd")
      .split(":")
      .filter((_, at) => at === 2 || at === 5);
    assert.equal(home, DATA);
    const data = statSync(join(chroot.path, DATA));
    assert.deepEqual([data.mode & 0o777, String(data.uid)], [0o700, uid]);
    chroot.run("webhookd", "config", "check", CONFIG);
    console.log("  installed: its user, its directory and its configuration are there");

    const event = await serve(chroot);
    console.log(`  served by the unit's own command, as webhookd: published ${event}`);

    chroot.run("apt-get", "remove", "-y", "-qq", "webhookd");
    assert.deepEqual(
      [chroot.has("/usr/bin/webhookd"), chroot.has(CONFIG), chroot.has(`${DATA}/webhookd.db`)],
      [false, true, true],
    );
    chroot.run("apt-get", "install", "-y", "-qq", `/${basename(file)}`);
    assert.notEqual(await serve(chroot), event);
    assert.equal(chroot.run("dpkg", "--verify", "webhookd"), "");
    console.log("  removed: configuration and data stay; installed again, it goes on with them");

    chroot.run("apt-get", "purge", "-y", "-qq", "webhookd");
    assert.deepEqual([chroot.has(CONFIG), chroot.has(DATA), chroot.has("/usr/bin/webhookd")], [false, false, false]);
    console.log("  purged: nothing is left but the user");
  } finally {
    chroot.remove();
  }
}

function lint(file: string): void {
  try {
    execFileSync("lintian", ["--fail-on", "error,warning", "--allow-root", file], { stdio: ["ignore", 2, 2] });
    console.log("  lintian has nothing against it");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
    console.log("  NOT LINTED: there is no lintian here (apt-get install lintian)");
  }
}

/**
 * Runs the unit's command with the environment that systemd would give it, because a chroot has no systemd. Returns the
 * id of a new event.
 */
async function serve(chroot: Chroot): Promise<string> {
  const unit = readFileSync(join(chroot.path, "lib/systemd/system/webhookd.service"), "utf8");
  const [, command = ""] = /^ExecStart=(.*)$/m.exec(unit)!;
  const [, user = ""] = /^User=(.*)$/m.exec(unit)!;
  const [, mode = ""] = /^Environment=WEBHOOKD_SERVER_SOCKET_MODE=(.*)$/m.exec(unit)!;
  chroot.run("install", "-d", "-m", "0750", "-o", user, "-g", user, RUNTIME);
  const env = {
    STATE_DIRECTORY: DATA,
    RUNTIME_DIRECTORY: RUNTIME,
    WEBHOOKD_SERVER_SOCKET_MODE: mode,
    // The chroot has the network of this host, where another daemon may have the usual port.
    WEBHOOKD_SERVER_LISTEN: "127.0.0.1:0",
  };
  const daemon = chroot.start(user, env, ...command.split(" "));
  daemon.stderr!.pipe(process.stderr);
  try {
    for await (const line of createInterface({ input: daemon.stdout! })) if (line.includes('"listening"')) break;
    daemon.stdout!.resume();
    const data = ["--type", "goal.achieved", "--data", '{"goal_id":"goal_1"}'];
    const socket = ["--socket", `${RUNTIME}/webhookd.sock`];
    const sent = JSON.parse(chroot.run("webhookd", "events", "send", ...data, ...socket, "--json")) as { id: string };
    assert.match(chroot.run("webhookd", "events", "list", "--ids", ...socket), new RegExp(sent.id));
    return sent.id;
  } finally {
    daemon.kill("SIGTERM");
    const [code] = await once(daemon, "exit");
    assert.equal(code, 0);
  }
}
