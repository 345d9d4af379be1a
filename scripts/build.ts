/** Bundles webhookd into `dist/bundle`: all that it imports, and the addons beside it. */
import { mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { isBuiltin } from "node:module";
import { join } from "node:path";
import { build, type BuildOptions, type Metafile, type Plugin } from "esbuild";
import { THREADS } from "../src/thread.ts";
import { copyAddons } from "./package/addons.ts";
import { root } from "./root.ts";

export interface Bundle {
  /** Holds `webhookd.mjs`, which runs as it is, and the package.json by which pkg packs it. */
  readonly directory: string;
  readonly version: string;
  /** Bytes of all that is in it. */
  readonly size: number;
  /** What esbuild says of the program's files. */
  readonly program: Metafile;
  /** The same of the threads. */
  readonly threads: readonly Metafile[];
  /** Where package-lock.json has the packages that the addons are of. */
  readonly addons: readonly string[];
}

/** `target` is the platform and processor as Node names them: `linux-x64`. What was in `directory` before is removed. */
export async function bundle(target: string, directory = join(root, "dist/bundle")): Promise<Bundle> {
  rmSync(directory, { recursive: true, force: true });
  mkdirSync(directory, { recursive: true });

  const { version, license } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as Record<string, string>;
  const addons = copyAddons(target, directory);
  const define = {
    __PACKED__: "true",
    __VERSION__: JSON.stringify(version),
    __ADDONS__: JSON.stringify(addons.embedded),
    "process.env.NODE_ENV": '"production"',
    "process.env.UNDICI_USE_MILO": '"0"',
  };
  const threads = await bundleThreads(define, directory);
  const { metafile: program } = await build({
    ...common,
    entryPoints: { webhookd: "cli/main.ts" },
    outdir: directory,
    outExtension: { ".js": ".mjs" },
    format: "esm",
    // Into pieces loaded when they are needed: in one file, `--version` would wait for all that the daemon imports.
    splitting: true,
    define: { ...define, __THREADS__: JSON.stringify(threads.files) },
    // CommonJS packages call require for Node's own modules.
    banner: {
      js: 'import { createRequire as $createRequire } from "node:module"; const require = $createRequire(import.meta.url);',
    },
  });
  requireSelfContained(program);
  const pkg = { assets: ["*.deflate", "*.mjs", "*.cjs"] };
  const description = { name: "webhookd", version, license, type: "module", bin: "webhookd.mjs", pkg };
  writeFileSync(join(directory, "package.json"), JSON.stringify(description));
  const size = sizeOf(directory);
  return { directory, version: version!, size, program, threads: threads.metafiles, addons: addons.packages };
}

interface Threads {
  readonly files: Record<string, string>;
  readonly metafiles: Metafile[];
}

/** As CommonJS: a thread is started from its source, and text that is no file cannot be an ES module. */
async function bundleThreads(define: Record<string, string>, directory: string): Promise<Threads> {
  const threads: Threads = { files: {}, metafiles: [] };
  for (const [name, module] of Object.entries(THREADS)) {
    const file = `${name}-thread.cjs`;
    const entryPoints = [join("src", module)];
    const { metafile } = await build({ ...common, entryPoints, outfile: join(directory, file), format: "cjs", define });
    requireSelfContained(metafile);
    threads.files[name] = file;
    threads.metafiles.push(metafile);
  }
  return threads;
}

function sizeOf(directory: string): number {
  return readdirSync(directory).reduce((bytes, file) => bytes + statSync(join(directory, file)).size, 0);
}

/** There is no node_modules where the executable runs: only Node's own modules may stay imports. */
function requireSelfContained(metafile: Metafile): void {
  for (const [file, { imports }] of Object.entries(metafile.outputs)) {
    const outside = imports.filter(({ external, path }) => external && !isBuiltin(path));
    if (outside.length > 0) throw new Error(`${file} imports ${outside.map(({ path }) => path).join(", ")}`);
  }
}

/** better-sqlite3 would look for its addon in folders that the bundle does not have. */
const givenAddon: Plugin = {
  name: "given-addon",
  setup({ onLoad }) {
    onLoad({ filter: /better-sqlite3[\\/]lib[\\/]binding\.js$/ }, () => ({
      contents: "exports.getBinding = (file) => require(file);",
    }));
  },
};

/** For features that are off: listhen's watcher, tunnel, clipboard and so on, undici's second parser, Ink's debugger. */
const unused: Plugin = {
  name: "unused",
  setup({ onResolve, onLoad }) {
    const filter =
      /^(@parcel\/watcher(-wasm)?|untun|tinyclip|uqr|node-forge|jiti|crossws\/adapters\/node|react-devtools-core)$/;
    onResolve({ filter }, ({ path }) => ({ path, namespace: "unused" }));
    const file =
      /[\\/](undici[\\/]lib[\\/]milo[\\/]|consola[\\/]dist[\\/]chunks[\\/]prompt|listhen[\\/]dist[\\/]chunks[\\/]xdg-open)/;
    onLoad({ filter: file }, () => ({ contents: "module.exports = {};" }));
    onLoad({ filter: /.*/, namespace: "unused" }, () => ({ contents: "module.exports = {};" }));
  },
};

/**
 * To import one of these as an ES module is to read all that it exports, and some of that Node makes only when it is
 * read: its own fetch and WebSocket, the list of trusted certificates, 20 ms each; diffs. require reads nothing.
 */
const unread: Plugin = {
  name: "unread",
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^(node:)?(https?|http2|tls|util)$/ }, ({ path, kind }) =>
      kind === "import-statement" ? { path, namespace: "unread" } : null,
    );
    onLoad({ filter: /.*/, namespace: "unread" }, ({ path }) => ({
      contents: `module.exports = require(${JSON.stringify(path)});`,
    }));
  },
};

/**
 * The two parts of undici that webhookd uses, without its fetch, caches, mocks and agents: half a megabyte in the
 * program and again in the sender's thread. As an ES module, so that to import a third is an error of the build.
 */
const leanUndici: Plugin = {
  name: "lean-undici",
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^undici$/ }, ({ path }) => ({ path, namespace: "lean-undici" }));
    onLoad({ filter: /.*/, namespace: "lean-undici" }, () => ({
      contents: `export { default as Client } from "undici/lib/dispatcher/client.js";
        export { default as errors } from "undici/lib/core/errors.js";`,
      resolveDir: root,
    }));
  },
};

/** Ink takes a DEV in the environment for a wish to debug Ink. */
const inkInEarnest: Plugin = {
  name: "ink-in-earnest",
  setup({ onLoad }) {
    onLoad({ filter: /node_modules[\\/]ink[\\/]build[\\/](ink|reconciler)\.js$/ }, ({ path }) => ({
      contents: readFileSync(path, "utf8").replaceAll("process.env['DEV']", '"false"'),
    }));
  },
};

const common = {
  absWorkingDir: root,
  bundle: true,
  platform: "node",
  target: "node24",
  // Not the names: a stack trace in somebody's log is to be read.
  minifySyntax: true,
  minifyWhitespace: true,
  // scripts/release/licences.ts collects them, with the licences.
  legalComments: "none",
  jsx: "automatic",
  metafile: true,
  logLevel: "warning",
  plugins: [unused, unread, leanUndici, givenAddon, inkInEarnest],
} satisfies BuildOptions;

if (import.meta.main) {
  const { directory, size } = await bundle(`${process.platform}-${process.arch}`);
  console.log(`${directory}: ${(size / 1e6).toFixed(1)} MB`);
}
