/**
 * Builds `webhookd/client` for the npm package: src/client/publisher.ts as one module without dependencies, and its
 * types.
 */
import { execFileSync } from "node:child_process";
import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { isBuiltin } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { build } from "esbuild";
import { root } from "../root.ts";
import { operationTypes } from "./typescript.ts";

/** The oldest Node that the module runs on. */
const TARGET = "node20";

export async function makeLibrary(directory: string, version: string): Promise<void> {
  const { metafile } = await build({
    absWorkingDir: root,
    entryPoints: { index: "src/client/publisher.ts" },
    outdir: directory,
    bundle: true,
    platform: "node",
    target: TARGET,
    format: "esm",
    minifySyntax: true,
    define: { __VERSION__: JSON.stringify(version) },
    metafile: true,
    logLevel: "warning",
  });
  const imports = Object.values(metafile.outputs).flatMap((output) => output.imports);
  const outside = imports.filter(({ path }) => !isBuiltin(path));
  if (outside.length > 0) throw new Error(`webhookd/client imports ${outside.map(({ path }) => path).join(", ")}`);
  writeFileSync(join(directory, "index.d.ts"), declarations());
  copyFileSync(join(root, "src/client/README.md"), join(directory, "README.md"));
}

const MODULES = ["verification", "error", "exchange", "stream", "client", "publisher"];
const FUNCTIONS = new Set(["connect", "verify"]);
/** The types that exchange.ts shares only with other modules of the client. */
const INTERNAL = new Set(["Sending", "Asked", "Named", "Answer"]);

/**
 * Returns all declarations as one file. The types of src/client/operations.ts come from the published description,
 * because its own refer to the daemon's sources.
 */
function declarations(): string {
  const scratch = mkdtempSync(join(tmpdir(), "webhookd-types-"));
  try {
    const config = {
      extends: join(root, "tsconfig.json"),
      compilerOptions: {
        noEmit: false,
        declaration: true,
        emitDeclarationOnly: true,
        rootDir: root,
        outDir: scratch,
        typeRoots: [join(root, "node_modules/@types")],
      },
      include: [],
      files: [join(root, "src/client/publisher.ts")],
    };
    writeFileSync(join(scratch, "tsconfig.json"), JSON.stringify(config));
    execFileSync(join(root, "node_modules/.bin/tsc"), ["-p", scratch], { stdio: ["ignore", "inherit", "inherit"] });
    const parts = MODULES.flatMap((name) => {
      return statementsOf(readFileSync(join(scratch, `src/client/${name}.d.ts`), "utf8")).filter(isPublic);
    });
    return `${operationTypes()}\n${parts.join("\n")}\n`;
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

/**
 * Splits the text into statements, each with its comment. A line continues a statement if it is indented, is a comment,
 * or opens another brace.
 */
function statementsOf(text: string): string[] {
  const statements: string[] = [];
  let open = "";
  for (const line of text.split("\n")) {
    open += open === "" ? line : `\n${line}`;
    if (/^(?:\}|[^\s/].*(?:;|\{\}))$/.test(line)) {
      statements.push(open);
      open = "";
    }
  }
  return statements;
}

function isPublic(statement: string): boolean {
  const declared = /^(?:\/\*\*[^]*?\*\/\n)?(?:export |declare )*(interface|type|class|function) (\w+)/.exec(statement);
  const [, kind, name = ""] = declared ?? [];
  return kind !== undefined && !INTERNAL.has(name) && (kind !== "function" || FUNCTIONS.has(name));
}
