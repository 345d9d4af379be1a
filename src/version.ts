import { readFileSync } from "node:fs";

/** Set by scripts/build.ts, because the executable carries no package.json of ours. */
declare const __VERSION__: string | undefined;

export const version: string = typeof __VERSION__ === "string" ? __VERSION__ : readVersion();

function readVersion(): string {
  const text = readFileSync(new URL("../package.json", import.meta.url), "utf8");
  return (JSON.parse(text) as { version: string }).version;
}
