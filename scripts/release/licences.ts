/** THIRD-PARTY-LICENSES: other people's works in the executables, and their terms. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Bundle } from "../build.ts";
import { root } from "../root.ts";
import type { Executable } from "../package/make.ts";
import { TARGETS } from "../package/targets.ts";
import { packagesIn, type Package } from "./packages.ts";

/** The licences under which a work may be shipped inside one file, with its licence beside it. */
const ALLOWED = new Set(["MIT", "MIT-0", "ISC", "0BSD", "BSD-2-Clause", "BSD-3-Clause", "Apache-2.0", "BlueOak-1.0.0"]);

/**
 * The copyright as stated by the package `koffi`, which makes these builds, and by node-addon-api, which is compiled
 * into them.
 */
const KOFFI = `Copyright (C) 2026 Niels Martignène <niels.martignene@protonmail.com>
Copyright (c) 2017 Node.js API collaborators`;

/** The copyright holders of packages under MIT that do not include its text, as their sources state them. */
const COPYRIGHT: Readonly<Record<string, string>> = {
  "@koromix/koffi-linux-arm64": KOFFI,
  "@koromix/koffi-linux-x64": KOFFI,
  "pg-types": "Copyright (c) 2014 Brian M. Carlson",
  pgpass: "Copyright (c) 2013-2016 Hannes Hörl",
  "yoga-layout": "Copyright (c) Meta Platforms, Inc. and affiliates.",
};

/** Returns the licences for all executables of a release together, because some packages are in only one platform's. */
export function thirdPartyLicences(made: readonly [Executable, ...Executable[]]): string {
  return licences(packagesIn(...made.map(({ bundle }) => bundle)), nodeLicence(made[0].node.file));
}

/** Returns the licences for a bundle that runs on a Node that is already installed. */
export function bundleLicences(bundle: Bundle): string {
  return licences(packagesIn(bundle), null);
}

const HEAD = `webhookd holds the works listed here, each under its own terms, which follow.
`;
const SQLITE = `SQLite is in the public domain. Its authors disclaim copyright to it and give this blessing in place of a licence:

May you do good and not evil.
May you find forgiveness for yourself and forgive others.
May you share freely, never taking more than you give.
`;

/** `node` is Node's own licence, which includes those of V8, OpenSSL and everything else in Node. Null without Node. */
export function licences(packages: readonly Package[], node: string | null): string {
  const sections = packages.map((one) => section(`${one.name} ${one.version} (${one.license})`, textOf(one)));
  const list = packages.map(({ name, version, license }) => `  ${name} ${version}: ${license}`);
  const inNode = node === null ? [] : ["  Node.js: MIT, and what its own licence names"];
  const others = ["  SQLite: public domain", ...inNode];
  return [
    HEAD,
    [...list, ...others, ""].join("\n"),
    ...sections,
    section("SQLite", SQLITE),
    ...(node === null ? [] : [section("Node.js", node)]),
  ].join("\n");
}

/**
 * Returns the licence that came with a Node binary: in its unpacked official archive, or in a pinned package of Node.
 */
function nodeLicence(binary: string): string {
  const packages = TARGETS.map(({ nodePackage }) => join(root, "node_modules", nodePackage));
  for (const directory of [dirname(dirname(binary)), ...packages]) {
    const file = join(directory, "LICENSE");
    if (existsSync(file)) return readFileSync(file, "utf8");
  }
  throw new Error(`there is no LICENSE beside ${binary}; unpack the whole archive that it came in`);
}

function textOf({ name, version, license, directory }: Package): string {
  if (!ALLOWED.has(license)) throw new Error(`${name} ${version} is under ${license}: may it be in the executable?`);
  // A package for another platform may not be installed.
  const found = existsSync(directory) ? readdirSync(directory) : [];
  const files = found.filter((file) => /^(licen[cs]e|copying|notice)/i.test(file));
  if (files.length === 0 && license === "MIT" && COPYRIGHT[name] !== undefined) {
    return readFileSync(join(root, "LICENSE"), "utf8").replace(/^Copyright .*$/m, COPYRIGHT[name]);
  }
  if (files.length === 0) throw new Error(`${name} ${version} comes without the text of its licence`);
  return files
    .toSorted()
    .map((file) => readFileSync(join(directory, file), "utf8"))
    .join("\n");
}

function section(title: string, text: string): string {
  return `${"=".repeat(80)}\n${title}\n${"=".repeat(80)}\n\n${text.replaceAll("\r\n", "\n").trim()}\n`;
}
