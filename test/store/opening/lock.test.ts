import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { openStore } from "../../../src/store/opening/open.ts";
import { publishOne } from "../fixtures.ts";
import { open, optionsOf, temporaryDirectory } from "../stores.ts";

const OPEN = new URL("../../../src/store/opening/open.ts", import.meta.url).href;
const CLOCK = new URL("../../../src/clock.ts", import.meta.url).href;

describe("the lock", () => {
  it("refuses a second daemon and names the first", async () => {
    const dir = temporaryDirectory();
    const store = await open({ dir });
    const { pid, started_at, host } = JSON.parse(readFileSync(join(dir, "webhookd.pid"), "utf8"));
    expect({ pid, host }).toEqual({ pid: process.pid, host: hostname() });
    const message = `another webhookd (process ${pid} on ${host}, started ${started_at}) is using ${dir}`;
    await expect(openStore(optionsOf({ dir }))).rejects.toMatchObject({ exitCode: 75, message });
    // The refused process has not released the lock either.
    await expect(openStore(optionsOf({ dir }))).rejects.toMatchObject({ exitCode: 75 });
    await publishOne(store);
    await store.close();
    await open({ dir });
  });

  it("is held against other processes, and is free at once after kill -9", async () => {
    const dir = temporaryDirectory();
    const script = `
      import { openStore } from ${JSON.stringify(OPEN)};
      import { systemClock } from ${JSON.stringify(CLOCK)};
      const dir = ${JSON.stringify(dir)};
      await openStore({ dir, create: true, diskFloor: 0, clock: systemClock, onFault() {} });
      console.log("open");
      setInterval(() => {}, 1000);`;
    const child = spawn(process.execPath, ["--input-type=module-typescript", "-e", script], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    try {
      await once(child.stdout, "data");
      const message = expect.stringContaining(`process ${child.pid} on`);
      await expect(openStore(optionsOf({ dir }))).rejects.toMatchObject({ exitCode: 75, message });
    } finally {
      child.kill("SIGKILL");
      await once(child, "exit");
    }
    const store = await open({ dir });
    expect((await store.upkeep.condition()).state).toBe("ready");
  });
});
