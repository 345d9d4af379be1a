/**
 * Puts a bundle and a Node together into one executable, without a network. It runs as a separate process because it
 * needs the same version of Node as the executable, and because pkg's injector garbles any later uncaught error:
 *
 *   node scripts/package/pack.ts <bundle> <Node binary> <target> <output>
 */
import { execFileSync } from "node:child_process";
import { chmodSync, copyFileSync, mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
// This module is what `pkg --sea` runs for a single script. The command itself passes no configuration on, and would
// put whole packages into a virtual file system, which slows every start.
import { default as pkg } from "@yao-pkg/pkg/lib-es5/sea.js";
import { START } from "../../src/bundle.ts";
import { root } from "../root.ts";
import { NODE_FLAGS } from "./node-flags.ts";
import { targetNamed, type Target } from "./targets.ts";

const GNU_NAMES = { x64: "x86_64", arm64: "aarch64" } as const;

const [directory, node, name, output] = process.argv.slice(2) as [string, string, string, string];
const version = process.versions.node;
const target = targetNamed(name);
offerNode(target);
rmSync(output, { force: true });
const platform = ({ linux: "linux", darwin: "macos", win32: "win" } as const)[target.platform];
const assets = readdirSync(directory).filter((file) => file !== START);
const seaConfig = {
  assets: Object.fromEntries(assets.map((file) => [file, join(directory, file)])),
  disableExperimentalSEAWarning: true,
  useSnapshot: false,
  // Node's switches can be set only here: NODE_OPTIONS could run anybody's code, and SIGUSR1 would open a debugger.
  execArgv: NODE_FLAGS,
  execArgvExtension: "none",
  // The cache would be made without these switches, so V8 would refuse it. The start script is only a few lines.
  useCodeCache: false,
};
await pkg.default(join(directory, START), {
  targets: [{ nodeRange: `node${version}`, platform, arch: target.arch, output }],
  signature: true,
  seaConfig,
});

/**
 * Puts the stripped Node where pkg looks for its download, whose file names are internal to pkg: this is why
 * package.json pins it exactly. The `.ok` files say that the download was verified; the archive itself is not read.
 */
function offerNode({ platform, arch }: Target): void {
  // pkg looks for its cache in os.homedir().
  process.env.HOME = process.env.USERPROFILE = join(root, ".cache/pkg");
  const os = platform === "win32" ? "win" : platform;
  const name = `node-v${version}-${os}-${arch}`;
  const cache = join(root, ".cache/pkg/.pkg-cache/sea");
  const archive = join(cache, os === "win" ? `${name}.zip` : `${name}.tar.gz`);
  const binary = os === "win" ? join(cache, `${name}.exe`) : join(cache, name, "bin/node");

  mkdirSync(dirname(binary), { recursive: true });
  rmSync(binary, { force: true });
  if (!strip(target, binary)) copyFileSync(node, binary);
  chmodSync(binary, 0o755);
  for (const file of [archive, `${archive}.ok`, `${binary}.ok`]) writeFileSync(file, "");
}

function isOwn({ platform, arch }: Pick<Target, "platform" | "arch">): boolean {
  return process.platform === platform && process.arch === arch;
}

/**
 * Strips 17 MB of names that only a debugger needs. Only Linux binaries are stripped: elsewhere a signature may depend
 * on the file.
 */
function strip({ platform, arch }: Target, binary: string): boolean {
  if (platform !== "linux") return false;
  const own = isOwn({ platform, arch });
  for (const tool of own ? ["strip", "llvm-strip"] : [`${GNU_NAMES[arch]}-linux-gnu-strip`, "llvm-strip"]) {
    try {
      execFileSync(tool, ["-o", binary, node], { stdio: "ignore" });
      return true;
    } catch {
      // Try the next program, if there is one.
    }
  }
  console.log(`there is no strip for ${platform}-${arch}: the executable is 17 MB larger for it`);
  return false;
}
