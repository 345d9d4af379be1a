import { spawnSync } from "node:child_process";
import { describe, expect, it as base } from "vitest";
import { it, MAIN } from "../harness/process.ts";

const CANNOT = spawnSync("prlimit", ["--version"]).status === 0 ? null : "prlimit is not installed";
const LIMIT = 2_097_152;

base("limits of file sizes can be set here", ({ skip }) => {
  if (CANNOT !== null) skip(`they cannot, so they are not tried: ${CANNOT}`);
});

describe.skipIf(CANNOT !== null)("a limit for the size of a file", () => {
  it("is named, refuses events as a full disk does, and is over once it is raised", async ({ machine }) => {
    const receiver = await machine.receiver();
    const daemon = await machine.serve({
      program: ["prlimit", `--fsize=${LIMIT}:unlimited`, process.execPath, MAIN],
      settings: { DATA_DISK_FLOOR: "1MiB" },
    });
    await daemon.process.json(({ limit, msg }) => limit === LIMIT && String(msg).includes("LimitFSIZE=infinity"));
    await daemon.register(receiver.url);
    const publish = () =>
      daemon.request("POST", "/v1/webhooks/events", { type: "budget.exceeded", data: { x: "x".repeat(200_000) } });
    const acked: string[] = [];
    let answer = await publish();
    for (let tries = 0; answer.status === 202 && tries < 100; tries++) {
      acked.push(answer.body.id);
      answer = await publish();
    }
    expect([answer.status, answer.body.code]).toEqual([507, "storage_full"]);
    expect(answer.body.detail).toContain(`has reached the limit of ${LIMIT} bytes for a file of this process`);
    expect(answer.body.detail).toContain("LimitFSIZE=infinity");
    expect(acked.length).toBeGreaterThan(2);
    expect((await daemon.request("GET", "/v1/status")).status).toBe(200);

    const { pid } = daemon.process.child;
    expect(spawnSync("prlimit", ["--pid", String(pid), "--fsize=unlimited:"]).status).toBe(0);
    await expect.poll(async () => (await publish()).status, { interval: 200 }).toBe(202);
    for (const id of acked) expect(await daemon.settled(id)).toMatchObject({ status: "delivered" });
    expect(await daemon.stop()).toBe(0);
  });
});
