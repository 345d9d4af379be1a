/** One daemon with its own store, and its environment. */
import { DaemonUnderTest } from "./daemon.ts";
import type { LoadPlan } from "./load-thread.ts";
import { remove, scratch } from "./scratch.ts";
import { Site } from "./site.ts";

export interface TrialOptions {
  readonly threads: number | null;
  readonly profile?: boolean;
  readonly receivers?: number;
  /** Puts a store into the directory before the daemon starts. */
  readonly prepare?: (dir: string, site: Site) => void | Promise<void>;
}

export class Trial {
  readonly dir: string;
  readonly site: Site;
  readonly daemon: DaemonUnderTest;

  private constructor(dir: string, site: Site, daemon: DaemonUnderTest) {
    this.dir = dir;
    this.site = site;
    this.daemon = daemon;
  }

  static async start({ threads, profile, receivers, prepare }: TrialOptions): Promise<Trial> {
    const dir = scratch();
    const site = await Site.open(receivers);
    await prepare?.(dir, site);
    return new Trial(dir, site, await DaemonUnderTest.start({ dir, threads, ...(profile && { profile }) }));
  }

  /**
   * Registers an endpoint for each path, and verifies its signatures from then on. `tenantOf` names the tenant of each.
   */
  async register(paths: readonly string[], tenantOf?: (index: number) => string): Promise<void> {
    const secrets: Record<string, string> = {};
    const left = paths.entries();
    const next = async () => {
      for (const [index, path] of left) {
        secrets[path] = await this.daemon.register(this.site.url(path), tenantOf?.(index));
      }
    };
    await Promise.all(Array.from({ length: Math.min(CALLERS, paths.length) }, next));
    await this.site.expect(secrets);
  }

  publish(plan: Omit<LoadPlan, "port" | "key">): () => Promise<void> {
    return this.site.publish({ ...plan, port: this.daemon.port, key: this.daemon.key });
  }

  /** `kill` does not wait for attempts, which may hang. `look` reads the store afterwards. */
  async end<T>(how: "stop" | "kill", look?: (dir: string) => T): Promise<T | undefined> {
    await this.daemon[how]();
    await this.site.close();
    try {
      return look?.(this.dir);
    } finally {
      remove(this.dir);
    }
  }
}

const CALLERS = 50;
