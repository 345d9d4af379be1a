/**
 * The files of the page as the daemon serves them. Each also exists in compressed forms for browsers that accept them.
 */
import { existsSync } from "node:fs";
import { brotliDecompressSync, gzipSync } from "node:zlib";
import { asset } from "../bundle.ts";

export interface PortalFile {
  /** The path of the URL: `/portal` for the HTML. The other names contain a hash of the contents. */
  readonly path: string;
  readonly type: string;
  readonly body: Uint8Array;
  readonly br: Uint8Array;
  readonly gzip: Uint8Array;
}

/** A file as it is stored: compressed. */
export interface KeptFile extends Pick<PortalFile, "path" | "type"> {
  readonly br: Uint8Array;
}

/** The files that scripts/build.ts put beside the bundle; undefined when the sources run from a checkout. */
declare const __PORTAL__:
  | readonly { readonly path: string; readonly type: string; readonly file: string }[]
  | undefined;

export async function portalFiles(): Promise<readonly PortalFile[]> {
  return (await kept()).map(({ path, type, br }) => {
    const body = brotliDecompressSync(br);
    return { path, type, body, br, gzip: gzipSync(body) };
  });
}

async function kept(): Promise<readonly KeptFile[]> {
  if (typeof __PORTAL__ !== "undefined")
    return __PORTAL__.map(({ path, type, file }) => ({
      path,
      type,
      br: asset(file),
    }));
  // This is a URL because scripts/build.ts would bundle a literal import, and esbuild cannot bundle itself.
  const builder = new URL("../../scripts/portal.ts", import.meta.url);
  if (!existsSync(builder)) throw new Error("there is no page in this package");
  const { portalOfCheckout } = (await import(builder.href)) as { portalOfCheckout(): Promise<readonly KeptFile[]> };
  return portalOfCheckout();
}
