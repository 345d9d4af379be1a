/**
 * Makes webhookd as one file, and proves it:
 *
 *   npm run package                            dist/webhookd, for this machine, without a network
 *   npm run package -- linux-arm64 win-x64     dist/webhookd-linux-arm64 and so on; Node comes from the npm registry
 *   npm run package -- --all                   every target
 *   npm run package -- --node PATH             with this Node inside, instead of the pinned one
 *   npm run package -- --node win-x64=PATH …   the same for one target; may be repeated
 */
import { execFileSync, spawnSync } from "node:child_process";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { root } from "./build.ts";
import { makeExecutable } from "./package/make.ts";
import { missingFixes } from "./package/node-fixes.ts";
import { readNodes } from "./package/node-option.ts";
import { fileName, TARGETS, targetNamed, thisMachine, type Target } from "./package/targets.ts";

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { all: { type: "boolean" }, node: { type: "string", multiple: true } },
});
const here = thisMachine();
const targets = values.all ? TARGETS : positionals.length > 0 ? positionals.map(targetNamed) : here ? [here] : [];
if (targets.length === 0) throw new Error(`no executable is made for ${process.platform}-${process.arch}`);
const nodes = readNodes(values.node ?? []);

let failures = 0;
for (const target of targets) {
  const name = target === here ? `webhookd${target.platform === "win32" ? ".exe" : ""}` : fileName(target);
  const made = await makeExecutable(target, join(root, "dist", name), nodes);
  const { file, node, bundle } = made;
  const size = `${megabytes(made.bytes)}, of which the program is ${megabytes(bundle.size)}`;
  console.log(`${file}: webhookd ${bundle.version} for ${target.name}, Node ${node.version}, ${size}`);
  const lacks = missingFixes(node.version);
  if (lacks !== null) console.log(`  Node ${node.version} ${lacks}: not for a release, see docs/release.md`);
  failures += prove(target, file);
}
process.exitCode = failures === 0 ? 0 : 1;

/** In a process of its own, and outside of this checkout. Returns how many proofs failed. */
function prove(target: Target, file: string): number {
  const words = [join(root, "test/package/executable.ts"), file];
  if (target !== here) {
    const emulator = target.platform === process.platform ? emulatorOf(target) : null;
    if (emulator === null) {
      console.log("  not run: this machine cannot; that it is whole and for that platform was read from the file");
      return 0;
    }
    words.push("--through", emulator);
  }
  return spawnSync(process.execPath, words, { stdio: "inherit" }).status === 0 ? 0 : 1;
}

function emulatorOf({ arch }: Target): string | null {
  const name = `qemu-${{ x64: "x86_64", arm64: "aarch64" }[arch]}`;
  for (const emulator of [name, `${name}-static`]) {
    try {
      execFileSync(emulator, ["--version"], { stdio: "ignore" });
      return emulator;
    } catch {
      // Under its other name, or not installed.
    }
  }
  return null;
}

function megabytes(bytes: number): string {
  return `${(bytes / 1e6).toFixed(1)} MB`;
}
