import { once } from "node:events";
import { mkdirSync, readdirSync, readFileSync, symlinkSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { describe, expect } from "vitest";
import { it, SCRIPT } from "../harness/process.ts";

describe.concurrent("scripts/webhookd", () => {
  it("serves from any directory, through a link, and gets its signals", async ({ machine }) => {
    const cwd = join(machine.home, "elsewhere");
    mkdirSync(cwd);
    const link = join(machine.home, "webhookd");
    symlinkSync(SCRIPT, link);
    const daemon = await machine.serve({ program: [link], cwd });
    await daemon.publish();
    expect(await daemon.stop()).toBe(0);
  });
});

describe.concurrent("a daemon outlives", () => {
  it("the reader of what it prints", async ({ machine }) => {
    const receiver = await machine.receiver(500);
    const daemon = await machine.serve({ settings: { RETRY_DELAYS: "1ms" } });
    await daemon.register(receiver.url);
    daemon.process.child.stdout!.destroy();
    daemon.process.child.stderr!.destroy();
    // Failed attempts are logged, and each of these lines breaks the pipe again.
    expect(await daemon.settled(await daemon.publish())).toMatchObject({ status: "delivered" });
    expect(await daemon.settled(await daemon.publish())).toMatchObject({ status: "delivered" });
    expect(await daemon.stop()).toBe(0);
  });
});

describe.concurrent("a stop", () => {
  it("cuts off a client that never ends its request, and is clean all the same", async ({ machine }) => {
    const daemon = await machine.serve();
    const { hostname, port } = new URL(daemon.url);
    const socket = connect(Number(port), hostname);
    const head = `authorization: Bearer ${daemon.key}\r\ncontent-type: application/json\r\nhost: ${hostname}\r\n`;
    socket.write(`GET /healthz HTTP/1.1\r\nhost: ${hostname}\r\n\r\n`);
    socket.write(`POST /v1/webhooks/events HTTP/1.1\r\n${head}content-length: 100\r\n\r\n{`);
    await once(socket, "data");
    socket.on("error", () => {});
    const closed = once(socket, "close");
    expect(await daemon.stop()).toBe(0);
    await closed;
  });
});

describe("a delivery may have killed the daemon", () => {
  it("so after a kill threads send from the start, which may die alone", async ({ machine }) => {
    const receiver = await machine.receiver();
    const sends = async (daemon: Awaited<ReturnType<typeof machine.serve>>) => {
      expect(await daemon.settled(await daemon.publish())).toMatchObject({ status: "delivered" });
      return threadsOf(daemon.process.child.pid!).includes("sender");
    };
    const first = await machine.serve();
    await first.register(receiver.url);
    expect(await sends(first)).toBe(false);
    const { child } = first.process;
    child.kill("SIGKILL");
    await once(child, "exit");
    const second = await machine.serve();
    expect(await sends(second)).toBe(true);
    expect(await second.stop()).toBe(0);
    const third = await machine.serve();
    expect(await sends(third)).toBe(false);
    expect(await third.stop()).toBe(0);
  });
});

/** Returns the system's names of the threads. */
function threadsOf(pid: number): string[] {
  const of = `/proc/${pid}/task`;
  return readdirSync(of).map((thread) => readFileSync(`${of}/${thread}/comm`, "utf8").trim());
}
