/** The daemon whose events are looked at: as `serve` starts it, but for its chores, which are no part of their way. */
import { systemClock, type Clock } from "../src/clock.ts";
import { loadConfig } from "../src/config.ts";
import { startDaemon } from "../src/daemon.ts";
import { createLog } from "../src/log.ts";
import { inputs } from "../test/config/inputs.ts";

/** So much slower does its time pass: what it does once a second falls into few events, however busy the machine is. */
const SLOWER = 10;
const began = systemClock.now();
const clock: Clock = {
  ...systemClock,
  now: () => began + Math.floor((systemClock.now() - began) / SLOWER),
  monotonic: () => systemClock.monotonic() / SLOWER,
  after: (delayMs, run) => systemClock.after(delayMs * SLOWER, run),
};

const dir = process.argv[2]!;
const config = loadConfig(
  inputs({
    flags: { dev: true },
    env: {
      WEBHOOKD_DATA_DIR: dir,
      WEBHOOKD_SERVER_LISTEN: "127.0.0.1:0",
      WEBHOOKD_DELIVERY_THREADS: "1",
    },
    cwd: dir,
    home: dir,
    platform: process.platform,
  }),
);
const log = createLog({ format: "json", level: config.log.level, write: (line) => void process.stdout.write(line) });
await startDaemon(config, { log, clock, schedule: () => ({ stop() {} }) });
