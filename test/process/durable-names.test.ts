/**
 * Everything that is acknowledged must be on the disk. The system calls show that the write-ahead log was synced, and
 * so was the directory of every name: without that, a power loss may keep a file and lose its name.
 */
import { basename, join } from "node:path";
import { describe, expect } from "vitest";
import { MAIN, it } from "../harness/process.ts";
import { callsUntil, canTrace, traced } from "../harness/system-calls.ts";

/** Files that the next start creates again, or does not need. */
const FLEETING = /^webhookd\.(lock|pid|sock)|-shm$|\.tmp$|\.partial(-journal|-wal|-shm)?$|-journal$/;

const traces = canTrace();
if (!traces) console.warn("SKIPPED: nothing shows that directories are synced, because strace may not trace here");

describe.skipIf(!traces)("what a store needs", () => {
  it("is durable by name and by content before the first publish is acknowledged, and a backup's before it is answered", async ({
    machine,
  }) => {
    const trace = join(machine.home, "trace");
    const dir = join(machine.home, "new", "levels", "data");
    const program = [...traced(trace), process.execPath, MAIN] as [string, ...string[]];
    const daemon = await machine.serve({ dir, program });
    await daemon.publish();
    expect((await daemon.request("POST", "/v1/backups", {})).status).toBe(201);
    expect(await daemon.stop()).toBe(0);

    const started = callsUntil(trace, "HTTP/1.1 202", machine.home);
    expect([...started.made]).toEqual(
      expect.arrayContaining([
        join(machine.home, "new"),
        join(machine.home, "new", "levels"),
        dir,
        ...["STORE", "secret.key", "admin.key", "webhookd.db", "webhookd.db-wal"].map((name) => join(dir, name)),
      ]),
    );
    expect([...started.unsynced].filter((name) => !FLEETING.test(basename(name)))).toEqual([]);
    expect([...started.unsyncedData].filter((name) => name.endsWith("-wal"))).toEqual([]);

    const copied = callsUntil(trace, "HTTP/1.1 201", machine.home);
    expect([...copied.made].filter((name) => /backups(\/webhookd-\w+\.db)?$/.test(name))).toHaveLength(2);
    expect([...copied.unsynced].filter((name) => !FLEETING.test(basename(name)))).toEqual([]);
  });
});
