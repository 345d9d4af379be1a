import { packed } from "../src/packed.ts";

/** What has to be done before a .tsx file is imported; the executable has none. */
export async function readTsx(): Promise<void> {
  // Not as a literal, which scripts/build.ts would follow: esbuild cannot be in its own bundle.
  if (!packed) await import(new URL("../scripts/tsx.ts", import.meta.url).href);
}
