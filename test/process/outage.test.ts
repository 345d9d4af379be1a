import { Agent, fetch } from "undici";
import { describe, expect, it as base } from "vitest";
import { createClient, type Client } from "../../src/client/client.ts";
import {
  inNetworkOf,
  noNamespace,
  SILENT_RESOLVER,
  withSilentResolver,
  WITHOUT_NETWORK,
} from "../harness/namespace.ts";
import { ownPort } from "../harness/port.ts";
import { it, MAIN, type Machine, type TestProcess } from "../harness/process.ts";

/** The outage must be reported within this time plus that of a start, which measures how slow the machine is. */
const SOON_MS = 10_000;
/** The end of the outage must be reported within this time plus that of a start. */
const OVER_MS = 4000;
const EVENTS = 1000;
const NODE = [process.execPath, MAIN] as const;

async function serveIn(network: readonly [string, ...string[]], machine: Machine) {
  const began = performance.now();
  const daemon = machine.start({ program: [...network, ...NODE], settings: { RETRY_TIMEOUT: "10s" } });
  const listening = await daemon.json(({ msg }) => msg === "listening");
  const startMs = performance.now() - began;
  const socket = String(listening.socket).replace(/^unix:/, "");
  return { daemon, startMs, socket, client: createClient({ socket }, { version: "0" }) };
}

async function publish(client: Client, count: number): Promise<void> {
  const events = Array.from({ length: count }, (_, n) => ({ type: "budget.exceeded", data: { n } }));
  await client.call("publishBatch", { body: { events } });
}

async function register(client: Client, ...urls: string[]): Promise<void> {
  for (const url of urls) await client.call("registerEndpoint", { body: { url, events: ["budget.exceeded"] } });
}

/** Returns the status of `/readyz`, its text, and the header that names what keeps it from sending. */
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

/**
 * Starts a receiver in the daemon's network, which prints when all deliveries have arrived. `enter` runs other commands
 * there.
 */
async function receiveIn(
  machine: Machine,
  daemon: TestProcess,
  { port, deliveries }: { port: number; deliveries: number },
) {
  const [file, ...words] = inNetworkOf(daemon.child.pid!);
  const enter = (...command: string[]) => machine.spawn(file, [...words, ...command]);
  const receiver = `
    import { createServer } from "node:http";
    const seen = new Set();
    createServer((request, response) => {
      seen.add(request.headers["x-webhookd-delivery"]);
      request.resume().on("end", () => response.end());
      if (seen.size === ${deliveries}) console.log("all");
    }).listen(${port}, "0.0.0.0", () => console.log("listening"));`;
  const listening = enter(process.execPath, "--input-type=module", "-e", receiver);
  await listening.line((line) => line === "listening");
  return { enter, listening };
}

/** Source of a name server that knows one name. It takes the place of the silent one. */
function nameServer(): string {
  return `
    import { DnsServer } from "${new URL("../harness/dns.ts", import.meta.url)}";
    await DnsServer.start({ "a.example.com": ["127.0.0.2"] }, "${SILENT_RESOLVER}", 53);
    console.log("answers");`;
}

async function overSoon(daemon: TestProcess, startMs: number): Promise<Record<string, unknown>> {
  const began = performance.now();
  const over = await daemon.json(({ msg }) => String(msg).includes("can be reached again"));
  expect(performance.now() - began).toBeLessThan(OVER_MS + startMs);
  return over;
}

base("network namespaces can be made here", ({ skip }) => {
  if (noNamespace !== null) skip(`they cannot, so outages of a whole host are not tried: ${noNamespace}`);
});

describe
  .skipIf(noNamespace !== null)
  .concurrent("a host that cannot send says so everywhere, and in few lines:", () => {
    it("without a route", async ({ machine }) => {
      const { daemon, startMs, socket, client } = await serveIn(WITHOUT_NETWORK, machine);
      await register(client, ...["a", "b", "c", "d"].map((name) => `https://${name}.example.com/hook`));
      await publish(client, EVENTS);
      await expect.poll(() => notSending(client), { timeout: SOON_MS + startMs }).toEqual(["unreachable"]);

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
      const { daemon, startMs, socket, client } = await serveIn(withSilentResolver(machine.home), machine);
      const port = await ownPort();
      await register(client, `http://a.example.com:${port}/hook`);
      await publish(client, EVENTS);
      await expect.poll(() => notSending(client), { timeout: SOON_MS + startMs }).toEqual(["unreachable"]);
      expect((await machine.webhookd("status", "--socket", socket)).stdout).toContain("DNS");
      expect(logged(daemon).length).toBeLessThan(20);
      expect((await client.call("listFailures")).data).toEqual([]);

      const { enter, listening } = await receiveIn(machine, daemon, { port, deliveries: EVENTS });
      expect(await enter("ip", "addr", "add", `${SILENT_RESOLVER}/32`, "dev", "lo").exit).toBe(0);
      const names = enter(process.execPath, "--input-type=module", "-e", nameServer());
      await names.line((line) => line === "answers");
      await overSoon(daemon, startMs);
      await listening.line((line) => line === "all");
      expect(logged(daemon).length).toBeLessThan(20);
      daemon.kill("SIGTERM");
      expect(await daemon.exit).toBe(0);
    });

    it("and when that is over, what waited goes at once", async ({ machine }) => {
      const { daemon, startMs, client } = await serveIn(WITHOUT_NETWORK, machine);
      const port = await ownPort();
      await register(client, `http://127.0.0.2:${port}/hook`, `http://127.0.0.3:${port}/hook`);
      await publish(client, EVENTS);
      await expect.poll(() => notSending(client), { timeout: SOON_MS + startMs }).toEqual(["unreachable"]);

      const { enter, listening } = await receiveIn(machine, daemon, { port, deliveries: 2 * EVENTS });
      expect(await enter("ip", "link", "set", "lo", "up").exit).toBe(0);
      const over = await overSoon(daemon, startMs);
      expect(over).toMatchObject({ level: "info", lasted_ms: expect.any(Number) });
      await listening.line((line) => line === "all");
      expect(await notSending(client)).toEqual([]);
      expect(logged(daemon).length).toBeLessThan(20);
    });
  });
