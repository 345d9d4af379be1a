import { describe, expect, it } from "vitest";
import { WebhookdError } from "../../src/domain/errors.ts";
import { silentLog } from "../../src/log.ts";
import type { BackupFile, BackupPlace } from "../../src/store/store.ts";
import { Backups } from "../../src/upkeep/backups.ts";
import { ManualClock } from "../harness/clock.ts";

function aScene(every = 3_600_000) {
  const clock = new ManualClock();
  const alarms: object[] = [];
  const made: number[] = [];
  const ending = new AbortController();
  const scene = { clock, alarms, made, ending, failing: false, hanging: false, last: null as BackupFile | null };
  const operations = {
    noBackups: null as string | null,
    lastBackup: async () => scene.last,
    async backup({ dir }: BackupPlace, at: number) {
      made.push(at);
      if (scene.hanging) await new Promise(() => {});
      if (scene.failing) throw new WebhookdError("backup_failed", "the disk is full");
      return (scene.last = { file: dir, at, bytes: 1, schema: 1, endpoints: 0, events: 0, sha256: "", sealed: false });
    },
  };
  const log = { ...silentLog, error: (fields: object) => void alarms.push(fields) };
  const rules = { every, dir: "/b", mayMake: false, keep: 7 };
  return Object.assign(scene, {
    backups: new Backups({ store: { operations }, clock, log, rules: () => rules, signal: ending.signal }),
  });
}

/** Runs one pass per minute, and returns how many backups were tried. */
async function passes(scene: ReturnType<typeof aScene>, minutes: number): Promise<number> {
  const before = scene.made.length;
  for (let minute = 0; minute < minutes; minute++) {
    await scene.backups.pass();
    scene.clock.advance("1m");
  }
  return scene.made.length - before;
}

describe("scheduled backups", () => {
  it("are made at once where there is none, and then each period, whoever made the last one", async () => {
    const scene = aScene();
    expect(await passes(scene, 60)).toBe(1);
    expect(await passes(scene, 30)).toBe(1);
    await scene.backups.make();
    expect(await passes(scene, 60)).toBe(0);
    expect(await passes(scene, 1)).toBe(1);
  });

  it("are not made unless there is a period", async () => {
    expect(await passes(aScene(0), 5)).toBe(0);
  });

  it("that fail raise an alarm, are tried again in ten minutes, and end it when one succeeds", async () => {
    const scene = aScene();
    scene.failing = true;
    const at = scene.clock.now();
    expect(await passes(scene, 10)).toBe(1);
    expect(scene.backups.failure).toEqual({ at, detail: "the disk is full" });
    expect(await passes(scene, 10)).toBe(1);
    expect(scene.alarms).toEqual([{ detail: "the disk is full" }, { detail: "the disk is full" }]);
    scene.failing = false;
    expect(await passes(scene, 10)).toBe(1);
    expect(scene.backups.failure).toBeNull();
  });

  it("hold up no stop of the daemon, and being given up then is no failure", async () => {
    const scene = aScene();
    scene.hanging = true;
    const pass = scene.backups.pass();
    const asked = scene.backups.make();
    scene.ending.abort();
    await pass;
    await expect(asked).rejects.toMatchObject({ code: "shutting_down" });
    expect([scene.backups.failure, scene.alarms]).toEqual([null, []]);
  });

  it("are made when the clock was set back behind the last one", async () => {
    const scene = aScene();
    await passes(scene, 1);
    scene.clock.step("-48h");
    expect(await passes(scene, 1)).toBe(1);
  });
});
