/** svix-server with PostgreSQL and Redis. */
import { execFileSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { DATA, EVENT_TYPE } from "../payload.ts";
import type { Peer, PeerEndpoint } from "./peer.ts";
import { ask, firstMissing, freePort, plain, programAt, startProgram, versionOf } from "./program.ts";
import { NEEDED, startPostgres, startRedis } from "./services.ts";

const { postgres, "redis-server": redis } = NEEDED;

export const svix: Peer = {
  about: "PostgreSQL with fsync and synchronous_commit, Redis with appendonly as its queue; its own defaults",
  missing: () =>
    firstMissing({
      "svix-server": { at: programAt("svix-server"), from: "take its release (svix/svix-webhooks)" },
      postgres,
      "redis-server": redis,
    }),
  async start(dir, urls) {
    const file = programAt("svix-server")!;
    const services = [await startPostgres(dir), await startRedis(dir)] as const;
    const port = await freePort();
    const at = `http://127.0.0.1:${port}/api/v1`;
    const env = {
      SVIX_LISTEN_ADDRESS: `127.0.0.1:${port}`,
      SVIX_DB_DSN: services[0].url,
      SVIX_REDIS_DSN: services[1].url,
      SVIX_QUEUE_TYPE: "redis",
      SVIX_CACHE_TYPE: "memory",
      SVIX_JWT_SECRET: randomBytes(24).toString("hex"),
      // The bench's receivers are on this machine, to which it would not send by default.
      SVIX_WHITELIST_SUBNETS: "[127.0.0.1/32]",
    };
    // Migrate before measuring the start, because a database is created only once.
    execFileSync(file, ["migrate"], { cwd: dir, env: { ...plain(dir), ...env }, stdio: "ignore" });
    const ready = () => ask(`${at}/health`);
    const { pid, startMs, ...running } = await startProgram({ file, args: [], dir, env, ready });
    const output = execFileSync(file, ["jwt", "generate"], {
      cwd: dir,
      env: { ...plain(dir), ...env },
      encoding: "utf8",
    });
    const headers = { authorization: `Bearer ${/eyJ[\w.-]+/.exec(output)![0]}` };
    const post = (path: string, body: object) =>
      ask(`${at}${path}`, {
        method: "POST",
        headers: { ...headers, "content-type": "application/json" },
        body: JSON.stringify(body),
      }) as Promise<{ id: string }>;
    const endpoints: PeerEndpoint[] = [];
    for (const [index, url] of urls.entries()) {
      const { id } = await post("/app", { name: `bench ${index}` });
      await post(`/app/${id}/endpoint`, { url });
      const publish = {
        path: `/api/v1/app/${id}/msg`,
        headers,
        body: `{"eventType":"${EVENT_TYPE}","payload":${DATA}}`,
      };
      endpoints.push({ publish, signature: { header: "svix-signature" } });
    }
    const stop = async () => {
      for (const each of [running, ...services]) await each.stop();
    };
    const pids = [pid, ...services.map((service) => service.pid)];
    return { version: versionOf(file, "--version"), port, pids, startMs, endpoints, stop };
  },
};
