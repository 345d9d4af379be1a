import type { ConfigInputs } from "../../src/config/inputs.ts";
import { judgeSecret, readSecretFile } from "../../src/secret-file.ts";

/** Returns a machine without files, variables or flags, where the executable runs as an ordinary user. */
export function inputs(change: Partial<ConfigInputs> & { files?: Record<string, string> } = {}): ConfigInputs {
  const { files = {}, ...rest } = change;
  return {
    flags: {},
    env: {},
    cwd: "/srv/app",
    home: "/home/ana",
    root: false,
    platform: "linux",
    checkout: null,
    readFile: (path) => files[path] ?? null,
    readSecret(path) {
      const text = files[path];
      if (text === undefined) return readSecretFile(path);
      const judged = judgeSecret(Buffer.from(text));
      return "text" in judged ? { ...judged, isOpen: false } : judged;
    },
    exists: (path) => path in files,
    isHidden: () => false,
    ...rest,
  };
}
