import { readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { expect } from "vitest";
import { it, type DaemonProcess } from "../harness/process.ts";

const RECEIVER = join(import.meta.dirname, "verifying-receiver.ts");
/** Events per second, and seconds before the backup begins. The full drill sets both. */
const RATE = Number(process.env.DRILL_RATE ?? 500);
const SECONDS = Number(process.env.DRILL_SECONDS ?? 1);
const BATCH = 50;
const PASSPHRASE = "correct horse battery staple";

it(
  "a sealed backup, made while events are published, and its passphrase alone bring every event acked before it back",
  { timeout: 300_000 + SECONDS * 20_000 },
  async ({ machine }) => {
    const receiver = machine.spawn(process.execPath, [RECEIVER]);
    const { url } = await receiver.json(({ msg }) => msg === "listening");
    const daemon = await machine.serve({ flags: ["--paused"], settings: { LIMITS_COMMIT_QUEUE: "100000" } });
    const { signing_secret } = await daemon.register(String(url));
    receiver.child.stdin!.end(signing_secret);
    const passphrase = join(machine.home, "passphrase");
    writeFileSync(passphrase, PASSPHRASE, { mode: 0o600 });

    const publisher = new Publisher(daemon);
    const publishing = publisher.run();
    while (publisher.acked.length < RATE * SECONDS) await delay(5);
    const before = [...publisher.acked];
    const begun = performance.now();
    const words = ["--seal-with", passphrase, "--socket", join(daemon.dir, "webhookd.sock")];
    const backup = await machine.webhookd("backup", ...words);
    const took = performance.now() - begun;
    const during = publisher.acked.length - before.length;
    publisher.stop();
    await publishing;
    expect(backup.code, backup.stderr).toBe(0);
    expect(during).toBeGreaterThan(0);
    await daemon.kill9();

    const dir = join(machine.home, "elsewhere");
    const restored = await machine.webhookd(
      "restore",
      backup.stdout.trim(),
      "--data-dir",
      dir,
      "--seal-with",
      passphrase,
    );
    expect(restored.code, restored.stderr).toBe(0);
    expect(readdirSync(dir).sort()).toEqual(["STORE", "admin.key", "secret.key", "webhookd.db", "webhookd.lock"]);
    expect(restored.stdout).toContain("Sending is PAUSED.");
    const again = await machine.serve({ dir });
    const { paused } = (await again.request("GET", "/v1/status")).body;
    expect(paused).toMatchObject({ by: "restore", reason: expect.stringContaining(backup.stdout.trim()) });
    // The key that restore created opens the API, and nothing was sent until now.
    expect(receiver.lines).toHaveLength(1);
    expect((await again.request("POST", "/v1/resume")).status).toBe(200);

    const missing = new Set(before);
    for (let read = 1; missing.size > 0;) {
      if (read === receiver.lines.length) await delay(5);
      else {
        const { event, plain, standard } = JSON.parse(receiver.lines[read++]!);
        expect([plain, standard]).toEqual([true, true]);
        missing.delete(event.id);
      }
    }
    expect(await again.stop()).toBe(0);
    if (process.env.DRILL_RATE !== undefined) {
      const rate = Math.round((during / took) * 1000);
      console.log(
        `${before.length} events acked before, ${rate}/s during the backup, which took ${Math.round(took)} ms`,
      );
    }
  },
);

/** Publishes batches at a rate, if the machine can, and records the acknowledged ids. */
class Publisher {
  readonly acked: string[] = [];
  readonly #daemon: DaemonProcess;
  #stopped = false;

  constructor(daemon: DaemonProcess) {
    this.#daemon = daemon;
  }

  async run(): Promise<void> {
    const events = Array.from({ length: BATCH }, (_, n) => ({ type: "budget.exceeded", data: { budget: n } }));
    const begun = performance.now();
    const underWay = new Set<Promise<void>>();
    for (let sent = 0; !this.#stopped; sent += BATCH) {
      const early = begun + (sent / RATE) * 1000 - performance.now();
      if (early > 0) await delay(early);
      // A slow machine publishes as fast as it can.
      if (underWay.size >= 8) await Promise.race(underWay);
      const one = this.#publish(events)
        .catch((error: unknown) => {
          this.#stopped = true;
          throw error;
        })
        .finally(() => void underWay.delete(one));
      one.catch(() => {});
      underWay.add(one);
    }
    await Promise.all(underWay);
  }

  stop(): void {
    this.#stopped = true;
  }

  async #publish(events: readonly object[]): Promise<void> {
    const { status, body } = await this.#daemon.request("POST", "/v1/webhooks/events/batch", { events });
    if (status !== 202) throw new Error(`the batch was answered ${status}: ${JSON.stringify(body)}`);
    for (const { id } of body.data) this.acked.push(id);
  }
}
