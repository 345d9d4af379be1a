/**
 * Makes `dist/webhookd`, one executable for the platform this runs on, without a network, and proves it:
 *
 *   node scripts/package.ts [<Node binary>]
 *
 * The Node inside is the pinned one from node_modules unless another is named: a release belongs on one with the
 * latest security fixes.
 */
import { execFileSync, spawnSync } from "node:child_process";
import { chmodSync, copyFileSync, mkdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { exec } from "@yao-pkg/pkg";
import { bundle, root } from "./build.ts";

const node = process.argv[2] ?? process.execPath;
const nodeVersion = execFileSync(node, ["--version"], { encoding: "utf8" }).trim().slice(1);
const output = join(root, "dist", process.platform === "win32" ? "webhookd.exe" : "webhookd");

const bundled = await timed("bundle", () => bundle(`${process.platform}-${process.arch}`));
await timed("strip", () => offerNode());
await timed("pack", () => pack(bundled.directory));
const size = statSync(output).size;
console.log(
  `${output}: webhookd ${bundled.version}, Node ${nodeVersion}, ${megabytes(size)} (bundle ${megabytes(bundled.size)})`,
);

// In a process of its own: pkg's injector turns an uncaught error into noise.
const proof = spawnSync(process.execPath, [join(root, "test/package/executable.ts"), output], { stdio: "inherit" });
process.exitCode = proof.status ?? 1;

/**
 * Puts the stripped Node where pkg looks for its download, whose file names are internal to pkg: this is why
 * package.json pins it exactly. The `.ok` files say that the download was verified; the archive itself is not read.
 */
function offerNode(): void {
  // pkg finds its cache through os.homedir().
  process.env.HOME = process.env.USERPROFILE = join(root, ".cache/pkg");
  const os = process.platform === "win32" ? "win" : process.platform;
  const name = `node-v${nodeVersion}-${os}-${process.arch}`;
  const cache = join(root, ".cache/pkg/.pkg-cache/sea");
  const archive = join(cache, os === "win" ? `${name}.zip` : `${name}.tar.gz`);
  const binary = os === "win" ? join(cache, `${name}.exe`) : join(cache, name, "bin/node");

  mkdirSync(dirname(binary), { recursive: true });
  try {
    execFileSync("strip", ["-o", binary, node], { stdio: "ignore" });
  } catch {
    console.log("strip is not here: the executable will be about 17 MB larger");
    copyFileSync(node, binary);
  }
  chmodSync(binary, 0o755);
  for (const file of [archive, `${archive}.ok`, `${binary}.ok`]) writeFileSync(file, "");
}

async function pack(input: string): Promise<void> {
  rmSync(output, { force: true });
  const os = { darwin: "macos", win32: "win" }[process.platform as string] ?? process.platform;
  // A package.json as input is what makes pkg keep the ES module and the addon in its file system.
  await exec({
    input: join(input, "package.json"),
    targets: [`node${nodeVersion}-${os}-${process.arch}`],
    output,
    sea: true,
  });
}

async function timed<T>(step: string, run: () => T | Promise<T>): Promise<T> {
  const start = performance.now();
  const result = await run();
  console.log(`${step}: ${((performance.now() - start) / 1000).toFixed(1)} s`);
  return result;
}

function megabytes(bytes: number): string {
  return `${(bytes / 1e6).toFixed(1)} MB`;
}
