/**
 * Several processes on one PostgreSQL: their settings, those that are alive, and how endpoints are divided among them.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { withClient, type TestServer } from "../../test/harness/postgres.ts";
import type { Api } from "./api.ts";
import { DaemonProcess, type Home } from "./daemon.ts";
import { SIGNATURE_BY } from "./site.ts";

const SLOTS = 1024;
const POLL_MS = 25;
/** Dividing takes this long only if it hangs. */
const DIVIDED_MS = 60_000;

export interface Node {
  readonly place: number;
  readonly generation: number;
  readonly process: DaemonProcess;
  readonly api: Api;
}

export interface ClusterHome extends Pick<Home, "dir" | "compileCache" | "program"> {
  /** More settings for every node, and for the one at a given position. */
  readonly settings?: Readonly<Record<string, string>>;
  readonly settingsOf?: ((place: number) => Readonly<Record<string, string>>) | undefined;
  readonly url: string;
}

export class Cluster {
  /** Keyed by position. The next node takes the position of a dead one. */
  readonly nodes: (Node | null)[] = [];
  readonly #home: ClusterHome;
  #generation = 0;

  constructor(home: ClusterHome) {
    this.#home = home;
    mkdirSync(home.dir, { recursive: true });
    writeFileSync(join(home.dir, "secret.key"), "0b".repeat(32), { mode: 0o600 });
  }

  get living(): Node[] {
    return this.nodes.filter((node) => node !== null);
  }

  async start(place: number): Promise<Node> {
    const generation = ++this.#generation;
    const { dir, compileCache, program, settings, settingsOf, url } = this.#home;
    const home: Home = {
      dir: join(dir, `node-${place}`),
      compileCache,
      program,
      settings: {
        WEBHOOKD_DATA_STORE: url,
        WEBHOOKD_DATA_NODES: "true",
        WEBHOOKD_DATA_SECRET_KEY_FILE: join(dir, "secret.key"),
        WEBHOOKD_SIGNATURE_HEADER: `${SIGNATURE_BY}${generation}`,
        ...settings,
        ...settingsOf?.(place),
      },
    };
    const process = DaemonProcess.start(home);
    if ((await process.untilListening()) === null)
      throw new Error(`node ${generation} does not start: ${home.dir}/daemon.log`);
    const api = process.api(join(dir, "node-0", "data"));
    const node = { place, generation, process, api };
    this.nodes[place] = node;
    return node;
  }

  /** Waits until each of them has its share, and no more. `url` names only the host that accepts writes. */
  divided(url = this.#home.url): Promise<void> {
    return divided(url, this.living.length);
  }

  /** Stops all nodes. Returns how those ended that did not end well. */
  async stop(): Promise<string[]> {
    const wrong: string[] = [];
    for (const { generation, process } of this.living) {
      process.terminate();
      const { code, signal } = await process.ended;
      if (code !== 0) wrong.push(`the stop of process ${generation} ended with ${code ?? signal}`);
    }
    this.nodes.length = 0;
    return wrong;
  }

  async close(): Promise<void> {
    for (const { process } of this.living) process.kill();
    await Promise.all(this.living.map(({ process }) => process.ended));
  }
}

/** Waits until each of this many nodes has its share, and no more. */
export function divided(url: string, nodes: number): Promise<void> {
  const share = Math.ceil(SLOTS / nodes);
  const sql = "SELECT count(*)::integer AS n FROM slot s JOIN node o ON o.id = s.owner GROUP BY o.id";
  const until = performance.now() + DIVIDED_MS;
  return withClient(url, async (client) => {
    for (;;) {
      const { rows } = await client.query<{ n: number }>(sql);
      const owned = rows.reduce((sum, { n }) => sum + n, 0);
      if (owned === SLOTS && rows.length === nodes && rows.every(({ n }) => n <= share)) return;
      if (performance.now() > until) throw new Error(`the slots were not divided: ${JSON.stringify(rows)}`);
      await sleep(POLL_MS);
    }
  });
}

export async function newDatabase(server: TestServer): Promise<string> {
  const name = `webhookd_${Math.random().toString(36).slice(2)}`;
  await server.ask(`CREATE DATABASE ${name}`);
  return server.urlOf(name);
}
