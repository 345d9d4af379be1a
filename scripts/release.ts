/**
 * Makes all files of a release in dist/release, and publishes nothing:
 *
 *   npm run release -- --node linux-x64=PATH …   every target, or those named; on these Nodes instead of the pinned
 *   npm run release -- --unpatched-node          also on a Node that lacks security fixes
 *   npm run release -- --rehearse                whatever stands against it; to try this out
 *   npm run release -- --sign KEY                signs it with this ssh key, which install.sh then trusts
 *   npm run release -- --try                     installs what is in dist/release, each way from an empty directory
 *
 * docs/release.md says what is in it and how it is checked.
 */
import { execFileSync } from "node:child_process";
import { copyFileSync, cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { parseArgs } from "node:util";
import { root } from "./root.ts";
import { makeExecutable, type Executable } from "./package/make.ts";
import { readNodes } from "./package/node-option.ts";
import { prove } from "./package/prove.ts";
import { fileName, pinnedVersion, TARGETS, targetNamed, type TargetName } from "./package/targets.ts";
import { billOfMaterials, type Shipped } from "./release/bill-of-materials.ts";
import { CHECKSUMS, checksums } from "./release/checksums.ts";
import { makeDebianPackage } from "./release/debian.ts";
import { thirdPartyLicences } from "./release/licences.ts";
import { makeNpmPackage } from "./release/npm.ts";
import { installer, sign } from "./release/signature.ts";
import { tryRelease } from "./release/try.ts";
import { releaseNotes, type Proven } from "./release/notes.ts";
import { notesOf, objections } from "./release/objections.ts";
import { FOR_DEBIAN, FOR_PYTHON, FOR_XZ, missingTools } from "./release/tools.ts";

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    node: { type: "string", multiple: true },
    "unpatched-node": { type: "boolean", default: false },
    rehearse: { type: "boolean", default: false },
    sign: { type: "string" },
    try: { type: "boolean", default: false },
  },
});
const directory = join(root, "dist/release");
if (values.try) {
  await tryRelease(directory);
  process.exit();
}
const targets = positionals.length > 0 ? positionals.map(targetNamed) : TARGETS;
const nodes = readNodes(values.node ?? []);
const { version } = JSON.parse(read("package.json")) as { version: string };
const changelog = read("CHANGELOG.md");

const missing = missingTools([FOR_XZ, FOR_DEBIAN, FOR_PYTHON]);
const isMissing = ([name]: typeof FOR_XZ) => missing.includes(name);

const against = objections({
  version,
  gitStatus: git("status", "--porcelain"),
  changelog,
  nodes: Object.fromEntries(
    targets.map((target) => [target.name, nodes[target.name]?.version ?? pinnedVersion(target)]),
  ),
  unpatchedNode: values["unpatched-node"],
  missingTools: missing,
});
for (const objection of against) console.error(`webhookd ${version} cannot be released: ${objection}`);
if (against.length > 0 && !values.rehearse) process.exit(1);

rmSync(directory, { recursive: true, force: true });
mkdirSync(directory, { recursive: true });
const made: Proven[] = [];
for (const target of targets) made.push(await makeAndProve(target.name));
await makeNpm();
writeCompanions(made);
makeDebianPackages(made);
makePythonClient();
writeFileSync(join(directory, "install.sh"), installer(values.sign ?? null), { mode: 0o755 });
write(CHECKSUMS, checksums(directory));
if (values.sign !== undefined) sign(join(directory, CHECKSUMS), values.sign);
console.log(
  missing.length > 0
    ? `${directory} lacks what needs ${missing.join(" and ")}`
    : `${directory} is whole${values.sign === undefined ? ", but not signed" : ""}; docs/release.md says how to publish it`,
);

async function makeAndProve(name: TargetName): Promise<Proven> {
  const target = targetNamed(name);
  const executable = await makeExecutable(target, join(directory, fileName(target, version)), nodes);
  const { file, node, bytes } = executable;
  console.log(`${file}: Node ${node.version}, ${megabytes(bytes)}`);
  const proof = prove(target, file);
  if (proof === "failed") throw new Error(`${file} does not do what it should, see above`);
  writeBill(executable);
  if (target.platform !== "win32" && !isMissing(FOR_XZ)) {
    execFileSync("xz", ["--keep", "--threads=0", file]);
    console.log(`  as xz: ${megabytes(statSync(`${file}.xz`).size)}`);
  }
  return { executable, proof };
}

/**
 * Makes the npm package for every platform, whichever executables are made, because npm has one package per version.
 */
async function makeNpm(): Promise<void> {
  const made = await makeNpmPackage(
    TARGETS.map(({ platform, arch }) => `${platform}-${arch}`),
    directory,
  );
  console.log(`${made.file}: ${megabytes(statSync(made.file).size)}`);
  writeBill(made);
}

function writeBill(shipped: Shipped): void {
  const bill = billOfMaterials(shipped, builtAt());
  write(`${basename(shipped.file)}.cdx.json`, `${JSON.stringify(bill, null, 2)}\n`);
}

function writeCompanions(made: readonly Proven[]): void {
  const executables = made.map(({ executable }) => executable) as [Executable, ...Executable[]];
  write("THIRD-PARTY-LICENSES", thirdPartyLicences(executables));
  for (const file of ["LICENSE", "Dockerfile", "scripts/deploy/compose/compose.yaml"]) {
    copyFileSync(join(root, file), join(directory, basename(file)));
  }
  const commit = git("rev-parse", "HEAD").trim();
  write("RELEASE.md", releaseNotes({ version, commit, changes: notesOf(version, changelog), against, made }));
}

/** Makes Debian packages from the executables for Linux. */
function makeDebianPackages(made: readonly Proven[]): void {
  if (isMissing(FOR_DEBIAN)) return;
  const licences = read("dist/release/THIRD-PARTY-LICENSES");
  const maintainer = `${git("config", "user.name").trim()} <${git("config", "user.email").trim()}>`;
  for (const { executable } of made.filter(({ executable }) => executable.target.platform === "linux")) {
    const file = makeDebianPackage(executable, directory, { maintainer, built: builtAt(), licences });
    console.log(`${file}: ${megabytes(statSync(file).size)}`);
  }
}

/** Builds the Python client from a copy, because building leaves files behind. */
function makePythonClient(): void {
  if (isMissing(FOR_PYTHON)) return;
  const scratch = mkdtempSync(join(tmpdir(), "webhookd-python-"));
  cpSync(join(root, "src/client/python"), scratch, { recursive: true });
  const words = ["-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", directory, scratch];
  execFileSync("python3", words, { stdio: ["ignore", 2, 2] });
  rmSync(scratch, { recursive: true });
}

function builtAt(): string {
  return git("show", "-s", "--format=%cI", "HEAD").trim();
}

function git(...words: string[]): string {
  return execFileSync("git", words, { cwd: root, encoding: "utf8" });
}

function read(file: string): string {
  return readFileSync(join(root, file), "utf8");
}

function write(file: string, text: string): void {
  writeFileSync(join(directory, file), text);
}

function megabytes(bytes: number): string {
  return `${(bytes / 1e6).toFixed(1)} MB`;
}
