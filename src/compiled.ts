/**
 * The parts of the program that scripts/build.ts compiled when it made the bundle. To start the daemon from its source,
 * V8 would first parse a megabyte and a half, and compile what is called: a third of the time until it listens.
 */
import { existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { constants, Script } from "node:vm";
import { inflateSync } from "node:zlib";

/** Modules by their paths in a checkout, each evaluated when it is first asked for. */
export type Parts = Readonly<Record<string, () => unknown>>;

export interface Compiled {
  readonly script: Script;
  readonly parts: Parts;
}

const SOURCE = "parts.cjs.deflate";
/** What V8 made of the source; there is none in a bundle for another kind of machine than the one that made it. */
export const CODE = "parts.code";
/** Room for all of the source, so that it is not put together from pieces. */
const CHUNK = 4 * 1024 * 1024;

/** `directory` is the bundle's. Code of another V8, or for other flags of V8, is passed over by V8 itself. */
export function loadCompiled(directory: string): Compiled {
  const filename = join(directory, "parts.cjs");
  const code = join(directory, CODE);
  const source = inflateSync(readFileSync(join(directory, SOURCE)), { chunkSize: CHUNK });
  // ASCII, so that V8 keeps a byte for each character.
  const script = new Script(source.toString("latin1"), {
    filename,
    ...(existsSync(code) && { cachedData: readFileSync(code) }),
    importModuleDynamically: constants.USE_MAIN_CONTEXT_DEFAULT_LOADER,
  });
  const module: { exports: Parts } = { exports: {} };
  const run = script.runInThisContext() as (...names: unknown[]) => void;
  run(module.exports, createRequire(filename), module, filename, directory);
  return { script, parts: module.exports };
}

let loaded: Parts | undefined;

/** Called in place of `import()`, by modules that scripts/build.ts writes. */
export function part(path: string): unknown {
  loaded ??= loadCompiled(import.meta.dirname).parts;
  return loaded[path]!();
}
