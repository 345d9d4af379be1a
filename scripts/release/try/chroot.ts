/** A fresh Debian in a directory. debootstrap creates it once, and each trial gets a copy. Needs root. */
import { execFileSync, spawn, type ChildProcess } from "node:child_process";
import { cpSync, existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { root } from "../../root.ts";

const SUITE = "bookworm";
const MIRROR = "http://deb.debian.org/debian";
const CLEAN = ["env", "-i", "PATH=/usr/sbin:/usr/bin:/sbin:/bin", "DEBIAN_FRONTEND=noninteractive"];

/** Returns what is missing to make one, or null. */
export function missingForChroot(): string | null {
  if (process.platform !== "linux" || process.getuid?.() !== 0) return "root on Linux";
  try {
    execFileSync("debootstrap", ["--version"], { stdio: "ignore" });
    return null;
  } catch {
    return "debootstrap (apt-get install debootstrap)";
  }
}

export class Chroot {
  readonly path = mkdtempSync(join(tmpdir(), "webhookd-chroot-"));

  static make(): Chroot {
    const base = join(root, ".cache", `debian-${SUITE}`);
    if (!existsSync(base)) {
      const making = `${base}.part`;
      rmSync(making, { recursive: true, force: true });
      mkdirSync(making, { recursive: true });
      execFileSync("debootstrap", ["--variant=minbase", SUITE, making, MIRROR], { stdio: ["ignore", "ignore", 2] });
      renameSync(making, base);
    }
    const made = new Chroot();
    execFileSync("cp", ["-a", `${base}/.`, made.path]);
    for (const file of ["/etc/resolv.conf", "/etc/hosts"]) cpSync(file, join(made.path, file));
    execFileSync("mount", ["-t", "proc", "proc", join(made.path, "proc")]);
    return made;
  }

  /** Runs a command as root and returns its output. Throws if it fails. */
  run(...words: string[]): string {
    return execFileSync("chroot", [this.path, ...CLEAN, ...words], {
      encoding: "utf8",
      stdio: ["ignore", "pipe", "pipe"],
    });
  }

  /** Starts a command as another user, with only this environment. */
  start(user: string, env: Readonly<Record<string, string>>, ...words: string[]): ChildProcess {
    const variables = Object.entries(env).map(([name, value]) => `${name}=${value}`);
    const command = [
      "setpriv",
      `--reuid=${user}`,
      `--regid=${user}`,
      "--clear-groups",
      ...CLEAN,
      ...variables,
      ...words,
    ];
    return spawn("chroot", [this.path, ...command], { stdio: ["ignore", "pipe", "pipe"] });
  }

  has(path: string): boolean {
    return existsSync(join(this.path, path));
  }

  remove(): void {
    execFileSync("umount", [join(this.path, "proc")]);
    rmSync(this.path, { recursive: true, force: true });
  }
}
