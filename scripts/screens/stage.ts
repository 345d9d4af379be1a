/** What the pictures show: a daemon of this checkout with receivers of every kind, and events that went to them. */
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { createClient, type Client } from "../../src/client/client.ts";
import { BUILT_IN_TYPES } from "../../src/domain/built-in-types.ts";
import { version } from "../../src/version.ts";

export const WEBHOOKD = fileURLToPath(new URL("../webhookd", import.meta.url));

/** Path, what it answers with (null: nothing, the connection is cut), event types, and what it is. */
const RECEIVERS = [
  ["/hooks", 200, BUILT_IN_TYPES.map(({ name }) => name), "Acme ledger"],
  ["/in/7f3", 204, ["transaction.enriched", "transaction.refund_matched"], "Partner feed"],
  ["/webhook", 503, ["budget.exceeded", "goal.achieved", "transaction.enriched"], "Billing"],
  ["/carbon/v2", 404, ["carbon.threshold"], "Carbon dashboard"],
  ["/crm", null, ["subscription.detected"], "CRM"],
] as const;
const EVENTS = 120;
/** Which type comes when: some come more often than others. */
const MIX = [0, 2, 0, 1, 0, 3, 0, 5, 0, 4, 2, 0, 3];

export class Stage {
  readonly dir = mkdtempSync(join(tmpdir(), "webhookd-screens-"));
  readonly socket = join(this.dir, "data/webhookd.sock");
  readonly client: Client = createClient({ socket: this.socket }, { version });
  readonly #receiver: Server;
  #daemon: ChildProcess | undefined;

  constructor() {
    const answers = new Map<string, number | null>(RECEIVERS.map(([path, status]) => [path, status]));
    this.#receiver = createServer((request, response) => {
      const status = answers.get(request.url ?? "") ?? null;
      request.resume().on("end", () => {
        if (status === null) request.socket.destroy();
        else response.writeHead(status, { "content-type": "text/plain" }).end(status < 300 ? "" : ANSWERS[status]);
      });
    });
  }

  async open(): Promise<void> {
    this.#receiver.listen(0, "127.0.0.1");
    await once(this.#receiver, "listening");
    const env = {
      ...process.env,
      WEBHOOKD_DATA_DIR: join(this.dir, "data"),
      // The whole ladder in a second: what failed for good is what the pictures are about.
      WEBHOOKD_RETRY_DELAYS: "100ms,100ms,200ms,200ms,200ms,200ms",
    };
    const words = ["serve", "--dev", "--listen", "127.0.0.1:0", "--log-level", "error"];
    this.#daemon = spawn(WEBHOOKD, words, { cwd: this.dir, env, stdio: ["ignore", "ignore", "inherit"] });
    await this.#run("status", "--wait");
    await this.#registerAll();
    for (let number = 0; number < EVENTS; number++) {
      const { name, sample } = BUILT_IN_TYPES[MIX[number % MIX.length]!]!;
      await this.client.call("publishEvent", { body: { type: name, data: sample } });
    }
    while ((await this.client.call("listDeliveries", { query: { status: "pending", limit: 1 } })).data.length > 0) {
      await sleep(100);
    }
  }

  async close(): Promise<void> {
    this.#daemon?.kill("SIGTERM");
    if (this.#daemon?.exitCode === null) await once(this.#daemon, "exit");
    this.#receiver.close();
    this.#receiver.closeAllConnections();
    rmSync(this.dir, { recursive: true, force: true });
  }

  async #registerAll(): Promise<void> {
    const { port } = this.#receiver.address() as AddressInfo;
    for (const [path, , events, description] of RECEIVERS) {
      const body = { url: `http://localhost:${port}${path}`, events, description };
      await this.client.call("registerEndpoint", { body });
    }
  }

  async #run(...words: string[]): Promise<void> {
    const child = spawn(WEBHOOKD, [...words, "--socket", this.socket], { stdio: ["ignore", "ignore", "inherit"] });
    const [code] = (await once(child, "exit")) as [number];
    if (code !== 0) throw new Error(`webhookd ${words.join(" ")} ended with ${code}`);
  }
}

const ANSWERS: Readonly<Record<number, string>> = {
  404: '{"error":"no such hook"}',
  503: '{"error":"upstream unavailable","retry":true}',
};
