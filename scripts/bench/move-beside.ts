/**
 * Moves a store beside its daemon, as an operator does. Measures how long publishes are refused, and what is lost or
 * repeated.
 */
import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { TestReceiver } from "../../test/harness/receiver.ts";
import { watchOver } from "../crash/children.ts";
import { DaemonUnderTest } from "./daemon.ts";
import { monotonic } from "./ledger.ts";
import { DATA, EVENT_TYPE } from "./payload.ts";

const MAIN = fileURLToPath(new URL("../../cli/main.ts", import.meta.url));
const PUBLISHERS = 4;
/**
 * The pause of each publisher between a response and its next publish: a busy day, but less than the machine could do.
 */
const PAUSE_MS = 10;
const SETTLE_MS = 60_000;

export interface MovedBeside {
  /** The time from the start of the command until it says that the daemon must be stopped. */
  readonly copiedMs: number;
  /** The time from the last publish that the old daemon acknowledged to the first that the new one did. */
  readonly refusedMs: number;
  readonly acked: number;
  /** Acknowledged, but never sent. */
  readonly lost: number;
  /** Sent again, although nothing was on the wire without a response. */
  readonly twice: number;
}

/** Moves the store of the directory there and back. Each time its daemon publishes and sends during the move. */
export async function moveBeside(dir: string, url: string, note: (text: string) => void) {
  const receiver = await TestReceiver.start();
  const publishers = new Publishers();
  const start = (store: string) =>
    DaemonUnderTest.start({ dir, threads: null, settings: store === "" ? {} : { WEBHOOKD_DATA_STORE: store } });
  let daemon = await start("");
  try {
    await daemon.register(receiver.url);
    publishers.to(daemon);
    const ways: MovedBeside[] = [];
    for (const words of [
      ["--to", url],
      ["--from", url],
    ]) {
      const begun = monotonic();
      const moving = new Moving(dir, words);
      await moving.ready;
      const copiedMs = monotonic() - begun;
      await daemon.stop();
      await moving.ended;
      daemon = await start(words[0] === "--to" ? url : "");
      publishers.to(daemon);
      const refusedMs = await publishers.resumed();
      note(`${words[0]}: copied in ${(copiedMs / 1000).toFixed(1)} s, refused for ${(refusedMs / 1000).toFixed(1)} s`);
      ways.push({ copiedMs, refusedMs, ...(await publishers.account(receiver)) });
    }
    return ways;
  } finally {
    await publishers.stop();
    await daemon.stop();
    await receiver.close();
  }
}

/** Runs `webhookd migrate --online`, as somebody would type it. */
class Moving {
  /** Resolves when it says that the daemon must be stopped. */
  readonly ready: Promise<void>;
  readonly ended: Promise<void>;

  constructor(dir: string, words: readonly string[]) {
    const args = [MAIN, "migrate", ...words, "--online", "--data-dir", join(dir, "data")];
    const child = watchOver(spawn(process.execPath, args, { cwd: dir, stdio: ["ignore", "ignore", "pipe"] }));
    let said = "";
    this.ended = once(child, "close").then(([code]) => {
      if (code !== 0) throw new Error(`migrate ended with ${code}: ${said}`);
    });
    const ready = new Promise<void>((resolve) => {
      createInterface({ input: child.stderr }).on("line", (line) => {
        said += `${line}\n`;
        if (/^Stop .* now\./.test(line)) resolve();
      });
    });
    this.ready = Promise.race([ready, this.ended]);
  }
}

/** Publish one event after another, and repeat each under its key until a daemon accepts it. */
class Publishers {
  #daemon: DaemonUnderTest | null = null;
  #stopped = false;
  #ackedAt = 0;
  /** The longest time between two responses to any publishers, since the last call of `resumed`. */
  #longestMs = 0;
  readonly #acked: string[] = [];
  #running: Promise<unknown> = Promise.resolve();

  to(daemon: DaemonUnderTest): void {
    const isFirst = this.#daemon === null;
    this.#daemon = daemon;
    if (!isFirst) return;
    this.#ackedAt = monotonic();
    this.#running = Promise.all(Array.from({ length: PUBLISHERS }, () => this.#publish()));
  }

  /** Resolves to the time without an acknowledgement, once a publish is acknowledged again. */
  async resumed(): Promise<number> {
    const before = this.#acked.length;
    while (this.#acked.length === before) await sleep(PAUSE_MS);
    const longestMs = this.#longestMs;
    this.#longestMs = 0;
    return longestMs;
  }

  /** Counts everything that has been acknowledged by now. */
  async account({ requests }: TestReceiver): Promise<Pick<MovedBeside, "acked" | "lost" | "twice">> {
    const acked = [...this.#acked];
    const ids = () => requests.map(({ body }) => (JSON.parse(body.toString()) as { id: string }).id);
    const missing = () => {
      const arrived = new Set(ids());
      return acked.filter((id) => !arrived.has(id)).length;
    };
    for (const until = monotonic() + SETTLE_MS; missing() > 0 && monotonic() < until;) await sleep(100);
    const sent = ids();
    return { acked: acked.length, lost: missing(), twice: sent.length - new Set(sent).size };
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await this.#running;
  }

  async #publish(): Promise<void> {
    for (let key = randomUUID(); !this.#stopped; await sleep(PAUSE_MS)) {
      const id = await this.#publishOnce(key);
      if (id === null) continue;
      const now = monotonic();
      this.#longestMs = Math.max(this.#longestMs, now - this.#ackedAt);
      this.#ackedAt = now;
      this.#acked.push(id);
      key = randomUUID();
    }
  }

  /** Returns null if no daemon accepted it. */
  async #publishOnce(key: string): Promise<string | null> {
    const { port, key: token } = this.#daemon!;
    try {
      const response = await fetch(`http://127.0.0.1:${port}/v1/webhooks/events`, {
        method: "POST",
        headers: { authorization: `Bearer ${token}`, "content-type": "application/json", "idempotency-key": key },
        body: `{"type":"${EVENT_TYPE}","data":${DATA}}`,
      });
      const { id } = (await response.json()) as { id?: string };
      return response.ok ? id! : null;
    } catch {
      return null;
    }
  }
}
