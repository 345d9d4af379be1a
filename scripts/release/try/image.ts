/**
 * Runs the steps of the Dockerfile in a directory, because `docker build` needs an engine: copies its files onto a
 * fresh Debian instead of the base, then runs its command as its user with its environment, and its health check.
 */
import assert from "node:assert/strict";
import { once } from "node:events";
import { chmodSync, copyFileSync, mkdirSync, readFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { Chroot } from "./chroot.ts";

/** The base image has its user's home, beside libraries. */
const USER = "65532";

export async function tryImage(directory: string, executable: string): Promise<void> {
  const text = readFileSync(join(directory, "Dockerfile"), "utf8").replaceAll("\\\n", " ");
  const all = (name: string) => [...text.matchAll(new RegExp(`^${name} +(.*)$`, "gm"))].map(([, rest]) => rest!);
  const values: Record<string, string> = { EXECUTABLE: basename(executable), LICENSES: "THIRD-PARTY-LICENSES" };
  const env: Record<string, string> = { WEBHOOKD_SERVER_LISTEN: "127.0.0.1:0" };
  for (const pair of all("ENV").flatMap((rest) => rest.trim().split(/\s+/))) {
    const [name, value] = pair.split(/=(.*)/s) as [string, string];
    // The directory has this host's network, where another daemon may have the port.
    env[name] ??= value;
  }
  const chroot = Chroot.make();
  try {
    chroot.run("apt-get", "update", "-qq");
    chroot.run("apt-get", "install", "-y", "-qq", "--no-install-recommends", "libstdc++6");
    chroot.run("install", "-d", "-m", "0700", "-o", USER, "-g", USER, env["HOME"]!);
    for (const rest of all("COPY")) {
      const [, mode = "", paths = ""] = /^--chmod=(\d+) (.*)$/.exec(rest)!;
      const names = paths.split(/\s+/).map((path) => path.replace(/^\$\{(\w+)\}$/, (_, name: string) => values[name]!));
      const to = names.pop()!;
      for (const name of names) {
        const at = join(chroot.path, to.endsWith("/") ? join(to, basename(name)) : to);
        mkdirSync(dirname(at), { recursive: true });
        copyFileSync(join(directory, name), at);
        chmodSync(at, parseInt(mode, 8));
      }
    }
    const [program] = JSON.parse(all("ENTRYPOINT")[0]!) as [string];
    const daemon = chroot.start(USER, env, program, ...(JSON.parse(all("CMD")[0]!) as string[]));
    daemon.stderr!.pipe(process.stderr);
    try {
      for await (const line of createInterface({ input: daemon.stdout! })) if (line.includes('"listening"')) break;
      daemon.stdout!.resume();
      const check = JSON.parse(/CMD (.*)$/.exec(all("HEALTHCHECK")[0]!)![1]!) as string[];
      const health = chroot.start(USER, env, ...check);
      assert.equal((await once(health, "exit"))[0], 0, "its health check");
      console.log(`  copied, served as ${USER} with its environment, healthy`);
    } finally {
      daemon.kill("SIGTERM");
      const [code] = await once(daemon, "exit");
      assert.equal(code, 0);
    }
  } finally {
    chroot.remove();
  }
}
