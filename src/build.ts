/** The version of this build, and whether it is packed into an executable. */
import { readFileSync } from "node:fs";

/** scripts/build.ts sets both. They are absent when the sources run from a checkout. */
declare const __VERSION__: string | undefined;
declare const __PACKED__: boolean | undefined;

/** An executable contains no package.json of ours. */
export const version: string =
  typeof __VERSION__ === "string"
    ? __VERSION__
    : (JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8")) as { version: string }).version;

/** True in the executable of a release. */
export const packed: boolean = typeof __PACKED__ === "boolean" && __PACKED__;
