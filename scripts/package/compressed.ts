import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { constants, zstdCompressSync } from "node:zlib";

/**
 * Puts a compressed file into the bundle and returns its name there; `asset` of src/bundle.ts unpacks it. An executable
 * must stay under 115 MB. Brotli would be a twentieth smaller, but some of the fixes that a Node may lack are in its
 * decoder for Brotli.
 */
export function writeCompressed(directory: string, name: string, bytes: string | Uint8Array): string {
  const asset = `${name}.zst`;
  writeFileSync(
    join(directory, asset),
    zstdCompressSync(bytes, { params: { [constants.ZSTD_c_compressionLevel]: 19 } }),
  );
  return asset;
}
