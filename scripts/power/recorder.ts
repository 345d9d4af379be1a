/** Builds recorder.c, where there is a C compiler to be had. */
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const SOURCE = fileURLToPath(new URL("recorder.c", import.meta.url));

/** The path of the recorder, or why there is none. */
export function buildRecorder(dir: string): { readonly file: string } | { readonly missing: string } {
  if (process.platform !== "linux")
    return { missing: `writes are recorded on Linux only, and this is ${process.platform}` };
  const file = join(dir, "recorder.so");
  const built = spawnSync("cc", ["-O2", "-shared", "-fPIC", "-o", file, SOURCE, "-ldl", "-lpthread"], {
    encoding: "utf8",
  });
  if (built.error !== undefined) return { missing: "there is no C compiler (cc) to build the recorder with" };
  if (built.status !== 0) return { missing: `the recorder does not compile:\n${built.stderr}` };
  return { file };
}
