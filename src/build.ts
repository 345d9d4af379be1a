/** What this build of webhookd is. */
import { readFileSync } from "node:fs";

/** Both are set by scripts/build.ts; absent when the sources run from a checkout. */
declare const __VERSION__: string | undefined;
declare const __PACKED__: boolean | undefined;

/** An executable carries no package.json of ours. */
export const version: string =
  typeof __VERSION__ === "string"
    ? __VERSION__
    : (JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8")) as { version: string }).version;

/** Whether this is the one executable of a release. */
export const packed: boolean = typeof __PACKED__ === "boolean" && __PACKED__;
