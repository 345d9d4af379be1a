/**
 * What scripts/build.ts put beside the program: files of a directory, which in the executable are inside it. Two of them
 * are scripts that were compiled then. To start from their source, V8 would first parse two megabytes and a half, and
 * compile what is called: a third of the time until the daemon listens.
 */
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { getRawAsset, isSea } from "node:sea";
import { Script } from "node:vm";
import { zstdDecompressSync } from "node:zlib";

/** Room for all of a compressed file, so that it is not put together from pieces. */
const CHUNK = 4 * 1024 * 1024;

/** Not to be written to: in the executable it may be the executable's own memory. Throws if there is no such file. */
export function asset(name: string, directory = import.meta.dirname): Buffer {
  const kept = isSea() ? Buffer.from(getRawAsset(name)) : readFileSync(join(directory, name));
  return name.endsWith(".zst") ? zstdDecompressSync(kept, { chunkSize: CHUNK }) : kept;
}

/** The file that runs as it is: Node is started with it, and in the executable it is the main script. */
export const START = "webhookd.cjs";

/**
 * The commands, what some of them load, and packages that few daemons need: modules by their paths in a checkout or their
 * names, each evaluated when first asked for.
 */
export const SCRIPTS = { program: "program.cjs", parts: "parts.cjs.zst", rare: "rare.cjs.zst" } as const;
type ScriptName = keyof typeof SCRIPTS;
type Parts = Readonly<Record<string, () => unknown>>;
/** Called in place of `import()`, by modules that scripts/build.ts writes. */
type Part = (path: string) => unknown;

/** What V8 made of a script; there is none in a bundle for another kind of machine than the one that made it. */
export const codeOf = (name: string): string => `${name}.code`;

/** Runs the bundle in `directory`. The answer grows: a script is added when something of it is first loaded. */
export function runProgram(directory = import.meta.dirname): ReadonlyMap<string, Script> {
  const scripts = new Map<string, Script>();
  const partsOf = (name: ScriptName, part?: Part): Part => {
    let parts: Parts | undefined;
    return (path) => (parts ??= run(name, part) as Parts)[path]!();
  };
  const run = (name: ScriptName, part?: Part) => {
    const script = compiled(name, directory);
    scripts.set(name, script);
    const filename = join(directory, `${name}.cjs`);
    const module: { exports: unknown } = { exports: null };
    const main = script.runInThisContext() as (...given: unknown[]) => unknown;
    main(createRequire(filename), module, filename, directory, part);
    return module.exports;
  };
  run("program", partsOf("parts", partsOf("rare")));
  return scripts;
}

/** Code of another V8, or for other flags of V8, is passed over by V8 itself. */
export function compiled(name: ScriptName, directory: string): Script {
  const source = asset(SCRIPTS[name], directory);
  const cachedData = codeIn(name, directory);
  // ASCII, so that V8 keeps a byte for each character.
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
