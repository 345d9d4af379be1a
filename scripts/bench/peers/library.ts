/**
 * A queue library as a peer. Our own process accepts events over HTTP and stores them in the library, whose worker
 * signs and posts them. A webhook sender built on it needs at least that, and still lacks most of what webhookd does.
 */
import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { DATA, SECRET } from "../payload.ts";
import type { Peer } from "./peer.ts";
import { firstMissing, freePort, listens, packageAt, startProgram } from "./program.ts";
import { NEEDED, type Service } from "./services.ts";

export interface Library {
  readonly name: "bullmq" | "graphile";
  readonly about: string;
  /** Begins with the library's own package. */
  readonly packages: readonly string[];
  readonly service: keyof typeof NEEDED;
  readonly startService: (dir: string) => Promise<Service>;
}

const PROCESS = fileURLToPath(new URL("library-process.ts", import.meta.url));

/** The settings of the process, as JSON instead of arguments. */
export interface LibraryPlan {
  readonly name: Library["name"];
  readonly port: number;
  readonly key: string;
  readonly service: string;
  readonly secret: string;
  readonly urls: readonly string[];
}

export function library({ name, about, packages, service, startService }: Library): Peer {
  return {
    about: `a library; ${about}; HTTP in, signing and posting are a process of ours`,
    missing: () => {
      const from = "install it with npm in the directory that WEBHOOKD_PEERS names";
      const own = packages.map((each) => [`the package ${each}`, { at: packageAt(each), from }]);
      return firstMissing({ ...Object.fromEntries(own), [service]: NEEDED[service] });
    },
    async start(dir, urls) {
      const kept = await startService(dir);
      const [port, key] = [await freePort(), randomBytes(16).toString("hex")];
      const plan: LibraryPlan = { name, port, key, service: kept.url, secret: SECRET, urls };
      const running = await startProgram({
        file: process.execPath,
        args: [PROCESS, JSON.stringify(plan)],
        dir,
        env: { WEBHOOKD_PEERS: process.env.WEBHOOKD_PEERS!, NODE_ENV: "production" },
        ready: () => listens(port),
      });
      const { version } = JSON.parse(readFileSync(join(packageAt(packages[0]!)!, "package.json"), "utf8")) as {
        version: string;
      };
      const stop = async () => {
        await running.stop();
        await kept.stop();
      };
      const endpoints = urls.map((_, index) => ({
        publish: { path: `/${index}`, headers: { authorization: `Bearer ${key}` }, body: DATA },
        signature: SECRET,
      }));
      return { version, port, pids: [running.pid, kept.pid], startMs: running.startMs, endpoints, stop };
    },
  };
}
