/**
 * Starts the daemon that `npm run route` watches. It runs as under `serve`, except for its chores, which no event
 * passes.
 */
import { systemClock, type Clock } from "../src/clock.ts";
import { loadConfig } from "../src/config.ts";
import { startDaemon } from "../src/daemon.ts";
import { createLog } from "../src/log.ts";
import { inputs } from "../test/config/inputs.ts";

/**
 * The daemon's clock is slowed by this factor, so that its work of each second disturbs few events, even on a busy
 * machine.
 */
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
