import { cpSync, existsSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import { damageText } from "../../../src/domain/wording.ts";
import { migrateStore } from "../../../src/store/opening/migrate-store.ts";
import { compactStore } from "../../../src/store/opening/maintenance.ts";
import { openStore } from "../../../src/store/opening/open.ts";
import { ManualClock } from "../../harness/clock.ts";
import { addEndpoint, publishOne } from "../fixtures.ts";
import { ask, copyOf, open, optionsOf, temporaryDirectory } from "../stores.ts";

const FRAME = 24 + 8192;

/**
 * Returns the disk of a process that was killed after these events were acknowledged, and the size of its log after
 * each of them.
 */
async function killed(events = 8) {
  const dir = temporaryDirectory();
  const store = await open({ dir });
  await addEndpoint(store);
  const ends: number[] = [];
  for (let made = 0; made < events; made++) {
    await publishOne(store);
    ends.push(statSync(join(dir, "webhookd.db-wal")).size);
  }
  const left = copyOf(dir);
  cpSync(join(dir, "webhookd.pid"), join(left, "webhookd.pid"));
  return { dir: left, ends };
}

let said: { fields: Record<string, unknown>; message: string }[];
beforeEach(() => void (said = []));

/** Opens the store, and records what it logs about damage. */
async function start(dir: string) {
  const say = (fields: object, message: string) => {
    if (/damage/.test(message)) said.push({ fields: fields as Record<string, unknown>, message });
  };
  const log = { warn: say, error: say, info: () => {} };
  const { store } = await openStore({ ...optionsOf({ dir }), log });
  return store;
}

/** Flips a bit in the first page of the event after the nth. */
function spoil(dir: string, ends: readonly number[], after: number): void {
  const file = join(dir, "webhookd.db-wal");
  const log = readFileSync(file);
  log[ends[after - 1]! + 24 + 50]! ^= 1;
  writeFileSync(file, log);
}

describe("a damaged write-ahead log", () => {
  it("is no surprise where nothing is damaged", async () => {
    const { dir } = await killed();
    const store = await start(dir);
    expect([said, await store.operations.damage()]).toEqual([[], null]);
    await store.close();
  });

  it.each([2, 5, 7])(
    "is said at the start, with what is lost, and kept for study: damaged after %i of 8 events",
    async (after) => {
      const { dir, ends } = await killed();
      spoil(dir, ends, after);
      const spoilt = readFileSync(join(dir, "webhookd.db-wal"));
      const store = await start(dir);
      const damage = await store.operations.damage();
      expect(damage).toMatchObject({ pages: [], lost: [], log: { transactions: 8 - after } });
      expect(damage!.log!.pages).toBe((spoilt.length - ends[after - 1]!) / FRAME);
      expect(damage!.file).toMatch(/webhookd\.db\.damaged-\w+-wal$/);
      expect(damage!.log!.file).toBe(damage!.file);
      expect(readFileSync(damage!.file)).toEqual(spoilt);
      expect(statSync(damage!.file).mode & 0o777).toBe(0o600);
      expect(said).toEqual([
        {
          fields: expect.objectContaining({ file: damage!.file, transactions: 8 - after }),
          message: expect.stringContaining("behind the damage"),
        },
      ]);
      expect(damageText(damage!)).toContain(`${8 - after} transaction`);
      await store.close();
      expect(ask(dir, "SELECT count(*) FROM event")).toBe(after);

      // The damage is reported until somebody has removed the copy.
      const again = await start(dir);
      expect([said.length, await again.operations.damage()]).toEqual([1, damage]);
      rmSync(damage!.file);
      expect(await again.operations.damage()).toBeNull();
      await again.close();
    },
  );

  it("is written over by no command that could not say so", async () => {
    const { dir, ends } = await killed();
    spoil(dir, ends, 3);
    const clock = new ManualClock();
    const before = readFileSync(join(dir, "webhookd.db-wal"));
    const refused = { exitCode: 65, message: expect.stringContaining("write-ahead log was damaged") };
    await expect(compactStore({ dir, clock })).rejects.toMatchObject(refused);
    const backup = { dir: join(dir, "backups"), mayMake: true };
    await expect(migrateStore({ dir, clock, how: "now", backup } as never)).rejects.toMatchObject(refused);
    expect(readFileSync(join(dir, "webhookd.db-wal"))).toEqual(before);
  });

  it("that cannot be copied stops no start", async () => {
    const { dir, ends } = await killed();
    spoil(dir, ends, 3);
    const clock = new ManualClock();
    // A folder already has the name of the copy.
    const name = `webhookd.db.damaged-${new Date(clock.now()).toISOString().replaceAll(/[-:.]/g, "")}-wal`;
    cpSync(join(dir, "STORE"), join(dir, name, "x"), { recursive: true });
    const store = await start(dir);
    expect(said).toEqual([expect.objectContaining({ message: expect.stringContaining("no copy of the log") })]);
    await store.close();
    expect(existsSync(join(dir, "webhookd.db"))).toBe(true);
  });
});
