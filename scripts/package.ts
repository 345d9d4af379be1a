/**
 * Makes webhookd as one file, and proves it:
 *
 *   npm run package                            dist/webhookd, for this machine, without a network
 *   npm run package -- linux-arm64 win-x64     dist/webhookd-linux-arm64 and so on; Node comes from the npm registry
 *   npm run package -- --all                   every target
 *   npm run package -- --node PATH             with this Node inside, instead of the pinned one
 *   npm run package -- --node win-x64=PATH …   the same for one target; may be repeated
 */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { root } from "./root.ts";
import { makeExecutable } from "./package/make.ts";
import { missingFixes } from "./package/node-fixes.ts";
import { readNodes } from "./package/node-option.ts";
import { prove } from "./package/prove.ts";
import { thirdPartyLicences } from "./release/licences.ts";
import { fileName, TARGETS, targetNamed, thisMachine } from "./package/targets.ts";

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { all: { type: "boolean" }, node: { type: "string", multiple: true } },
});
const here = thisMachine();
const targets = values.all ? TARGETS : positionals.length > 0 ? positionals.map(targetNamed) : here ? [here] : [];
if (targets.length === 0) throw new Error(`no executable is made for ${process.platform}-${process.arch}`);
const nodes = readNodes(values.node ?? []);

for (const target of targets) {
  const name = target === here ? `webhookd${target.platform === "win32" ? ".exe" : ""}` : fileName(target);
  const made = await makeExecutable(target, join(root, "dist", name), nodes);
  const { file, node, bundle } = made;
  const size = `${megabytes(made.bytes)}, of which the program is ${megabytes(bundle.size)}`;
  console.log(`${file}: webhookd ${bundle.version} for ${target.name}, Node ${node.version}, ${size}`);
  const lacks = missingFixes(node.version);
  if (lacks !== null) console.log(`  Node ${node.version} ${lacks}: not for a release, see docs/release.md`);
  if (prove(target, file) === "failed") process.exitCode = 1;
  if (target === here) writeFileSync(join(root, "dist/THIRD-PARTY-LICENSES"), thirdPartyLicences([made]));
}

function megabytes(bytes: number): string {
  return `${(bytes / 1e6).toFixed(1)} MB`;
}
