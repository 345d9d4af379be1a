/** The environment of the daemon, in threads of this process: receivers on one port, publishers, and their ledger. */
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { Worker } from "node:worker_threads";
import { Ledger, monotonic } from "./ledger.ts";
import type { LoadData, LoadPlan } from "./load-thread.ts";
import type { ReceiverData, Secrets } from "./receiver-thread.ts";

const RECEIVERS = 1;

export class Site {
  readonly ledger: Ledger;
  readonly port: number;
  readonly #receivers: readonly Worker[];

  private constructor(ledger: Ledger, port: number, receivers: readonly Worker[]) {
    this.ledger = ledger;
    this.port = port;
    this.#receivers = receivers;
  }

  static async open(receivers = RECEIVERS, anyBody = false): Promise<Site> {
    const ledger = new Ledger();
    const threads: Worker[] = [];
    let port = 0;
    for (let i = 0; i < receivers; i++) {
      const data: ReceiverData = { memory: ledger.memory, port, anyBody };
      const thread = new Worker(new URL("receiver-thread.ts", import.meta.url), { workerData: data });
      threads.push(thread);
      [port] = (await once(thread, "message")) as [number];
    }
    return new Site(ledger, port, threads);
  }

  url(path: string): string {
    return `http://127.0.0.1:${this.port}${path}`;
  }

  /** Makes receivers verify some of the signatures from now on. */
  async expect(secrets: Secrets): Promise<void> {
    for (const thread of this.#receivers) {
      thread.postMessage(secrets);
      await once(thread, "message");
    }
  }

  /** Publishes until the returned function is called, which resolves when everything that was sent has a response. */
  publish(plan: LoadPlan): () => Promise<void> {
    const data: LoadData = { memory: this.ledger.memory, plan };
    const thread = new Worker(new URL("load-thread.ts", import.meta.url), { workerData: data });
    return async () => {
      const stopped = once(thread, "message");
      thread.postMessage("stop");
      await stopped;
      await thread.terminate();
    };
  }

  /** Waits until every acked event has arrived. Returns how many have not. */
  async settle(withinMs: number): Promise<number> {
    const { ledger } = this;
    for (const deadline = monotonic() + withinMs; monotonic() < deadline; await sleep(20)) {
      if (ledger.get("arrived") >= ledger.get("acked") && ledger.missing().next().done === true) return 0;
    }
    return [...ledger.missing()].length;
  }

  async close(): Promise<void> {
    await Promise.all(this.#receivers.map((thread) => thread.terminate()));
  }
}
