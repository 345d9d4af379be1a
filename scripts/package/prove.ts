import { execFileSync, spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { root } from "../root.ts";
import { thisMachine, type Target } from "./targets.ts";

/** The result of the proof of an executable. */
export type Proof = "run" | "emulated" | "unrun" | "failed";

/** Runs the proof as a separate process, outside of this checkout. It prints its findings. */
export function prove(target: Target, file: string): Proof {
  const words = [join(root, "test/package/executable.ts"), file];
  const isOurs = target === thisMachine();
  if (!isOurs) {
    const emulator = target.platform === process.platform ? emulatorOf(target) : null;
    if (emulator === null) {
      console.log("  NOT RUN: this machine cannot; that it is whole and for that platform was read from the file");
      return "unrun";
    }
    words.push("--through", emulator);
  }
  const { status } = spawnSync(process.execPath, words, { stdio: "inherit" });
  if (status !== 0) return "failed";
  return isOurs ? "run" : "emulated";
}

/**
 * Returns QEMU, with Debian's C libraries for other processors (libstdc++6-arm64-cross), or null if it is not
 * installed.
 */
function emulatorOf({ arch }: Target): string | null {
  const processor = { x64: "x86_64", arm64: "aarch64" }[arch];
  const libraries = `/usr/${processor}-linux-gnu`;
  if (!existsSync(join(libraries, "lib/libstdc++.so.6"))) return null;
  for (const emulator of [`qemu-${processor}`, `qemu-${processor}-static`]) {
    try {
      execFileSync(emulator, ["--version"], { stdio: "ignore" });
      return `${emulator} -L ${libraries}`;
    } catch {
      // QEMU may have its other name, or may not be installed.
    }
  }
  return null;
}
