import { describe, expect, it } from "vitest";
import { silentLog, type Log } from "../../src/log.ts";
import { SpaceWatch } from "../../src/upkeep/watches.ts";
import { ManualClock } from "../harness/clock.ts";

const GROWS =
  "the write-ahead log has reached 65 MiB and is growing: nothing can be moved into the database (disk I/O error)";

/** Returns a watch that looks every 2 s, as scheduled. `look` sets the log's trouble, or null. */
function aWatch() {
  const clock = new ManualClock();
  const said: string[] = [];
  const alerted: string[] = [];
  const left: (string | null)[] = [];
  let growing: string | null = null;
  const log: Log = {
    ...silentLog,
    error: (_, message) => void said.push(`error: ${message}`),
    info: (_, message) => void said.push(`info: ${message}`),
  };
  const watch = new SpaceWatch({
    store: { upkeep: { checkSpace: async () => ({ state: "ready", freeBytes: 2, floorBytes: 1, trouble: growing }) } },
    clock,
    log,
    onSpace: (space) => void left.push(space.trouble),
    onTrouble: (detail) => void alerted.push(detail),
  });
  const look = async (trouble: string | null, seconds: number) => {
    growing = trouble;
    for (let second = 0; second < seconds; second += 2) {
      await watch.run();
      clock.advance("2s");
    }
  };
  return { look, said, alerted, left };
}

describe("the watch over the disk", () => {
  it("says nothing where nothing is the matter, and hands on each look", async () => {
    const { look, said, alerted, left } = aWatch();
    await look(null, 120);
    expect(said).toEqual([]);
    expect(alerted).toEqual([]);
    expect(left).toHaveLength(60);
  });

  it("tells of a log that grows once a minute, alerts once for each trouble, and says when it is over", async () => {
    const { look, said, alerted } = aWatch();
    const error = `error: ${GROWS}; check the disk before it is full`;
    const info = "info: the write-ahead log is back within its limit";
    await look(GROWS, 180);
    expect(said).toEqual([error, error, error]);
    expect(alerted).toEqual([GROWS]);
    await look(null, 180);
    expect(said).toEqual([error, error, error, info]);
    await look(GROWS, 2);
    expect(said).toEqual([error, error, error, info, error]);
    expect(alerted).toEqual([GROWS, GROWS]);
  });

  it("tells no more often of a log whose trouble comes and goes", async () => {
    const { look, said } = aWatch();
    for (let time = 0; time < 15; time++) {
      await look(GROWS, 2);
      await look(null, 2);
    }
    expect(said.filter((line) => line.startsWith("error"))).toHaveLength(1);
  });
});
