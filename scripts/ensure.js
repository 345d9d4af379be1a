// Runs before every npm script, on whatever Node the machine has (18 and up): makes node_modules match the
// lockfile, the pinned Node included, so that a fresh clone needs nothing but `npm start` or `npm test`. With `run` it
// installs only what the daemon needs: the tests bring a whole PostgreSQL.
import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
const wanted = 24;
const onlyToRun = process.argv[2] === "run";

function lockedPackages(file) {
  try {
    return JSON.parse(readFileSync(join(root, file), "utf8")).packages ?? {};
  } catch {
    return null;
  }
}

/**
 * Returns the first package that is missing or differs from the lockfile, or null. Only platform packages may be
 * absent.
 */
function firstDifference() {
  const locked = lockedPackages("package-lock.json");
  const installed = lockedPackages("node_modules/.package-lock.json");
  if (locked === null) return "package-lock.json cannot be read";
  if (installed === null) return "nothing is installed yet";
  for (const [path, entry] of Object.entries(locked)) {
    if (path === "" || (onlyToRun && entry.dev)) continue;
    const present = installed[path] !== undefined && existsSync(join(root, path));
    if (!present && entry.optional) continue;
    if (!present || installed[path].version !== entry.version) return path;
  }
  return pinnedNode() >= wanted ? null : "the pinned Node does not run";
}

function pinnedNode() {
  const file = join(root, "node_modules", ".bin", process.platform === "win32" ? "node.cmd" : "node");
  const run = spawnSync(file, ["--version"], { encoding: "utf8", shell: process.platform === "win32" });
  return Number(/^v(\d+)/.exec(run.stdout ?? "")?.[1] ?? 0);
}

const difference = firstDifference();
if (difference !== null) {
  console.error(`webhookd: installing dependencies (${difference})`);
  const npm = process.env.npm_execpath;
  const args = [
    "ci",
    onlyToRun ? "--omit=dev" : "--include=dev",
    "--include=optional",
    "--ignore-scripts",
    "--no-audit",
    "--no-fund",
    "--loglevel=error",
  ];
  try {
    // npm must not write to stdout, which belongs to the command that follows.
    const stdio = ["ignore", 2, 2];
    if (npm) execFileSync(process.execPath, [npm, ...args], { cwd: root, stdio });
    else execFileSync("npm", args, { cwd: root, stdio, shell: process.platform === "win32" });
  } catch {
    console.error(
      "webhookd: npm ci failed, see above. Check that the npm registry can be reached, then run the same command again.",
    );
    process.exit(1);
  }
  if (pinnedNode() < wanted && Number(process.versions.node.split(".")[0]) < wanted) {
    console.error(
      `webhookd: there is no packaged Node for ${process.platform}-${process.arch}. Install Node ${wanted} or newer, then run the same command again.`,
    );
    process.exit(1);
  }
}
