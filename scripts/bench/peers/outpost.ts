/** Hookdeck's Outpost with PostgreSQL, Redis and RabbitMQ. */
import { execFileSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { DATA, EVENT_TYPE } from "../payload.ts";
import type { Peer, PeerEndpoint } from "./peer.ts";
import { ask, firstMissing, freePort, plain, programAt, startProgram, versionOf } from "./program.ts";
import { NEEDED, startPostgres, startRabbit, startRedis } from "./services.ts";

const { postgres, "redis-server": redis, "rabbitmq-server": rabbit } = NEEDED;
const FROM = "take its release (hookdeck/outpost)";
/** The default is one delivery at a time. */
const CONCURRENCY = 100;

export const outpost: Peer = {
  about: `PostgreSQL with fsync, Redis with appendonly, RabbitMQ with quorum queues; one process, ${CONCURRENCY} deliveries at a time`,
  missing: () =>
    firstMissing({
      "outpost-server": { at: programAt("outpost-server"), from: FROM },
      outpost: { at: programAt("outpost"), from: FROM },
      postgres,
      "redis-server": redis,
      "rabbitmq-server": rabbit,
    }),
  async start(dir, urls) {
    const services = [await startPostgres(dir), await startRedis(dir), await startRabbit(dir)] as const;
    const [key, port] = [randomBytes(16).toString("hex"), await freePort()];
    const at = `http://127.0.0.1:${port}/api/v1`;
    const env = {
      API_PORT: String(port),
      API_KEY: key,
      API_JWT_SECRET: randomBytes(16).toString("hex"),
      AES_ENCRYPTION_SECRET: randomBytes(16).toString("hex"),
      TOPICS: EVENT_TYPE,
      POSTGRES_URL: `${services[0].url}?sslmode=disable`,
      REDIS_HOST: "127.0.0.1",
      REDIS_PORT: String(services[1].port),
      RABBITMQ_SERVER_URL: services[2].url,
      PUBLISH_MAX_CONCURRENCY: String(CONCURRENCY),
      DELIVERY_MAX_CONCURRENCY: String(CONCURRENCY),
      LOG_MAX_CONCURRENCY: String(CONCURRENCY),
      GIN_MODE: "release",
      DISABLE_TELEMETRY: "true",
    };
    // Migrate before measuring the start, because a database is created only once.
    const migrate = ["migrate", "apply", "--yes"];
    execFileSync(programAt("outpost")!, migrate, { cwd: dir, env: { ...plain(dir), ...env }, stdio: "ignore" });
    const file = programAt("outpost-server")!;
    const ready = () => ask(`${at}/healthz`);
    const { pid, startMs, ...running } = await startProgram({ file, args: [], dir, env, ready });
    const headers = { authorization: `Bearer ${key}` };
    const endpoints: PeerEndpoint[] = [];
    for (const [index, url] of urls.entries()) {
      const tenant = `bench-${index}`;
      await ask(`${at}/tenants/${tenant}`, { method: "PUT", headers });
      await ask(`${at}/tenants/${tenant}/destinations`, {
        method: "POST",
        headers: { ...headers, "content-type": "application/json" },
        body: JSON.stringify({ type: "webhook", topics: ["*"], config: { url } }),
      });
      const body = `{"tenant_id":"${tenant}","topic":"${EVENT_TYPE}","data":${DATA}}`;
      endpoints.push({
        publish: { path: "/api/v1/publish", headers, body },
        signature: { header: "x-outpost-signature" },
      });
    }
    const stop = async () => {
      for (const each of [running, ...services]) await each.stop();
    };
    const pids = [pid, ...services.map((service) => service.pid)];
    return { version: versionOf(programAt("outpost")!, "--version"), port, pids, startMs, endpoints, stop };
  },
};
