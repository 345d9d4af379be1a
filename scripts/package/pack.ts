/**
 * Puts a bundle and a Node together into one executable, without a network. Runs as a process of its own, on the same
 * version of Node as is packed (the blob is made by the Node that runs pkg), and because pkg's injector turns any later
 * uncaught error into noise:
 *
 *   node scripts/package/pack.ts <bundle> <Node binary> <target> <output>
 */
import { execFileSync } from "node:child_process";
import { chmodSync, copyFileSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import fs from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { exec } from "@yao-pkg/pkg";
import { root } from "../root.ts";
import { NODE_FLAGS } from "./node-flags.ts";
import { targetNamed, type Target } from "./targets.ts";

const GNU_NAMES = { x64: "x86_64", arm64: "aarch64" } as const;

const [directory, node, name, output] = process.argv.slice(2) as [string, string, string, string];
const version = process.versions.node;
const target = targetNamed(name);
offerNode(target);
rmSync(output, { force: true });
const isSealed = sealFromEnvironment();
// A package.json as input is what makes pkg keep the ES module and the addon in its file system.
await exec({
  input: join(directory, "package.json"),
  targets: [`node${version}-${{ linux: "linux", darwin: "macos", win32: "win" }[target.platform]}-${target.arch}`],
  output,
  sea: true,
});
if (!isSealed()) throw new Error("pkg wrote no sea-config.json: the executable would heed NODE_OPTIONS and SIGUSR1");

/**
 * Node's own switches are set here or nowhere: NODE_OPTIONS would run anybody's code, and SIGUSR1 opens a debugger. pkg
 * passes neither field on to Node's configuration of an executable, so they are added as it writes that file. And pkg's
 * own start is compiled now, which only the machine that it is for can do.
 */
function sealFromEnvironment(): () => boolean {
  let isDone = false;
  const { writeFile } = fs;
  fs.writeFile = async (file, data, options) => {
    const isConfig = typeof file === "string" && basename(file) === "sea-config.json";
    if (!isConfig) return writeFile(file, data, options);
    const config = JSON.parse(data as string) as object;
    isDone = true;
    const sealed = {
      ...config,
      execArgv: NODE_FLAGS,
      execArgvExtension: "none",
      useCodeCache: isOwn(target),
    };
    return writeFile(file, JSON.stringify(sealed), options);
  };
  return () => isDone;
}

/**
 * Puts the stripped Node where pkg looks for its download, whose file names are internal to pkg: this is why
 * package.json pins it exactly. The `.ok` files say that the download was verified; the archive itself is not read.
 */
function offerNode({ platform, arch }: Target): void {
  // pkg finds its cache through os.homedir().
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

/** 17 MB of names that only a debugger needs. Others' formats are left as they are: a signature may depend on them. */
function strip({ platform, arch }: Target, binary: string): boolean {
  if (platform !== "linux") return false;
  const own = isOwn({ platform, arch });
  for (const tool of own ? ["strip", "llvm-strip"] : [`${GNU_NAMES[arch]}-linux-gnu-strip`, "llvm-strip"]) {
    try {
      execFileSync(tool, ["-o", binary, node], { stdio: "ignore" });
      return true;
    } catch {
      // The next one, or none.
    }
  }
  console.log(`there is no strip for ${platform}-${arch}: the executable is 17 MB larger for it`);
  return false;
}
