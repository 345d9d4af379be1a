import diagnostics from "node:diagnostics_channel";
import { once } from "node:events";
import { connect } from "node:net";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { describe, expect } from "vitest";
import { Client } from "undici";
import { it, type DaemonProcess } from "../harness/process.ts";

describe.concurrent("SIGTERM", () => {
  it("while eight connections publish: what came is answered; what was acknowledged is stored and delivered, and nothing else", async ({
    machine,
  }) => {
    const receiver = await machine.receiver();
    const before = await machine.serve();
    await before.register(receiver.url);
    const publishers = Array.from({ length: 8 }, (_, index) => new Publisher(before, `p${index}`));
    const runs = publishers.map((publisher) => publisher.run());
    // A run that ends before the publishers are warm has failed, and rejects with the reason.
    await Promise.race([Promise.all(publishers.map((publisher) => publisher.warm)), Promise.all(runs)]);
    const interruption = monitorEventLoopDelay({ resolution: 5 });
    interruption.enable();
    expect(await before.stop()).toBe(0);
    await Promise.all(runs);
    interruption.disable();
    const { time } = await before.process.json(({ msg }) => msg === "no longer listening");

    const after = await machine.serve();
    const stored = await storedMarkers(after);
    const acknowledged = publishers.flatMap((publisher) => publisher.acknowledged);
    expect(acknowledged.length).toBeGreaterThanOrEqual(8 * WARM);
    expect(acknowledged.filter((marker) => !stored.has(marker))).toEqual([]);
    const refused = publishers.flatMap((publisher) => publisher.refused);
    const cutOff = publishers.flatMap((publisher) => publisher.cutOff);
    expect([...refused, ...cutOff].filter((marker) => stored.has(marker))).toEqual([]);
    expect(acknowledged.filter((marker) => !writtenAt.has(marker))).toEqual([]);
    const lastLookAt = Date.parse(String(time)) - INTERRUPTED_MS - 2 * (interruption.max / 1e6);
    expect(cutOff.filter((marker) => writtenAt.get(marker)! < lastLookAt)).toEqual([]);
    for (const marker of acknowledged) {
      expect(await after.settled(stored.get(marker)!)).toMatchObject({ status: "delivered" });
    }
  });

  it("answers every request that had come, also on connections that nobody had taken yet", async ({ machine }) => {
    const { process, url, key } = await machine.serve();
    const port = Number(new URL(url).port);
    const data = JSON.stringify({ type: "budget.exceeded", data: {} });
    const head = `host: localhost\r\nauthorization: Bearer ${key}\r\ncontent-type: application/json`;
    const publish = `POST /v1/webhooks/events HTTP/1.1\r\n${head}\r\ncontent-length: ${data.length}\r\n\r\n${data}`;
    const dial = async () => {
      const socket = connect(port, "127.0.0.1");
      await once(socket, "connect");
      return socket;
    };
    const kept = [await dial(), await dial(), await dial(), await dial()];
    for (const socket of kept) {
      socket.write(publish);
      expect(String(await once(socket, "data"))).toMatch(/^HTTP\/1.1 202 /);
    }
    process.kill("SIGSTOP");
    const fresh = [await dial(), await dial(), await dial(), await dial()];
    const answers = [...kept, ...fresh].map((socket) => once(socket, "data"));
    for (const socket of [...kept, ...fresh]) await new Promise((resolve) => socket.write(publish, resolve));
    process.kill("SIGTERM");
    process.kill("SIGCONT");
    for (const answer of await Promise.all(answers)) expect(String(answer)).toMatch(/^HTTP\/1.1 202 /);
    expect(await process.exit).toBe(0);
  });

  it("while attempts are in flight lets them end and records them", async ({ machine }) => {
    const answered = Promise.withResolvers<void>();
    const receiver = await machine.receiver(...Array.from({ length: 5 }, () => ({ until: answered.promise })));
    const before = await machine.serve();
    await before.register(receiver.url);
    const ids = await Promise.all(Array.from({ length: 5 }, () => before.publish()));
    for (const _ of ids) await receiver.next();
    await before.beginStop();
    answered.resolve();
    expect(await before.process.exit).toBe(0);

    const after = await machine.serve();
    for (const id of ids) {
      expect(await after.settled(id)).toMatchObject({ status: "delivered" });
      expect(await after.attempts(id)).toHaveLength(1);
    }
    expect(receiver.requests).toHaveLength(5);
  });

  it("is answered by /readyz with draining, while publishes are taken for the next start", async ({ machine }) => {
    const answered = Promise.withResolvers<void>();
    const receiver = await machine.receiver({ until: answered.promise });
    const before = await machine.serve();
    await before.register(receiver.url);
    const first = await before.publish();
    await receiver.next();
    await before.beginStop();
    expect(await before.request("GET", "/readyz")).toMatchObject({ status: 503, body: "draining" });
    expect(await before.request("GET", "/healthz")).toMatchObject({ status: 200 });
    const second = await before.publish();
    answered.resolve();
    expect(await before.process.exit).toBe(0);
    expect(receiver.requests.map(({ headers }) => headers["webhook-id"])).toEqual([first]);

    const after = await machine.serve();
    expect(await after.settled(first)).toMatchObject({ status: "delivered", deliveries: [{ attempts: 1 }] });
    expect(await after.settled(second)).toMatchObject({ status: "delivered", deliveries: [{ attempts: 1 }] });
  });

  it("leaves retries that are not due for the next start", async ({ machine }) => {
    const receiver = await machine.receiver(500);
    const before = await machine.serve({ settings: { RETRY_DELAYS: "1h" } });
    await before.register(receiver.url);
    const id = await before.publish();
    await before.process.json(({ msg }) => msg === "delivery.attempted");
    expect(await before.stop()).toBe(0);
    const after = await machine.serve({ settings: { RETRY_DELAYS: "1h" } });
    expect(await after.event(id)).toMatchObject({ status: "pending", deliveries: [{ attempts: 1 }] });
    expect(receiver.requests).toHaveLength(1);
  });

  it.for([
    ["SIGTERM", 143],
    ["SIGINT", 130],
  ] as const)(
    "and then %s interrupts what hangs: recorded, and attempted again without a rung",
    async ([signal, code], { machine }) => {
      const receiver = await machine.receiver("hang");
      // The time limit is longer than this test, so a stop that waited for the attempt would fail it.
      const before = await machine.serve({ settings: { RETRY_TIMEOUT: "1h" } });
      await before.register(receiver.url);
      const id = await before.publish();
      await receiver.next();
      await before.beginStop();
      before.process.kill(signal);
      expect(await before.process.exit).toBe(code);

      const after = await machine.serve();
      expect(await after.settled(id)).toMatchObject({ status: "delivered" });
      expect(await after.attempts(id)).toEqual([
        expect.objectContaining({ number: 1, round: 1, retry: 0, outcome: "interrupted" }),
        expect.objectContaining({ number: 2, round: 1, retry: 0, outcome: "succeeded" }),
      ]);
    },
  );
});

/** Each publisher must get this many responses before the test continues. */
const WARM = 15;

/**
 * Other programs may run between the daemon's last check and its closing. The test accepts such an interruption of up
 * to this many milliseconds.
 */
const INTERRUPTED_MS = 20;

/** The time, by marker, at which a request was completely written to a connection that was already open. */
const writtenAt = new Map<string, number>();
diagnostics.subscribe("undici:client:sendHeaders", (message) => {
  const { body } = (message as { request: { body: unknown } }).request;
  const [, marker] = /"marker":"([^"]+)"/.exec(String(body)) ?? [];
  if (marker !== undefined) writtenAt.set(marker, Date.now());
});

/** A connection that publishes one event after another until it is refused or cut off. */
class Publisher {
  readonly acknowledged: string[] = [];
  readonly refused: string[] = [];
  /** Markers of requests that got no response. */
  readonly cutOff: string[] = [];
  readonly warm: Promise<void>;
  readonly #client: Client;
  readonly #key: string;
  readonly #name: string;
  #isWarm!: () => void;

  constructor(daemon: DaemonProcess, name: string) {
    this.#client = new Client(daemon.url);
    this.#key = daemon.key;
    this.#name = name;
    this.warm = new Promise((resolve) => (this.#isWarm = resolve));
  }

  async run(): Promise<void> {
    for (;;) {
      const marker = `${this.#name}-${this.acknowledged.length}`;
      const status = await this.#publish(marker);
      if (status !== 202) {
        this[status].push(marker);
        await this.#client.destroy();
        return;
      }
      this.acknowledged.push(marker);
      if (this.acknowledged.length === WARM) this.#isWarm();
    }
  }

  async #publish(marker: string): Promise<202 | "refused" | "cutOff"> {
    try {
      const { statusCode, body } = await this.#client.request({
        method: "POST",
        path: "/v1/webhooks/events",
        headers: { authorization: `Bearer ${this.#key}`, "content-type": "application/json" },
        body: JSON.stringify({ type: "budget.exceeded", data: { marker } }),
      });
      await body.dump();
      if (statusCode === 202) return 202;
      expect(statusCode).toBe(503);
      return "refused";
    } catch (error) {
      return (error as NodeJS.ErrnoException).code === "ECONNREFUSED" ? "refused" : "cutOff";
    }
  }
}

/** Returns the ids of all stored events by their markers. */
async function storedMarkers(daemon: DaemonProcess): Promise<Map<string, string>> {
  const stored = new Map<string, string>();
  let cursor = "";
  do {
    const { body } = await daemon.request("GET", `/v1/webhooks/events?limit=100&include=data${cursor}`);
    for (const { id, data } of body.data) {
      expect(stored.has(data.marker), `${data.marker} is stored once`).toBe(false);
      stored.set(data.marker, id);
    }
    cursor = body.next_cursor === null ? "" : `&cursor=${body.next_cursor}`;
  } while (cursor !== "");
  return stored;
}
