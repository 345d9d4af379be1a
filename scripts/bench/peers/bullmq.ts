/** BullMQ on Redis. */
import { library } from "./library.ts";
import { startRedis } from "./services.ts";

export const bullmq = library({
  name: "bullmq",
  about: "Redis with appendonly, synced every second",
  packages: ["bullmq", "ioredis"],
  service: "redis-server",
  startService: startRedis,
});
