/** Builds the page in `src/portal`: an HTML file, a script and its languages, a style sheet and an icon. */
import { createHash } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync, renameSync, statSync, writeFileSync } from "node:fs";
import { basename, extname, join } from "node:path";
import { brotliCompressSync, constants } from "node:zlib";
import { build, type BuildOptions, type Metafile, type Plugin } from "esbuild";
import type { KeptFile } from "../src/portal/files.ts";
import { root } from "./root.ts";

const TYPES = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
} as const;

export interface Portal {
  readonly files: readonly KeptFile[];
  /** esbuild's report on the script and the style sheet. */
  readonly metafile: Metafile;
}

/** Each language but English is a file of its own, which the page loads if it is chosen. */
const LANGUAGES = ["german", "french", "spanish", "japanese"].map((name) => `src/portal/language/${name}.ts`);

const OPTIONS = {
  absWorkingDir: root,
  outdir: join(root, "dist/portal"),
  entryNames: "[name].[hash]",
  write: false,
  metafile: true,
  bundle: true,
  minify: true,
  format: "esm",
  platform: "browser",
  target: ["chrome120", "firefox121", "safari17.2"],
  charset: "utf8",
  legalComments: "none",
  logLevel: "warning",
} as const satisfies BuildOptions;

/** `quality` is Brotli's. Quality 11 takes a second, and its files are a seventh smaller than those of 5. */
export async function buildPortal(quality: number): Promise<Portal> {
  const languages = await build({ ...OPTIONS, entryPoints: LANGUAGES });
  const page = await build({
    ...OPTIONS,
    entryPoints: [
      { in: "src/portal/main.tsx", out: "page" },
      { in: "src/portal/style/page.css", out: "page" },
    ],
    jsx: "automatic",
    define: { "process.env.NODE_ENV": '"production"', __SNIPPETS__: JSON.stringify(JSON.stringify(snippets())) },
    plugins: [fetched, apart(languages.outputFiles.map(({ path }) => basename(path)))],
  });
  const metafile = {
    inputs: { ...page.metafile.inputs, ...languages.metafile.inputs },
    outputs: { ...page.metafile.outputs, ...languages.metafile.outputs },
  };
  const icon = readFileSync(join(root, "src/portal/style/icon.svg"));
  const parts = [
    ...[...page.outputFiles, ...languages.outputFiles].map(({ path, contents }) => ({
      name: basename(path),
      contents,
    })),
    { name: `icon.${createHash("sha256").update(icon).digest("hex").slice(0, 8)}.svg`, contents: icon },
  ];
  const named = (extension: string) => parts.find(({ name }) => name.endsWith(extension))!.name;
  const html = readFileSync(join(root, "src/portal/page.html"), "utf8")
    .replaceAll(/\{\{(\.\w+)\}\}/g, (_, extension: string) => `portal/${named(extension)}`)
    .replaceAll(/>\s+</g, "><");
  const kept = (path: string, extension: string, contents: Uint8Array): KeptFile => ({
    path,
    type: TYPES[extension as keyof typeof TYPES],
    br: brotliCompressSync(contents, { params: { [constants.BROTLI_PARAM_QUALITY]: quality } }),
  });
  const files = [
    kept("/portal", ".html", Buffer.from(html)),
    ...parts.map(({ name, contents }) => kept(`/portal/${name}`, extname(name), contents)),
  ];
  return { files, metafile };
}

/** The folders with the code that verifies signatures, a file for each language, by the kind of signature. */
const SNIPPETS = {
  hmac: "docs/verify",
  standard: "docs/verify-standard",
  ed25519: "docs/verify-ed25519",
} as const;

function snippetFiles(folder: string): readonly string[] {
  const names = readdirSync(join(root, folder)).filter((name) => /^verify\./i.test(name));
  return names.map((name) => `${folder}/${name}`);
}

/** Returns the code by the kind of signature, and by the extension of its file. */
function snippets(): Record<string, Record<string, string>> {
  const byExtension = (folder: string) =>
    Object.fromEntries(snippetFiles(folder).map((path) => [extname(path), readFileSync(join(root, path), "utf8")]));
  return Object.fromEntries(Object.entries(SNIPPETS).map(([kind, folder]) => [kind, byExtension(folder)]));
}

/** Replaces the client's requests by the page's own, because a browser has no sockets. */
const fetched: Plugin = {
  name: "fetched",
  setup({ onResolve }) {
    onResolve({ filter: /^\.\/exchange\.ts$/ }, ({ importer }) =>
      /[\\/]src[\\/]client[\\/]/.test(importer) ? { path: join(root, "src/portal/server/exchange.ts") } : null,
    );
  },
};

/** Leaves the languages out of the page. It loads each by the name that its file has, which stands beside its own. */
function apart(names: readonly string[]): Plugin {
  return {
    name: "apart",
    setup({ onResolve }) {
      onResolve({ filter: /^\.\/\w+\.ts$/ }, ({ path, kind }) => {
        if (kind !== "dynamic-import") return null;
        const name = names.find((one) => one.startsWith(`${basename(path, ".ts")}.`));
        return name === undefined ? null : { path: `./${name}`, external: true };
      });
    },
  };
}

const CACHE = join(root, ".cache/portal.json");

interface Cache {
  readonly sources: readonly string[];
  /** The times at which the sources were last changed. */
  readonly stamp: string;
  readonly files: readonly (Pick<KeptFile, "path" | "type"> & { readonly br: string })[];
}

function readCache(): Cache | null {
  try {
    return JSON.parse(readFileSync(CACHE, "utf8")) as Cache;
  } catch {
    return null;
  }
}

function stampOf(sources: readonly string[]): string {
  return sources.map((path) => statSync(join(root, path), { throwIfNoEntry: false })?.mtimeMs ?? 0).join();
}

/** Returns the page, and builds it first if a source has changed, which takes a third of a second. */
export async function portalOfCheckout(): Promise<readonly KeptFile[]> {
  const known = readCache();
  if (known !== null && stampOf(known.sources) === known.stamp)
    return known.files.map(({ br, ...file }) => ({ ...file, br: Buffer.from(br, "base64") }));
  const { files, metafile } = await buildPortal(5);
  // A package changes only with the lockfile.
  const own = Object.keys(metafile.inputs).filter((path) => !path.includes("node_modules/"));
  const sources = [
    ...own,
    ...Object.values(SNIPPETS).flatMap(snippetFiles),
    "package-lock.json",
    "src/portal/page.html",
    "src/portal/style/icon.svg",
    "scripts/portal.ts",
  ];
  const text = files.map(({ br, ...file }) => ({ ...file, br: Buffer.from(br).toString("base64") }));
  const cache: Cache = { sources, stamp: stampOf(sources), files: text };
  try {
    mkdirSync(join(root, ".cache"), { recursive: true });
    const draft = `${CACHE}.${process.pid}`;
    writeFileSync(draft, JSON.stringify(cache));
    renameSync(draft, CACHE);
  } catch {
    // The checkout may not be writable. Then the page is built at each start.
  }
  return files;
}
