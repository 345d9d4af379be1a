/** A real daemon on a disk that fails. A library in front of its C library returns the system's errors. */
import { mkdtempSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect } from "vitest";
import { buildFaults } from "../../scripts/power/recorder.ts";
import { pagesOf } from "../harness/pages.ts";
import { it, type DaemonProcess, type Machine, type ServeOptions } from "../harness/process.ts";

const MIB = 2 ** 20;
const WAL_LIMIT_BYTES = 64 * MIB;
const TOO_LARGE = "x".repeat(250_000);

const scratch = mkdtempSync(join(tmpdir(), "webhookd-faults-"));
afterAll(() => rmSync(scratch, { recursive: true, force: true }));
const faults = buildFaults(scratch);
if ("missing" in faults) console.warn(`SKIPPED: nothing shows what a disk that refuses does: ${faults.missing}`);
const preload = "file" in faults ? faults.file : "";

/** A daemon on a disk whose faults can be switched. */
class FaultyDisk {
  readonly #machine: Machine;
  readonly #control: string;

  constructor(machine: Machine) {
    this.#machine = machine;
    this.#control = join(machine.home, "faults");
  }

  get options(): ServeOptions {
    const env = { LD_PRELOAD: preload, FAULTS: this.#control, UV_USE_IO_URING: "0" };
    return { env, settings: { DATA_DISK_FLOOR: "1MiB", RETRY_DELAYS: "10ms,20ms,50ms,100ms" } };
  }

  serve(): Promise<DaemonProcess> {
    return this.#machine.serve(this.options);
  }

  /** Sets the faults from the next call on, such as "write webhookd.db-wal EDQUOT". Without any, the disk works. */
  set(...lines: readonly string[]): void {
    writeFileSync(`${this.#control}.new`, lines.map((line) => `${line}\n`).join(""));
    renameSync(`${this.#control}.new`, this.#control);
  }
}

interface Answered {
  readonly status: number;
  readonly retryAfter: string | null;
  readonly id: string;
}

/** Returns null if the publish got no response. */
async function publish(daemon: DaemonProcess, data: object, type = "budget.exceeded"): Promise<Answered | null> {
  try {
    const response = await fetch(new URL("/v1/webhooks/events", daemon.url), {
      method: "POST",
      headers: { authorization: `Bearer ${daemon.key}`, "content-type": "application/json" },
      body: JSON.stringify({ type, data }),
    });
    const body = (await response.json()) as { id: string };
    return { status: response.status, retryAfter: response.headers.get("retry-after"), id: body.id };
  } catch {
    return null;
  }
}

async function statusOf(daemon: DaemonProcess): Promise<any> {
  return (await daemon.request("GET", "/v1/status")).body;
}

async function readiness(daemon: DaemonProcess): Promise<readonly [number, string | null]> {
  const response = await fetch(new URL("/readyz", daemon.url));
  await response.text();
  return [response.status, response.headers.get("x-webhookd-storage")];
}

async function growingMetric(daemon: DaemonProcess): Promise<string | undefined> {
  const { body } = await daemon.request("GET", "/metrics");
  return /^webhookd_store_log_growing (.*)$/m.exec(body)?.[1];
}

function walBytes(daemon: DaemonProcess): number {
  return statSync(join(daemon.dir, "webhookd.db-wal")).size;
}

async function grow(daemon: DaemonProcess, bytes: number): Promise<string[]> {
  const acked: string[] = [];
  while (walBytes(daemon) <= bytes) {
    const answers = await Promise.all([1, 2, 3, 4].map(() => publish(daemon, { text: TOO_LARGE }, "carbon.threshold")));
    for (const answer of answers) {
      expect(answer).toMatchObject({ status: 202 });
      acked.push(answer!.id);
    }
  }
  return acked;
}

async function expectAll(daemon: DaemonProcess, ids: readonly string[]): Promise<void> {
  for (const id of ids) expect(await daemon.event(id)).toMatchObject({ id });
}

describe.skipIf(preload === "")("a disk that takes nothing into the database", () => {
  it("is reported once the log is too large, while publishes are accepted, and clears by itself", async ({
    machine,
  }) => {
    const disk = new FaultyDisk(machine);
    const daemon = await disk.serve();
    const receiver = await machine.receiver();
    await daemon.register(receiver.url);
    const began = performance.now();
    disk.set("write webhookd.db EIO");
    const acked = await grow(daemon, WAL_LIMIT_BYTES / 2);
    expect((await statusOf(daemon)).database.wal_trouble).toBeNull();
    expect(await readiness(daemon)).toEqual([200, null]);
    disk.set("write webhookd.db ENOSPC");
    acked.push(...(await grow(daemon, WAL_LIMIT_BYTES)));

    const isAlarm = ({ msg }: Record<string, unknown>) => /^the write-ahead log has .* is growing/.test(String(msg));
    await daemon.process.json(isAlarm);
    expect((await statusOf(daemon)).database.wal_trouble).toMatch(/is growing: nothing can be moved into the database/);
    expect(await readiness(daemon)).toEqual([200, "log_growing"]);
    expect(await growingMetric(daemon)).toBe("1");
    expect((await machine.webhookd("status")).stdout).toContain("LOG GROWS the write-ahead log has");
    const delivered = await daemon.publish();
    expect(await daemon.settled(delivered)).toMatchObject({ status: "delivered" });

    disk.set();
    acked.push(delivered, await daemon.publish());
    await daemon.process.json(({ msg }) => msg === "the write-ahead log is back within its limit");
    expect((await statusOf(daemon)).database).toMatchObject({ wal_trouble: null });
    expect(await readiness(daemon)).toEqual([200, null]);
    expect(await growingMetric(daemon)).toBe("0");
    expect(walBytes(daemon)).toBeLessThanOrEqual(WAL_LIMIT_BYTES);
    const said = daemon.process.lines.filter((line) => line.startsWith("{") && isAlarm(JSON.parse(line))).length;
    expect(said).toBeLessThanOrEqual(1 + Math.floor((performance.now() - began) / 60_000));
    await daemon.kill9();
    await expectAll(await disk.serve(), acked);
  });

  it("does not keep a daemon from stopping, and the next one has all of it", async ({ machine }) => {
    const disk = new FaultyDisk(machine);
    const daemon = await disk.serve();
    disk.set("write webhookd.db EIO");
    const acked = [await daemon.publish(), await daemon.publish()];
    expect(await daemon.stop()).toBe(74);
    expect(daemon.process.stderr).toContain("webhookd.db-wal");
    const onTheSame = await disk.serve();
    await expectAll(onTheSame, acked);
    disk.set();
    expect(await onTheSame.stop()).toBe(0);
  });
});

describe.skipIf(preload === "")("a disk that takes nothing into the log", () => {
  for (const error of ["EDQUOT", "ENOSPC"]) {
    it(`refuses publishes with 507 at ${error}, keeps what was acknowledged, and goes on by itself`, async ({
      machine,
    }) => {
      const disk = new FaultyDisk(machine);
      const daemon = await disk.serve();
      const receiver = await machine.receiver();
      await daemon.register(receiver.url);
      const acked = [await daemon.publish({ mark: "before" })];
      await daemon.settled(acked[0]!);
      disk.set(`write webhookd.db-wal ${error}`, `write webhookd.probe ${error}`);
      for (let n = 0; n < 20; n++) {
        const answer = await publish(daemon, { mark: "refused" });
        expect(answer).toMatchObject({ status: 507, retryAfter: expect.stringMatching(/^[1-9]\d*$/) });
      }
      disk.set();
      let answer = await publish(daemon, { mark: "after" });
      while (answer?.status === 507) answer = await publish(daemon, { mark: "after" });
      expect(answer).toMatchObject({ status: 202 });
      acked.push(answer!.id);
      for (const id of acked) expect(await daemon.settled(id)).toMatchObject({ status: "delivered" });
      await daemon.kill9();
      const next = await disk.serve();
      const { body } = await next.request("GET", "/v1/webhooks/events?limit=100&include=data");
      expect(body.data.map(({ id }: { id: string }) => id).toSorted()).toEqual(acked.toSorted());
      expect(receiver.requests.some(({ body: text }) => text.includes("refused"))).toBe(false);
      expect(await next.stop()).toBe(0);
    });
  }
});

describe.skipIf(preload === "")("an fsync of the log that fails", () => {
  it("ends the daemon with 74; nothing of that commit was acknowledged, and the restart has the rest", async ({
    machine,
  }) => {
    const disk = new FaultyDisk(machine);
    const daemon = await disk.serve();
    const receiver = await machine.receiver();
    await daemon.register(receiver.url);
    const acked = [await daemon.publish(), await daemon.publish()];
    for (const id of acked) await daemon.settled(id);
    disk.set("fsync webhookd.db-wal EIO");
    const answers = await Promise.all([1, 2, 3].map(() => publish(daemon, {})));
    expect(answers.filter((answer) => answer?.status === 202)).toEqual([]);
    expect(await daemon.process.exit).toBe(74);
    expect(daemon.process.stderr).toContain("the daemon cannot continue: disk I/O error");
    disk.set();
    const next = await disk.serve();
    await expectAll(next, acked);
    acked.push(await next.publish());
    expect(await next.settled(acked.at(-1)!)).toMatchObject({ status: "delivered" });
    expect(await next.stop()).toBe(0);
  });

  it("takes nothing with it that is acknowledged later, should the power fail then", async ({ machine }) => {
    const disk = new FaultyDisk(machine);
    const daemon = await disk.serve();
    const log = join(daemon.dir, "webhookd.db-wal");
    const acked = [await daemon.publish()];
    disk.set("fsync webhookd.db-wal EIO");
    const before = readFileSync(log);
    await publish(daemon, { text: TOO_LARGE }, "carbon.threshold");
    expect(await daemon.process.exit).toBe(74);
    // The kernel still shows these bytes, but the disk does not have them.
    const unwritten = readFileSync(log).subarray(before.length);
    expect(unwritten.length).toBeGreaterThan(0);
    disk.set();
    const next = await disk.serve();
    acked.push(await next.publish());
    await next.kill9();
    const after = readFileSync(log);
    const there = after.subarray(before.length, before.length + unwritten.length);
    if (there.equals(unwritten)) writeFileSync(log, after.fill(0, before.length, before.length + unwritten.length));
    await expectAll(await disk.serve(), acked);
  });
});

/** Makes a store without a daemon, where the disk cannot read a page of the given table or index. */
async function aStoreWithABadSector(tree: string, disk: FaultyDisk) {
  const daemon = await disk.serve();
  await daemon.register("http://127.0.0.1:8080/");
  await daemon.request("POST", "/v1/pause", { reason: "the test" });
  const acked: string[] = [];
  for (let n = 0; n < 60; n++) acked.push(await daemon.publish({ n, text: "x".repeat(1000) }));
  await daemon.stop();
  const file = join(daemon.dir, "webhookd.db");
  const pages = pagesOf(file).filter((page) => page.tree === tree && (page.kind === "leaf" || page.page === 1));
  const { page } = tree === "sqlite_schema" ? pages[0]! : pages[Math.floor(pages.length / 2)]!;
  const fault = `read #${statSync(file).ino} EIO ${(page - 1) * 8192} ${page * 8192}`;
  return { file, acked, fault };
}

describe.skipIf(preload === "")("a page that the disk does not give back", () => {
  it("is met while the daemon runs: it goes on with all that can be read", async ({ machine }) => {
    const disk = new FaultyDisk(machine);
    const { acked, fault } = await aStoreWithABadSector("event", disk);
    disk.set(fault);
    const daemon = await disk.serve();
    const answered = async (id: string) => {
      for (;;) {
        const answer = await daemon.request("GET", `/v1/webhooks/events/${id}`).catch(() => null);
        if (answer?.status === 200 || answer?.status === 404) return answer.status;
        if (daemon.process.child.exitCode !== null) throw new Error(daemon.process.stdout + daemon.process.stderr);
      }
    };
    const found = new Set<string>();
    for (const id of acked) if ((await answered(id)) === 200) found.add(id);
    for (const id of acked.toReversed()) expect((await answered(id)) === 200).toBe(found.has(id));
    expect(found.size).toBeGreaterThan(acked.length / 2);
    expect(found.size).toBeLessThan(acked.length);
    const mended = await daemon.process.json(({ msg }) => String(msg).startsWith("the database was damaged"));
    expect(mended).toMatchObject({ lost: expect.arrayContaining([expect.objectContaining({ table: "event" })]) });
    expect(await readiness(daemon)).toEqual([200, "damaged"]);
    expect(await daemon.stop()).toBe(0);
  });

  for (const tree of ["endpoint", "sqlite_schema"]) {
    it(`refuses the start with 65 where it is one of ${tree}`, async ({ machine }) => {
      const disk = new FaultyDisk(machine);
      const { file, fault } = await aStoreWithABadSector(tree, disk);
      disk.set(fault);
      for (let start = 0; start < 2; start++) {
        const process = machine.start(disk.options);
        expect(await process.exit).toBe(65);
        expect(process.stderr).toContain(`${file} is damaged`);
      }
    });
  }
});
