import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** The file with the checksums of every other file in `directory`, as `sha256sum --check` reads it. */
export const CHECKSUMS = "SHA256SUMS";

export function checksums(directory: string): string {
  const files = readdirSync(directory).filter((file) => file !== CHECKSUMS);
  const lines = files.toSorted().map((file) => {
    const hash = createHash("sha256")
      .update(readFileSync(join(directory, file)))
      .digest("hex");
    return `${hash}  ${file}\n`;
  });
  return lines.join("");
}
