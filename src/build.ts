/** What scripts/build.ts puts into the bundle, and a checkout finds out for itself. */
import { readFileSync } from "node:fs";

/** Absent in a checkout. */
declare const __PACKED__: boolean | undefined;
/** The executable carries no package.json of ours. */
declare const __VERSION__: string | undefined;

/** Whether this is the one executable of a release. */
export const packed: boolean = typeof __PACKED__ === "boolean" && __PACKED__;

export const version: string = typeof __VERSION__ === "string" ? __VERSION__ : readVersion();

function readVersion(): string {
  const text = readFileSync(new URL("../package.json", import.meta.url), "utf8");
  return (JSON.parse(text) as { version: string }).version;
}
