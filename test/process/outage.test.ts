import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { Agent, fetch } from "undici";
import { describe, expect, it as base } from "vitest";
import { createClient, type Client } from "../../src/client/client.ts";
import { inNetworkOf, noNamespace, withSilentResolver, WITHOUT_NETWORK } from "../harness/namespace.ts";
import { it, MAIN, type Machine, type TestProcess } from "../harness/process.ts";

/** It has to be said so soon. */
const SOON_MS = 15_000;
const EVENTS = 1000;
const NODE = [process.execPath, MAIN] as const;

async function serveIn(network: readonly [string, ...string[]], machine: Machine) {
  const daemon = machine.start({ program: [...network, ...NODE], settings: { RETRY_TIMEOUT: "10s" } });
  const listening = await daemon.json(({ msg }) => msg === "listening");
  const socket = String(listening.socket).replace(/^unix:/, "");
  return { daemon, socket, client: createClient({ socket }, { version: "0" }) };
}

async function publish(client: Client, count: number): Promise<void> {
  const events = Array.from({ length: count }, (_, n) => ({ type: "budget.exceeded", data: { n } }));
  await client.call("publishBatch", { body: { events } });
}

async function register(client: Client, ...urls: string[]): Promise<void> {
  for (const url of urls) await client.call("registerEndpoint", { body: { url, events: ["budget.exceeded"] } });
}

/** The words by which `/readyz` says what hinders sending. */
async function readiness(socket: string): Promise<[number, string, string | null]> {
  const dispatcher = new Agent({ connect: { socketPath: socket }, pipelining: 0 });
  const response = await fetch("http://localhost/readyz", { dispatcher });
  const answer = [response.status, await response.text(), response.headers.get("x-webhookd-not-sending")] as const;
  await dispatcher.close();
  return [...answer];
}

function logged({ lines }: TestProcess): Record<string, unknown>[] {
  return lines.filter((line) => line.startsWith("{")).map((line) => JSON.parse(line));
}

const notSending = async (client: Client) => (await client.call("getStatus")).not_sending.map(({ reason }) => reason);

base("network namespaces can be made here", ({ skip }) => {
  if (noNamespace !== null) skip(`they cannot, so outages of a whole host are not tried: ${noNamespace}`);
});

describe
  .skipIf(noNamespace !== null)
  .concurrent("a host that cannot send says so everywhere, and in few lines:", () => {
    it("without a route", async ({ machine }) => {
      const { daemon, socket, client } = await serveIn(WITHOUT_NETWORK, machine);
      await register(client, ...["a", "b", "c", "d"].map((name) => `https://${name}.example.com/hook`));
      await publish(client, EVENTS);
      await expect.poll(() => notSending(client), { timeout: SOON_MS }).toEqual(["unreachable"]);

      const status = await machine.webhookd("status", "--socket", socket);
      expect(status.code).toBe(8);
      expect(status.stdout).toMatch(/^webhookd \S+: CANNOT SEND, up /);
      expect(status.stdout).toContain("no DNS resolver could be reached");
      const failures = await machine.webhookd("failures", "--socket", socket);
      expect(failures.stdout).toContain("no DNS resolver could be reached");
      expect(failures.stdout).not.toContain("Nothing has failed");
      const doctor = await machine.webhookd("doctor", "--socket", socket);
      expect(doctor.code).toBe(8);
      expect(doctor.stdout).toMatch(/^FAIL {2}sending: .*no DNS resolver could be reached/m);
      expect(await readiness(socket)).toEqual([200, "ready", "unreachable"]);
      expect(await client.text("getMetrics")).toContain('webhookd_not_sending{reason="unreachable"} 1\n');
      const alarms = logged(daemon).filter(({ level }) => level === "error");
      expect(alarms.map(({ msg }) => msg)).toEqual([expect.stringContaining("nothing can be sent")]);
      expect(logged(daemon).length).toBeLessThan(20);
    });

    it("with a resolver that is silent, one endpoint though there is", async ({ machine }) => {
      const { daemon, socket, client } = await serveIn(withSilentResolver(machine.home), machine);
      await register(client, "https://a.example.com/hook");
      await publish(client, EVENTS);
      await expect.poll(() => notSending(client), { timeout: SOON_MS }).toEqual(["unreachable"]);
      expect((await machine.webhookd("status", "--socket", socket)).stdout).toContain("DNS");
      expect(logged(daemon).length).toBeLessThan(20);
      const { data } = await client.call("listFailures");
      expect(data).toEqual([]);
    });

    it("and when that is over, what waited goes at once", async ({ machine }) => {
      const { daemon, client } = await serveIn(WITHOUT_NETWORK, machine);
      const port = 20_000 + (process.pid % 10_000);
      await register(client, `http://127.0.0.2:${port}/hook`, `http://127.0.0.3:${port}/hook`);
      await publish(client, EVENTS);
      await expect.poll(() => notSending(client), { timeout: SOON_MS }).toEqual(["unreachable"]);

      const receiver = join(machine.home, "receiver.mjs");
      writeFileSync(
        receiver,
        `import { createServer } from "node:http";
       let seen = 0;
       createServer((request, response) => {
         request.resume().on("end", () => response.end());
         if (++seen === ${2 * EVENTS}) console.log("all");
       }).listen(${port}, "0.0.0.0", () => console.log("listening"));`,
      );
      const [enter, ...words] = inNetworkOf(daemon.child.pid!);
      const listening = machine.spawn(enter!, [...words, process.execPath, receiver]);
      await listening.line((line) => line === "listening");
      const link = machine.spawn(enter!, [...words, "ip", "link", "set", "lo", "up"]);
      expect(await link.exit).toBe(0);
      const began = performance.now();
      const over = await daemon.json(({ msg }) => String(msg).includes("can be sent again"));
      expect(performance.now() - began).toBeLessThan(5000);
      expect(over).toMatchObject({ level: "info", lasted_ms: expect.any(Number) });
      await listening.line((line) => line === "all");
      expect(await notSending(client)).toEqual([]);
      expect(logged(daemon).length).toBeLessThan(20);
    });
  });
