/**
 * The files of a new store, made once and copied for each seed, because creating the schema takes longer than a
 * simulated process.
 */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openStore } from "../../src/store/opening/open.ts";
import { VirtualClock } from "./clock.ts";
import { STORE_FILES } from "./disk.ts";
import { Random } from "./random.ts";

let made: Promise<ReadonlyMap<string, Buffer>> | undefined;

export async function newStoreIn(dir: string): Promise<void> {
  made ??= make();
  mkdirSync(dir);
  for (const [name, bytes] of await made) writeFileSync(join(dir, name), bytes, { mode: 0o600 });
}

async function make(): Promise<ReadonlyMap<string, Buffer>> {
  const dir = mkdtempSync(join(tmpdir(), "webhookd-sim-"));
  const random = new Random(0);
  const { store } = await openStore({
    dir,
    create: true,
    diskFloor: 0,
    clock: new VirtualClock().forProcess(() => true),
    random: (length) => random.bytes(length),
    statfs: async () => ({ bavail: 2 ** 30, bsize: 4096 }),
    onFault: (error) => {
      throw error;
    },
  });
  await store.close();
  const files = new Map(STORE_FILES.map((name) => [name, readFileSync(join(dir, name))]));
  rmSync(dir, { recursive: true });
  return files;
}
