/** Builds recorder.c and faults.c, if there is a C compiler. */
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

export type Built = { readonly file: string } | { readonly missing: string };

/** Returns the path of the recorder, or why there is none. */
export function buildRecorder(dir: string): Built {
  return buildPreload(dir, "recorder");
}

/** Returns the path of the library that makes calls fail, or why there is none. */
export function buildFaults(dir: string): Built {
  return buildPreload(dir, "faults");
}

function buildPreload(dir: string, name: "recorder" | "faults"): Built {
  if (process.platform !== "linux")
    return { missing: `calls are intercepted on Linux only, and this is ${process.platform}` };
  const source = fileURLToPath(new URL(`${name}.c`, import.meta.url));
  const file = join(dir, `${name}.so`);
  const built = spawnSync("cc", ["-O2", "-shared", "-fPIC", "-o", file, source, "-ldl", "-lpthread"], {
    encoding: "utf8",
  });
  if (built.error !== undefined) return { missing: `there is no C compiler (cc) to build ${name}.c with` };
  if (built.status !== 0) return { missing: `${name}.c does not compile:\n${built.stderr}` };
  return { file };
}
