import { closeSync, fsyncSync, openSync, rmSync, writeSync } from "node:fs";
import { join } from "node:path";
import { systemCode } from "../system-code.ts";

const PROBE = Buffer.alloc(64 * 1024);

/** The system's code where a new file of some pages cannot be written; null where it can. */
export function refusedToWrite(dir: string): string | null {
  const path = join(dir, "webhookd.probe");
  try {
    const file = openSync(path, "w", 0o600);
    try {
      for (let written = 0; written < PROBE.length;) written += writeSync(file, PROBE, written);
      fsyncSync(file);
    } finally {
      closeSync(file);
    }
    return null;
  } catch (error) {
    return systemCode(error) || "EIO";
  } finally {
    rmSync(path, { force: true });
  }
}
