import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { constants, zstdCompressSync } from "node:zlib";

/**
 * Puts a file into the bundle that `asset` of src/bundle.ts unpacks, and returns the name that it has there: an executable
 * is to stay under 115 MB. Not as brotli, a twentieth smaller: Node's decoder of it is what some of the fixes are about
 * that a Node may lack.
 */
export function writeCompressed(directory: string, name: string, bytes: string | Uint8Array): string {
  const asset = `${name}.zst`;
  writeFileSync(
    join(directory, asset),
    zstdCompressSync(bytes, { params: { [constants.ZSTD_c_compressionLevel]: 19 } }),
  );
  return asset;
}
