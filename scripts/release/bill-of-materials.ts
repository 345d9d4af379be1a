/**
 * The bill of materials of an executable or the npm package, as CycloneDX 1.5. `npm sbom` is not enough: it lists what
 * is installed rather than what is in the file, does not know about Node and SQLite, and with `--omit dev` leaves out
 * packages that a development dependency needs too.
 */
import { createHash, randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import type { Executable } from "../package/make.ts";
import { packagesIn, sqliteVersion, type Package } from "./packages.ts";

interface Component {
  readonly "bom-ref": string;
  readonly type: "application" | "platform" | "library";
  readonly name: string;
  readonly version: string;
  readonly purl?: string;
  readonly cpe?: string;
  readonly hashes?: readonly { readonly alg: string; readonly content: string }[];
  readonly licenses: readonly { readonly license: { readonly id: string } }[];
}

/** The part of a release that runs: an executable, or a package for a Node that is already installed. */
export type Shipped = Pick<Executable, "bundle" | "file"> & Partial<Pick<Executable, "target" | "node">>;

/** `built` is the ISO time of the commit, so that it does not depend on the machine. */
export function billOfMaterials(shipped: Shipped, built: string) {
  const { bundle, file, target, node } = shipped;
  const { version } = bundle;
  const generic = target === undefined ? "" : `?arch=${target.arch}&os=${target.platform}`;
  const program: Component = {
    "bom-ref": `webhookd@${version}`,
    type: "application",
    name: "webhookd",
    version,
    purl: `pkg:${target === undefined ? "npm" : "generic"}/webhookd@${version}${generic}`,
    hashes: [sha256(file)],
    licenses: licensed("MIT"),
  };
  const components = [
    ...packagesIn(bundle).map(fromNpm),
    ...(node === undefined ? [] : [nodeIn(node)]),
    sqliteComponent(),
  ];
  return {
    $schema: "http://cyclonedx.org/schema/bom-1.5.schema.json",
    bomFormat: "CycloneDX",
    specVersion: "1.5",
    serialNumber: `urn:uuid:${randomUUID()}`,
    version: 1,
    metadata: { timestamp: built, lifecycles: [{ phase: "build" }], component: program },
    components,
    dependencies: [{ ref: program["bom-ref"], dependsOn: components.map((component) => component["bom-ref"]) }],
  };
}

function fromNpm({ name, version, license, integrity }: Package): Component {
  const content = Buffer.from(integrity.replace("sha512-", ""), "base64").toString("hex");
  return {
    "bom-ref": `${name}@${version}`,
    type: "library",
    name,
    version,
    purl: `pkg:npm/${name.replace("@", "%40")}@${version}`,
    hashes: [{ alg: "SHA-512", content }],
    licenses: licensed(license),
  };
}

/** Includes the names by which vulnerability databases know Node. */
function nodeIn({ version, file }: Executable["node"]): Component {
  return {
    "bom-ref": `node@${version}`,
    type: "platform",
    name: "node",
    version,
    purl: `pkg:github/nodejs/node@v${version}`,
    cpe: `cpe:2.3:a:nodejs:node.js:${version}:*:*:*:*:*:*:*`,
    hashes: [sha256(file)],
    licenses: licensed("MIT"),
  };
}

function sqliteComponent(): Component {
  const version = sqliteVersion();
  return {
    "bom-ref": `sqlite@${version}`,
    type: "library",
    name: "sqlite",
    version,
    cpe: `cpe:2.3:a:sqlite:sqlite:${version}:*:*:*:*:*:*:*`,
    licenses: licensed("blessing"),
  };
}

function sha256(file: string): { alg: string; content: string } {
  return { alg: "SHA-256", content: createHash("sha256").update(readFileSync(file)).digest("hex") };
}

function licensed(id: string): Component["licenses"] {
  return [{ license: { id } }];
}
