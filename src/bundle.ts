/**
 * Loads the files that scripts/build.ts put beside the program, in a directory or inside the executable. Two of them
 * are scripts compiled at build time. Starting from their source, V8 would first have to parse two and a half megabytes
 * and compile the functions that are called, which takes a third of the time until the daemon listens.
 */
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { getRawAsset, isSea } from "node:sea";
import { Script } from "node:vm";
import { zstdDecompressSync } from "node:zlib";

/** Large enough for any decompressed file, so that it is not assembled from pieces. */
const CHUNK = 4 * 1024 * 1024;

/**
 * Returns a file's content. Do not write to it: in the executable it may be the executable's own memory. Throws if
 * there is no such file.
 */
export function asset(name: string, directory = import.meta.dirname): Buffer {
  const kept = isSea() ? Buffer.from(getRawAsset(name)) : readFileSync(join(directory, name));
  return name.endsWith(".zst") ? zstdDecompressSync(kept, { chunkSize: CHUNK }) : kept;
}

/** The file that runs unchanged: Node is started with it, and in the executable it is the main script. */
export const START = "webhookd.cjs";

/**
 * The commands, the dashboard, the modules that only some commands load, and packages that few daemons need. Modules
 * are keyed by name or by their path in a checkout, and evaluated when first used.
 */
export const SCRIPTS = {
  program: "program.cjs",
  dashboard: "dashboard.cjs.zst",
  parts: "parts.cjs.zst",
  rare: "rare.cjs.zst",
} as const;
/** The module that the dashboard's script exports. It is the only script that runs asynchronously. */
export const DASHBOARD = "tui/main.tsx";
type ScriptName = keyof typeof SCRIPTS;
type Parts = Readonly<Record<string, () => unknown>>;
/** Replaces `import()` in modules that scripts/build.ts writes. */
type Part = (path: string) => unknown;

/**
 * Returns the name of the file with V8's compiled code for a script. A bundle built for another kind of machine has
 * none.
 */
export const codeOf = (name: string): string => `${name}.code`;

/** Runs the bundle in `directory`. The returned map grows: a script is added when something in it is first loaded. */
export function runProgram(directory = import.meta.dirname): ReadonlyMap<string, Script> {
  const scripts = new Map<string, Script>();
  const partsOf = (name: ScriptName, part?: Part): Part => {
    let parts: Parts | undefined;
    return (path) => (parts ??= run(name, part).module.exports as Parts)[path]!();
  };
  const run = (name: ScriptName, part?: Part) => {
    const script = compiled(name, directory);
    scripts.set(name, script);
    const filename = join(directory, `${name}.cjs`);
    const module: { exports: unknown } = { exports: null };
    const main = script.runInThisContext() as (...given: unknown[]) => Promise<void> | void;
    return { module, ended: main(createRequire(filename), module, filename, directory, part) };
  };
  const dashboard = async () => {
    const { module, ended } = run("dashboard");
    await ended;
    return module.exports;
  };
  const parts = partsOf("parts", partsOf("rare"));
  run("program", (path) => (path === DASHBOARD ? dashboard() : parts(path)));
  return scripts;
}

/** V8 itself ignores compiled code made by another version or with other flags. */
export function compiled(name: ScriptName, directory: string): Script {
  const source = asset(SCRIPTS[name], directory);
  const cachedData = codeIn(name, directory);
  // The source is ASCII, and V8 stores latin1 with one byte per character.
  return new Script(source.toString("latin1"), {
    filename: join(directory, `${name}.cjs`),
    ...(cachedData && { cachedData }),
  });
}

function codeIn(name: ScriptName, directory: string): Buffer | null {
  try {
    return asset(codeOf(name), directory);
  } catch {
    return null;
  }
}
