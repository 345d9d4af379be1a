/**
 * Three processes on one PostgreSQL that send at the same time. A kill is tried once, or WEBHOOKD_ROUNDS times.
 */
import { cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect } from "vitest";
import { LEASE_MS } from "../../src/store/postgres/node.ts";
import { startServer, withClient } from "../harness/postgres.ts";
import { DaemonProcess, it, type Machine, type ServeOptions } from "../harness/process.ts";
import type { Received, TestReceiver } from "../harness/receiver.ts";
import type { Node } from "../../src/client/operations.ts";
import { createDatabase } from "../store/stores.ts";

const server = await startServer();
if (server === null) console.warn("SKIPPED: there is no PostgreSQL for this platform to run nodes on");
afterAll(() => server?.stop());

const ROUNDS = Number(process.env["WEBHOOKD_ROUNDS"] ?? 1);
const ENDPOINTS = 12;
const SLOTS = 1024;

async function cluster(machine: Machine, size: number) {
  const key = join(machine.home, "secret.key");
  writeFileSync(key, "0b".repeat(32), { mode: 0o600 });
  const url = server!.urlOf(await createDatabase(server!));
  const settings = { DATA_STORE: url, DATA_SECRET_KEY_FILE: key, DATA_NODES: "true", RETRY_DELAYS: "10m" };
  const first = join(machine.home, "0");
  const begin = (name: string, more: Pick<ServeOptions, "program"> = {}) => {
    const dir = join(machine.home, name);
    mkdirSync(dir, { mode: 0o700, recursive: true });
    return machine.start({ dir, settings, ...more });
  };
  const start = async (name: string, more: Pick<ServeOptions, "program"> = {}) => {
    const started = begin(name, more);
    const { url: at } = await started.json(({ msg }) => msg === "listening");
    return new DaemonProcess(started, String(at), first);
  };
  /** Waits until each node has its share of the endpoints. */
  const divided = (nodes: number) =>
    withClient(url, (client) =>
      expect
        .poll(async () => {
          const { rows } = await client.query(
            "SELECT count(*)::integer AS n FROM slot s JOIN node o ON o.id = s.owner GROUP BY o.id",
          );
          return rows.every(({ n }) => n <= Math.ceil(SLOTS / nodes)) ? rows.reduce((sum, { n }) => sum + n, 0) : 0;
        })
        .toBe(SLOTS),
    );
  const began = performance.now();
  const nodes = [await start("0")];
  const startMs = performance.now() - began;
  for (let at = 1; at < size; at++) nodes.push(await start(String(at)));
  await divided(size);
  return { nodes, begin, start, startMs, divided, url };
}

/** Returns the command of a later version, whose schema has one more step: it adds a column to every table. */
function nextVersion(machine: Machine): readonly [string, string] {
  const [checkout, copy] = [join(import.meta.dirname, "../.."), join(machine.home, "next")];
  for (const part of ["src", "cli", "tui", "package.json"]) {
    cpSync(join(checkout, part), join(copy, part), { recursive: true });
  }
  symlinkSync(join(checkout, "node_modules"), join(copy, "node_modules"));
  const file = join(copy, "src/store/postgres/engine/schema.ts");
  const added = `DO $do$ DECLARE name text; BEGIN
    FOR name IN SELECT tablename FROM pg_tables WHERE schemaname = 'public' LOOP
      EXECUTE format('ALTER TABLE %I ADD COLUMN next integer NOT NULL DEFAULT 7', name);
    END LOOP; END $do$`;
  const step = JSON.stringify(added);
  writeFileSync(
    file,
    readFileSync(file, "utf8").replace(/(const STEPS[^;]*?),?\s*\];/, (_, steps) => `${steps}, ${step}];`),
  );
  return [process.execPath, join(copy, "cli/main.ts")];
}

const nameOf = ({ path, body }: Received): string => `${path} ${JSON.parse(body.toString()).id}`;

/** Counts the requests for each event and endpoint. */
function counted(receiver: TestReceiver): Map<string, number> {
  const counts = new Map<string, number>();
  for (const request of receiver.requests) counts.set(nameOf(request), (counts.get(nameOf(request)) ?? 0) + 1);
  return counts;
}

async function registerAll(node: DaemonProcess, receiver: TestReceiver): Promise<string[]> {
  const ids: string[] = [];
  for (let at = 0; at < ENDPOINTS; at++) ids.push((await node.register(`${receiver.url}/${at}`)).id);
  return ids;
}

/** Returns how many of them have not arrived yet. */
function missing(owed: readonly string[], receiver: TestReceiver): number {
  const counts = counted(receiver);
  return owed.filter((one) => !counts.has(one)).length;
}

const owedOf = (ids: readonly string[]): string[] =>
  ids.flatMap((id) => Array.from({ length: ENDPOINTS }, (_, at) => `/hook/${at} ${id}`));

/** Publishes on all the nodes until `stop` is called, and records the acknowledged ids. */
function publishTo(nodes: readonly DaemonProcess[]) {
  const acked: string[] = [];
  const over = new AbortController();
  const publishers = nodes.flatMap((node) =>
    Array.from({ length: 2 }, async () => {
      while (!over.signal.aborted) acked.push(await node.publish());
    }).map((publisher) => publisher.catch(() => {})),
  );
  const stop = async () => {
    over.abort();
    await Promise.all(publishers);
  };
  return { acked, stop };
}

/** Follows the stream of a node. */
async function follow(node: DaemonProcess, last?: string) {
  const over = new AbortController();
  const headers = { authorization: `Bearer ${node.key}`, ...(last !== undefined && { "last-event-id": last }) };
  const response = await fetch(new URL("/v1/webhooks/stream", node.url), { headers, signal: over.signal });
  let text = "";
  const read = async () => {
    for await (const chunk of response.body!) text += Buffer.from(chunk).toString();
  };
  const reading = read().catch(() => {});
  const stop = async () => {
    over.abort();
    await reading;
  };
  return {
    text: () => text,
    /** Returns the number of deliveries of the event that the stream has shown as delivered. */
    delivered: (id: string) =>
      text.split("\n").filter((line) => line.includes(id) && line.includes('"delivered"')).length,
    last: () =>
      text
        .match(/^id: .+/gm)!
        .at(-1)!
        .slice(4),
    stop,
  };
}

describe.skipIf(server === null)("processes that share a PostgreSQL", () => {
  it("know an event type as soon as one of them has it", async ({ machine }) => {
    const { nodes } = await cluster(machine, 2);
    const [one, other] = nodes as [DaemonProcess, DaemonProcess];
    const types = "/v1/webhooks/event-types";
    const publish = (type: string, data: object = {}) => other.request("POST", "/v1/webhooks/events", { type, data });
    const register = (type: string) =>
      other.request("POST", "/v1/webhooks", { url: "https://example.com/h", events: [type] });
    for (let at = 0; at < 5; at++) {
      const schema = { type: "object", required: ["id"] };
      const type = { schema, sample: { id: 1 }, validation: "enforce" };
      expect((await one.request("PUT", `${types}/order.t${at}`, type)).status).toBe(201);
      expect(
        (await (at % 2 === 0 ? publish(`order.t${at}`, { id: 1 }) : register(`order.t${at}`))).status,
      ).toBeLessThan(300);
    }
    expect((await publish("order.none")).body.errors).toMatchObject([{ code: "unknown_event_type" }]);
    expect((await publish("order.t0")).body.errors).toMatchObject([{ pointer: "/data/id" }]);

    // Each learns of any other change within about a second.
    await one.request("PUT", `${types}/order.t0`, { validation: "off" });
    await expect.poll(async () => (await publish("order.t0")).status).toBe(202);

    // A node that has not learnt of the deletion does not let an endpoint choose the type.
    for (let at = 0; at < 5; at++) {
      await one.request("PUT", `${types}/gone.t${at}`, {});
      await expect.poll(async () => (await other.request("GET", `${types}/gone.t${at}`)).status).toBe(200);
      expect((await one.request("DELETE", `${types}/gone.t${at}`)).status).toBe(204);
      expect((await register(`gone.t${at}`)).body.errors).toMatchObject([{ code: "unknown_event_type" }]);
    }
  });

  it("send each event once, whichever node it is published on, and act on changes made on any of them", async ({
    machine,
  }) => {
    const { nodes, start, divided } = await cluster(machine, 2);
    const receiver = await machine.receiver();
    const endpoints = await registerAll(nodes[0]!, receiver);
    const { acked, stop } = publishTo(nodes);
    await expect.poll(() => acked.length).toBeGreaterThan(20);
    // A node that joins gets its share, under load.
    nodes.push(await start("2"));
    await divided(3);
    await stop();
    for (const node of nodes) acked.push(await node.publish());
    const owed = owedOf(acked);
    await expect.poll(() => missing(owed, receiver)).toBe(0);
    expect([...counted(receiver)].filter(([, count]) => count > 1)).toEqual([]);
    for (const id of acked.slice(-3)) expect(await nodes[2]!.settled(id)).toMatchObject({ status: "delivered" });

    // A client that follows the stream of one node sees the changes on all nodes, and can continue at another.
    const stream = await follow(nodes[0]!);
    const seen = await nodes[1]!.publish();
    await expect.poll(() => stream.delivered(seen)).toBe(ENDPOINTS);
    await stream.stop();
    const missed = await nodes[1]!.publish();
    expect(await nodes[1]!.settled(missed)).toMatchObject({ status: "delivered" });
    const resumed = await follow(nodes[2]!, stream.last());
    await expect.poll(() => resumed.delivered(missed)).toBe(ENDPOINTS);
    expect(resumed.text()).toMatch(/^event: ready\n/);
    expect(resumed.text()).not.toContain("event: reload");
    expect(resumed.delivered(seen)).toBe(0);
    await resumed.stop();

    // The response to a test contains its outcome, whichever node has the endpoint.
    for (const id of endpoints.slice(0, 4)) {
      const { status, body: tested } = await nodes[0]!.request("POST", `/v1/webhooks/${id}/test?wait=true`);
      expect([status, tested.outcome]).toEqual([200, "succeeded"]);
    }

    // No node sends anything to an endpoint that was disabled on one of them.
    for (const id of endpoints) {
      const { status } = await nodes[1]!.request("PATCH", `/v1/webhooks/${id}`, { enabled: false });
      expect(status).toBe(200);
    }
    const before = receiver.requests.length;
    const held = await nodes[2]!.publish();
    const { body } = await nodes[0]!.request("GET", `/v1/webhooks/events/${held}`);
    expect(body.deliveries.map((one: { status: string }) => one.status)).toEqual(endpoints.map(() => "held"));
    // A test event is sent to a disabled endpoint too. Once it has arrived, what came before it would have been sent.
    for (const id of endpoints) {
      const { body: tested } = await nodes[2]!.request("POST", `/v1/webhooks/${id}/test?wait=true`);
      expect(tested.outcome).toBe("succeeded");
    }
    expect(receiver.requests.length).toBe(before + endpoints.length);
    for (const id of endpoints) await nodes[0]!.request("PATCH", `/v1/webhooks/${id}`, { enabled: true });
    expect(await nodes[1]!.settled(held)).toMatchObject({ status: "delivered" });

    // A pause holds on all nodes.
    await nodes[0]!.request("POST", "/v1/pause", { reason: "test" });
    const isPaused = async (node: DaemonProcess) =>
      (await node.request("GET", "/metrics")).body.includes("webhookd_paused 1\n");
    for (const node of nodes) await expect.poll(() => isPaused(node)).toBe(true);
    const paused = await nodes[1]!.publish();
    await nodes[2]!.request("POST", "/v1/resume");
    expect(await nodes[0]!.settled(paused)).toMatchObject({ status: "delivered" });

    // A drained node sends nothing more, but still publishes.
    const list = async () => (await nodes[1]!.request("GET", "/v1/nodes")).body.data as Node[];
    const names = (await list()).map(({ name }) => name);
    expect(names).toEqual([hostname(), `${hostname()}-2`, `${hostname()}-3`]);
    const mine = (await list()).find((node) => node.this)!;
    expect((await nodes[0]!.request("POST", `/v1/nodes/${mine.name}/drain`)).body).toMatchObject({ draining: true });
    await expect.poll(async () => (await list()).find((node) => node.this)!.slots).toBe(0);
    const drained = await nodes[1]!.publish();
    expect(await nodes[1]!.settled(drained)).toMatchObject({ status: "delivered" });
    const status = await nodes[2]!.request("GET", "/v1/status");
    expect(status.body.nodes.map((node: Node) => node.draining && node.slots === 0)).toContain(true);
    expect((await nodes[1]!.request("GET", "/metrics")).body).toContain('webhookd_nodes{state="draining"} 1\n');
    expect((await nodes[0]!.request("POST", `/v1/nodes/${mine.name}/resume`)).status).toBe(200);
    await divided(3);

    // A node that stops gives up its share, and nothing is sent twice.
    expect(await nodes[0]!.stop()).toBe(0);
    const last = await nodes[1]!.publish();
    expect(await nodes[2]!.settled(last)).toMatchObject({ status: "delivered" });
    expect([...counted(receiver)].filter(([, count]) => count > 1)).toEqual([]);
    for (const node of nodes.slice(1)) expect(await node.stop()).toBe(0);
    expect(nodes.map(({ process }) => process.stdout).join("")).not.toContain("lost from memory");
  });

  it("give up endpoints without attempts on the wire as soon as they are told to stop", async ({ machine }) => {
    const { nodes, url } = await cluster(machine, 2);
    const [first, second] = nodes;
    const late = Promise.withResolvers<void>();
    const [slow, quick] = [await machine.receiver({ status: 200, until: late.promise }), await machine.receiver()];
    const ofSecond = `SELECT 1 FROM endpoint e JOIN slot s ON s.slot = e.slot JOIN node n ON n.id = s.owner
      WHERE n.number = 1 AND e.id = $1`;
    await withClient(url, async (client) => {
      for (const receiver of [slow, quick]) {
        const register = async () => {
          const { id } = await first!.register(receiver.url);
          const is = (await client.query(ofSecond, [id])).rowCount === 1;
          if (!is) await first!.request("DELETE", `/v1/webhooks/${id}`);
          return is;
        };
        await expect.poll(register, { interval: 0 }).toBe(true);
      }
    });
    const before = await second!.publish();
    await slow.next();
    await quick.next();
    await second!.beginStop();
    // A node that takes long to stop shows that it is draining, and is not considered lost.
    const after = await first!.publish();
    await quick.next();
    await new Promise((resolve) => setTimeout(resolve, LEASE_MS + 500));
    const { body } = await first!.request("GET", "/v1/nodes");
    expect(body.data).toMatchObject([{ draining: false }, { draining: true, lost: false }]);
    expect(slow.requests).toHaveLength(1);
    late.resolve();
    expect(await second!.process.exit).toBe(0);
    for (const id of [before, after]) expect(await first!.settled(id)).toMatchObject({ status: "delivered" });
    expect([slow.requests.length, quick.requests.length]).toEqual([2, 2]);
    expect(await first!.stop()).toBe(0);
    for (const { process } of nodes) expect(process.stdout).not.toContain("lost from memory");
  });

  it("are replaced by a newer version under load, one by one, and nothing is sent twice", async ({ machine }) => {
    const { nodes, begin, start, url } = await cluster(machine, 2);
    const program = nextVersion(machine);
    const receiver = await machine.receiver();
    await registerAll(nodes[0]!, receiver);
    const { acked, stop } = publishTo(nodes);
    await expect.poll(() => acked.length).toBeGreaterThan(20);
    const newer = await start("2", { program });
    // The older nodes still publish, and leave sending to the node that knows the whole schema.
    const owners = () =>
      withClient(url, async (client) => {
        const sql = "SELECT DISTINCT o.number FROM slot s LEFT JOIN node o ON o.id = s.owner";
        return (await client.query<{ number: number | null }>(sql)).rows.map(({ number }) => number);
      });
    await expect.poll(owners).toEqual([2]);
    const before = acked.length;
    await expect.poll(() => acked.length).toBeGreaterThan(before + 20);
    await stop();
    const { body } = await newer.request("GET", "/v1/nodes");
    const stands = body.data.map(({ draining, slots }: Node) => [draining, slots]);
    expect(stands).toEqual([...nodes.map(() => [true, 0]), [false, SLOTS]]);
    for (const node of nodes) expect(await node.stop()).toBe(0);
    acked.push(await newer.publish());
    const owed = owedOf(acked);
    await expect.poll(() => missing(owed, receiver)).toBe(0);
    expect([...counted(receiver)].filter(([, count]) => count > 1)).toEqual([]);
    const late = begin("3");
    expect(await late.exit).toBe(1);
    expect(late.stderr).toContain("start the newer webhookd");
    expect(await newer.stop()).toBe(0);
    const printed = [...nodes, newer].map(({ process: { stdout } }) => stdout).join("");
    expect(printed).not.toMatch(/lost from memory|"level":"error"/);
  });

  it("take over from one that is killed under load: what was acknowledged is sent", async ({ machine }) => {
    const { nodes, start, startMs, divided } = await cluster(machine, 3);
    const receiver = await machine.receiver();
    await registerAll(nodes[0]!, receiver);
    for (let round = 1; round <= ROUNDS; round++) {
      const { acked, stop } = publishTo(nodes);
      await expect.poll(() => acked.length).toBeGreaterThan(60);
      const victim = nodes.splice(round % 3, 1)[0]!;
      await victim.kill9();
      const killedAt = performance.now();
      const marker = await nodes[0]!.publish();
      const owed = owedOf([marker]);
      await expect.poll(() => missing(owed, receiver)).toBe(0);
      const tookMs = Math.round(performance.now() - killedAt);
      await stop();
      const all = owedOf(acked);
      await expect.poll(() => missing(all, receiver)).toBe(0);
      for (const id of acked) expect(await nodes[1]!.settled(id)).toMatchObject({ status: "delivered" });
      const twice = [...counted(receiver).values()].filter((count) => count > 1).length;
      console.log(`round ${round}: acked ${acked.length}, lost 0, taken over after ${tookMs} ms, sent twice ${twice}`);
      // A takeover waits for the lease of the dead node, a check of it, and work. The time of a start shows how long
      // work takes on this machine.
      expect(tookMs).toBeLessThan(2 * LEASE_MS + 5 * startMs);
      expect(twice).toBeLessThan(256);
      receiver.requests.length = 0;
      nodes.splice(round % 3, 0, await start(`again-${round}`));
      await divided(3);
    }
    const printed = nodes.map(({ process }) => process.stdout).join("");
    expect(printed).not.toContain("lost from memory");
  });

  it("take over from one that is suspended, which ends when it goes on, and changes nothing", async ({ machine }) => {
    const { nodes, url } = await cluster(machine, 2);
    const late = Promise.withResolvers<void>();
    const answers = Array.from({ length: ENDPOINTS }, () => ({ status: 200, until: late.promise }));
    const receiver = await machine.receiver(...answers, ...answers.map(() => 500));
    await registerAll(nodes[0]!, receiver);
    const id = await nodes[1]!.publish();
    await expect.poll(() => receiver.requests.length).toBe(ENDPOINTS);
    expect(counted(receiver).size).toBe(ENDPOINTS);
    const ofFirst = await withClient(url, async (client) => {
      const { rows } = await client.query(
        `SELECT count(*)::integer AS n FROM delivery d JOIN slot s ON s.slot = d.slot JOIN node o ON o.id = s.owner
         WHERE o.number = 0`,
      );
      return rows[0].n as number;
    });
    nodes[0]!.process.kill("SIGSTOP");
    // The other node repeats the attempts that the suspended one has in flight. Its own are still in flight.
    await expect.poll(() => receiver.requests.length).toBe(ENDPOINTS + ofFirst);
    await expect.poll(async () => (await nodes[1]!.attempts(id)).length).toBe(ofFirst);
    late.resolve();
    nodes[0]!.process.kill("SIGCONT");
    expect(await nodes[0]!.process.exit).toBe(75);
    await expect.poll(async () => (await nodes[1]!.attempts(id)).length).toBe(ENDPOINTS);
    const attempts = await nodes[1]!.attempts(id);
    expect(attempts.map(({ number }) => number)).toEqual(attempts.map(() => 1));
    // The results of the suspended node came too late and do not count. The other node's own attempts have delivered.
    const { deliveries } = await nodes[1]!.event(id);
    const pending = deliveries.filter(({ status }: { status: string }) => status === "pending");
    expect(pending).toHaveLength(ofFirst);
    expect(await nodes[1]!.stop()).toBe(0);
  });
});
