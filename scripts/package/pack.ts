/**
 * Puts a bundle and a Node together into one executable, without a network. Runs as a process of its own, on the same
 * version of Node as is packed (it makes what the executable reads), and because the injector turns any later uncaught
 * error into noise:
 *
 *   node scripts/package/pack.ts <bundle> <Node binary> <target> <output>
 */
import { execFileSync } from "node:child_process";
import { chmodSync, copyFileSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { START } from "../../src/bundle.ts";
import { FUSE } from "./inspect.ts";
import { NODE_FLAGS } from "./node-flags.ts";
import { targetNamed, type Target } from "./targets.ts";

/** It comes without types. */
const { inject } = createRequire(import.meta.url)("postject") as {
  inject(file: string, name: string, blob: Buffer, options: Readonly<Record<string, string | boolean>>): Promise<void>;
};

const GNU_NAMES = { x64: "x86_64", arm64: "aarch64" } as const;

const [directory, node, name, output] = process.argv.slice(2) as [string, string, string, string];
const target = targetNamed(name);
const scratch = mkdtempSync(join(tmpdir(), "webhookd-pack-"));
try {
  const blob = blobOf(directory);
  rmSync(output, { force: true });
  if (!strip(target, output)) copyFileSync(node, output);
  chmodSync(output, 0o755);
  await injected(blob);
} finally {
  rmSync(scratch, { recursive: true });
}

/** What Node finds in itself: its main script, the other files of the bundle, and the switches that it is started with. */
function blobOf(bundle: string): Buffer {
  const assets = readdirSync(bundle).filter((file) => file !== START);
  const blob = join(scratch, "blob");
  const config = {
    main: join(bundle, START),
    output: blob,
    assets: Object.fromEntries(assets.map((file) => [file, join(bundle, file)])),
    disableExperimentalSEAWarning: true,
    // Node's own switches are set here or nowhere: NODE_OPTIONS would run anybody's code, and SIGUSR1 opens a debugger.
    execArgv: NODE_FLAGS,
    execArgvExtension: "none",
    // Only the machine that it is for can compile it.
    useCodeCache: isOwn(target),
  };
  const file = join(scratch, "config.json");
  writeFileSync(file, JSON.stringify(config));
  // What it says of itself goes to stderr; if it fails, the error has that.
  execFileSync(process.execPath, ["--experimental-sea-config", file], { stdio: "pipe" });
  return readFileSync(blob);
}

/** The injector warns of the names that were stripped. */
async function injected(blob: Buffer): Promise<void> {
  const { write } = process.stderr;
  process.stderr.write = ((chunk: string | Uint8Array, ...rest: never[]) =>
    String(chunk).includes("Can't find string offset") || write.call(process.stderr, chunk, ...rest)) as typeof write;
  await inject(output, "NODE_SEA_BLOB", blob, { sentinelFuse: FUSE, machoSegmentName: "NODE_SEA", overwrite: true });
  process.stderr.write = write;
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
