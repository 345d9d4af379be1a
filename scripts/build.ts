/** Bundles webhookd into `dist/bundle`: everything that it imports, and the addons beside it. */
import { execFileSync } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { createRequire, isBuiltin } from "node:module";
import { basename, join, relative } from "node:path";
import { build, type BuildOptions, type Metafile, type Plugin } from "esbuild";
import { commandsTyped } from "../cli/completions/grammar.ts";
import { DASHBOARD, SCRIPTS, START } from "../src/bundle.ts";
import { THREADS } from "../src/thread.ts";
import { copyAddons } from "./package/addons.ts";
import { writeCompressed } from "./package/compressed.ts";
import { NODE_FLAGS } from "./package/node-flags.ts";
import { buildPortal } from "./portal.ts";
import { root } from "./root.ts";

const requireFile = createRequire(import.meta.url);

export interface Bundle {
  /** Contains `START`, and the files that it reads. */
  readonly directory: string;
  readonly version: string;
  /** The size of the directory in bytes. */
  readonly size: number;
  /** esbuild's reports on the scripts. */
  readonly scripts: Readonly<Record<keyof typeof SCRIPTS, Metafile>>;
  /** The same report for the threads. */
  readonly threads: readonly Metafile[];
  /** The same report for the portal. */
  readonly portal: Metafile;
  /** The paths in package-lock.json of the packages that contain the addons. */
  readonly addons: readonly string[];
}

/**
 * Bundles for `target`, a platform and processor as Node names them (`linux-x64`), or for several at once. Anything
 * already in `directory` is removed. If this machine is the only target, the bundle is compiled too, by `node`, which
 * must be the Node that it will run on.
 */
export async function bundle(
  target: string | readonly string[],
  directory = join(root, "dist/bundle"),
  node = process.execPath,
): Promise<Bundle> {
  rmSync(directory, { recursive: true, force: true });
  mkdirSync(directory, { recursive: true });

  const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as Record<string, string>;
  const targets = typeof target === "string" ? [target] : target;
  const addons = copyAddons(targets, directory);
  const define = {
    __PACKED__: "true",
    __VERSION__: JSON.stringify(version),
    __ADDONS__: JSON.stringify(addons.embedded),
    "process.env.NODE_ENV": '"production"',
    "process.env.UNDICI_USE_MILO": '"0"',
  };
  const threads = await bundleThreads(define, directory);
  const portal = await bundlePortal(directory);
  const inParts = { __THREADS__: JSON.stringify(threads.files), __PORTAL__: JSON.stringify(portal.files) };
  const parts = await bundleModules("parts", PARTS, { ...define, ...inParts }, directory);
  const rare = await bundleModules("rare", [...RARE, ...RARE_MODULES], define, directory);
  const dashboard = await bundleDashboard(define, directory);
  const program = await bundleProgram(define, directory);
  await bundleStart(define, directory);
  if (target === `${process.platform}-${process.arch}`) {
    execFileSync(node, [...NODE_FLAGS, join(root, "scripts/package/code.ts"), directory], {
      stdio: ["ignore", "ignore", "inherit"],
    });
  }
  const size = sizeOf(directory);
  return {
    directory,
    version: version!,
    size,
    scripts: { program, dashboard, parts, rare },
    threads: threads.metafiles,
    portal: portal.metafile,
    addons: addons.packages,
  };
}

interface Threads {
  readonly files: Record<string, string>;
  readonly metafiles: Metafile[];
}

/**
 * Bundles the threads as CommonJS. A thread is started from its source, and source without a file cannot be an ES
 * module.
 */
async function bundleThreads(define: Record<string, string>, directory: string): Promise<Threads> {
  const threads: Threads = { files: {}, metafiles: [] };
  for (const [name, module] of Object.entries(THREADS)) {
    const { metafile, outputFiles } = await build({
      ...common,
      entryPoints: [join("src", module)],
      outfile: join(directory, `${name}-thread.cjs`),
      write: false,
      format: "cjs",
      // Their source is not in a file, so there is no file beside it.
      define: { ...define, "import.meta.url": "undefined" },
    });
    requireSelfContained(metafile);
    threads.files[name] = writeCompressed(directory, `${name}-thread.cjs`, outputFiles[0]!.contents);
    threads.metafiles.push(metafile);
  }
  return threads;
}

/** Stores the page compressed, as browsers accept it. */
async function bundlePortal(directory: string) {
  const { files, metafile } = await buildPortal(11);
  const kept = files.map(({ path, type, br }) => {
    const file = `${path === "/portal" ? "portal.html" : basename(path)}.br`;
    writeFileSync(join(directory, file), br);
    return { path, type, file };
  });
  return { files: kept, metafile };
}

/** The modules that work on a store, including the daemon. A command that needs one of them loads all of them. */
const PARTS = [
  "src/daemon.ts",
  "src/daemon/reloaded.ts",
  "src/log.ts",
  "src/offline.ts",
  "src/api/server/certificate.ts",
  "src/delivery/http/egress-guard.ts",
] as const;

/**
 * These packages are a fifth of the source. Most daemons load them late or never, but would read them at each start.
 */
const RARE = ["ajv/dist/2020.js", "nodemailer", "pg", "prom-client"] as const;

/** Our own modules that few commands or daemons load, with the packages that only they use. They are not compiled. */
const RARE_MODULES = ["cli/types/document/document.ts", "src/telemetry/traces.ts"] as const;

/** Each module becomes a function in a script, because V8 keeps compiled code for scripts, but not for ES modules. */
const scriptsOwn = { "import.meta.dirname": "__dirname", "import.meta.url": "$url" };
const GIVEN =
  '(require, module, __filename, __dirname, $part) { "use strict"; const $url = require("node:url").pathToFileURL(__filename).href;';

async function bundleModules(
  name: "parts" | "rare",
  modules: readonly string[],
  define: Record<string, string>,
  directory: string,
): Promise<Metafile> {
  const each = modules.map((path) => {
    const file = path.endsWith(".ts") ? `./${path}` : path;
    return `${JSON.stringify(path)}: () => require("${file}")`;
  });
  // The program asks the parts, and they ask for what is rare.
  if (name === "parts") each.push(...RARE_MODULES.map((path) => `"${path}": () => $part("${path}")`));
  const { metafile, outputFiles } = await build({
    ...common,
    stdin: { contents: `module.exports = { ${each.join(", ")} };`, resolveDir: root },
    outfile: join(directory, `${name}.cjs`),
    write: false,
    format: "cjs",
    define: { ...define, ...scriptsOwn },
    plugins: name === "parts" ? [rarePackages, ...common.plugins] : common.plugins,
    banner: { js: `(function ${GIVEN}` },
    footer: { js: "})" },
  });
  requireSelfContained(metafile);
  writeCompressed(directory, `${name}.cjs`, ascii(outputFiles[0]!.text));
  return metafile;
}

/**
 * The dashboard is half of the program's source, and no other command needs it. In an ES module its layout can await
 * its WebAssembly before anything that imports it.
 */
async function bundleDashboard(define: Record<string, string>, directory: string): Promise<Metafile> {
  const { metafile, outputFiles } = await build({
    ...common,
    stdin: {
      contents: `import * as dashboard from "./${DASHBOARD}"; $module.exports = dashboard;`,
      resolveDir: root,
    },
    outfile: join(directory, "dashboard.cjs"),
    write: false,
    format: "esm",
    define: { ...define, ...scriptsOwn },
    plugins: [...common.plugins, required],
    // If the source said `module`, it would be taken for CommonJS, which cannot await.
    banner: { js: `(async function ${GIVEN} const $module = module;` },
    footer: { js: "})" },
  });
  requireSelfContained(metafile);
  writeCompressed(directory, "dashboard.cjs", ascii(outputFiles[0]!.text));
  return metafile;
}

/** Leaves the program uncompressed, because every command would have to wait for it to be unpacked. */
async function bundleProgram(define: Record<string, string>, directory: string): Promise<Metafile> {
  const { metafile, outputFiles } = await build({
    ...common,
    entryPoints: ["cli/main.ts"],
    outfile: join(directory, SCRIPTS.program),
    write: false,
    format: "esm",
    // This is a string, because every command would create the object.
    define: { ...define, ...scriptsOwn, __COMMANDS__: JSON.stringify(JSON.stringify(await commandsTyped())) },
    plugins: [compiledParts, ...common.plugins, required],
    banner: { js: `(async function ${GIVEN}` },
    footer: { js: "})" },
  });
  requireSelfContained(metafile);
  writeFileSync(join(directory, SCRIPTS.program), ascii(outputFiles[0]!.text));
  return metafile;
}

async function bundleStart(define: Record<string, string>, directory: string): Promise<void> {
  const { metafile } = await build({
    ...common,
    entryPoints: ["scripts/package/start.ts"],
    outfile: join(directory, START),
    format: "cjs",
    define: { ...define, "import.meta.dirname": "__dirname", "import.meta.url": "undefined" },
  });
  requireSelfContained(metafile);
}

/** Escapes characters that are not ASCII, which esbuild does everywhere except in regular expressions. */
function ascii(source: string): string {
  return source.replaceAll(/[^\x00-\x7f]/g, (unit) => `\\u${hex(unit)}`);
}

function hex(unit: string): string {
  return unit.charCodeAt(0).toString(16).padStart(4, "0");
}

/** Redirects the program's imports of the parts to the compiled parts. */
const compiledParts: Plugin = {
  name: "compiled-parts",
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^\.\.?\/.*\.tsx?$/ }, ({ path, resolveDir, kind }) => {
      const file = relative(root, join(resolveDir, path)).replaceAll("\\", "/");
      const isPart = kind === "dynamic-import" && [...PARTS, ...RARE_MODULES, DASHBOARD].some((part) => part === file);
      return isPart ? { path: file, namespace: "compiled" } : null;
    });
    onLoad({ filter: /.*/, namespace: "compiled" }, async ({ path }) => ({
      contents: `export const { ${(await exportsOf(path)).join(", ")} } = ${path === DASHBOARD ? "await " : ""}$part(${JSON.stringify(path)});`,
    }));
  },
};

/** Redirects the parts' imports of rare packages and modules to a separate bundle. */
const rarePackages: Plugin = {
  name: "rare-packages",
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^[a-z]/ }, ({ path }) =>
      RARE.some((name) => name === path) ? { path, namespace: "rare" } : null,
    );
    onResolve({ filter: /^\.\.?\/.*\.ts$/ }, ({ path, resolveDir, kind }) => {
      const file = relative(root, join(resolveDir, path)).replaceAll("\\", "/");
      const isRare = kind === "dynamic-import" && RARE_MODULES.some((name) => name === file);
      return isRare ? { path: file, namespace: "rare" } : null;
    });
    onLoad({ filter: /.*/, namespace: "rare" }, ({ path }) => ({
      contents: `module.exports = $part(${JSON.stringify(path)});`,
    }));
  },
};

async function exportsOf(path: string): Promise<string[]> {
  const { metafile } = await build({ absWorkingDir: root, entryPoints: [path], write: false, metafile: true });
  return Object.values(metafile.outputs)[0]!.exports;
}

function sizeOf(directory: string): number {
  return readdirSync(directory).reduce((bytes, file) => bytes + statSync(join(directory, file)).size, 0);
}

/** Throws if an import is left that is not one of Node's own modules: the executable runs without node_modules. */
function requireSelfContained(metafile: Metafile): void {
  for (const [file, { imports }] of Object.entries(metafile.outputs)) {
    const outside = imports.filter(({ external, path }) => external && !isBuiltin(path));
    if (outside.length > 0) throw new Error(`${file} imports ${outside.map(({ path }) => path).join(", ")}`);
  }
}

/** Gives better-sqlite3 its addon, because it would search folders that the bundle does not have. */
const givenAddon: Plugin = {
  name: "given-addon",
  setup({ onLoad }) {
    onLoad({ filter: /better-sqlite3[\\/]lib[\\/]binding\.js$/ }, () => ({
      contents: "exports.getBinding = (file) => require(file);",
    }));
  },
};

/** Leaves out features that are never used: listhen's watcher, tunnel and clipboard, Ink's debugger, pg on libpq. */
const unused: Plugin = {
  name: "unused",
  setup({ onResolve, onLoad }) {
    const filter =
      /^(@parcel\/watcher(-wasm)?|untun|tinyclip|uqr|node-forge|jiti|crossws\/adapters\/node|react-devtools-core|pg-native)$/;
    onResolve({ filter }, ({ path }) => ({ path, namespace: "unused" }));
    const file = /[\\/]listhen[\\/]dist[\\/]chunks[\\/]xdg-open/;
    onLoad({ filter: file }, () => ({ contents: "module.exports = {};" }));
    onLoad({ filter: /.*/, namespace: "unused" }, () => ({ contents: "module.exports = {};" }));
  },
};

/**
 * Delays `require` of these modules until a member is read. An import reads every member, and Node creates some of them
 * only then: its fetch, WebSocket and the list of trusted certificates, 20 ms each; diffs, file streams. It would also
 * load TLS and HTTP/2, which most processes never use.
 */
const unread: Plugin = {
  name: "unread",
  setup({ initialOptions, onResolve, onLoad }) {
    // The daemon needs the two excluded ones at once.
    const filter =
      initialOptions.format === "esm"
        ? /^(node:)?(https?|http2|tls|util|fs|crypto)$/
        : /^(node:)?(https?|http2|tls|util)$/;
    onResolve({ filter }, ({ path, namespace }) => (namespace === "unread" ? null : { path, namespace: "unread" }));
    onLoad({ filter: /.*/, namespace: "unread" }, ({ path }) => ({
      contents: `for (const name of ${JSON.stringify(Object.keys(requireFile(path) as object))})
        Object.defineProperty(exports, name, { enumerable: true, get: () => require(${JSON.stringify(path)})[name] });`,
    }));
  },
};

/** Turns imports of Node's other modules into calls of `require`, because a function has no import statements. */
const required: Plugin = {
  name: "required",
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /.*/ }, ({ path, kind }) =>
      isBuiltin(path) && kind !== "require-call" ? { path, namespace: "required" } : null,
    );
    onLoad({ filter: /.*/, namespace: "required" }, ({ path }) => ({
      contents: `module.exports = require(${JSON.stringify(path)});`,
    }));
  },
};

/**
 * Takes llhttp out of undici: a CommonJS module that is just a Buffer. Importing that as an ES module would copy a
 * getter for each of its bytes, which costs 25 MiB.
 */
const bytesOfLlhttp: Plugin = {
  name: "bytes-of-llhttp",
  setup({ onLoad }) {
    const filter = /[\\/]undici[\\/]lib[\\/]llhttp[\\/]llhttp-wasm\.js$/;
    onLoad({ filter }, ({ path }) => ({ contents: requireFile(path) as Uint8Array, loader: "binary" }));
  },
};

/**
 * Replaces a package that makes Node read the tables of every language. Only listhen's warnings use it, about features
 * that webhookd does not use.
 */
const plainWarnings: Plugin = {
  name: "plain-warnings",
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^consola$/ }, ({ path }) => ({ path, namespace: "plain-warnings" }));
    onLoad({ filter: /.*/, namespace: "plain-warnings" }, () => ({
      contents: `export const consola = { ...console, withTag: () => consola }; export default consola;`,
    }));
  },
};

/**
 * Stops pino from looking up its caller, which only transports need, and webhookd has none. V8 would search all of the
 * daemon's source for line ends.
 */
const anyCaller: Plugin = {
  name: "any-caller",
  setup({ onLoad }) {
    onLoad({ filter: /[\\/]pino[\\/]lib[\\/]caller\.js$/ }, () => ({ contents: "module.exports = () => [];" }));
  },
};

/** Stops Ink from starting its debugger if the environment has a variable DEV. */
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
  // Keep names, so that a stack trace in somebody's log is readable.
  minifySyntax: true,
  minifyWhitespace: true,
  // scripts/release/licences.ts collects them, with the licences.
  legalComments: "none",
  jsx: "automatic",
  metafile: true,
  logLevel: "warning",
  plugins: [unused, unread, plainWarnings, bytesOfLlhttp, givenAddon, anyCaller, inkInEarnest],
} satisfies BuildOptions;

if (import.meta.main) {
  const { directory, size } = await bundle(`${process.platform}-${process.arch}`);
  console.log(`${directory}: ${(size / 1e6).toFixed(1)} MB`);
}
