/** webhookd's API without a store: the deliveries of a publish are handed over, and nothing is kept. */
import { randomBytes } from "node:crypto";
import { createApi } from "../../src/api/api.ts";
import { openListener } from "../../src/api/server/listen.ts";
import { systemClock } from "../../src/clock.ts";
import { loadConfig, urlPolicies } from "../../src/config.ts";
import { addressPolicies } from "../../src/delivery/http/egress.ts";
import type { Claim } from "../../src/domain/deliveries/delivery.ts";
import { envelope, type EventDraft } from "../../src/domain/events/event.ts";
import { type ApiKey, createToken, hashSecret, parseToken } from "../../src/domain/caller.ts";
import { Feed } from "../../src/feed/feed.ts";
import { silentLog } from "../../src/log.ts";
import type { EventStore, KeyStore, Publication, Store } from "../../src/store/store.ts";
import { ENDPOINT, ROOM } from "./payload.ts";
import { inputs } from "../../test/config/inputs.ts";
import { deliveryId, eventId, RandomChars } from "../../src/store/rows/codes.ts";
import { RisingKeys } from "../../src/store/rows/key-times.ts";

/** Listens, and returns its port and key. */
export async function openStorelessApi(
  onPublished: (claims: readonly Claim[]) => void,
): Promise<{ readonly port: number; readonly key: string }> {
  const token = createToken("0".repeat(26), randomBytes(32));
  const key = keyOf(token);
  const store: {
    readonly events: Pick<EventStore, "publish">;
    readonly keys: Pick<KeyStore, "get" | "touch">;
  } = {
    events: { publish: (drafts, now) => Promise.resolve(drafts.map((draft) => publication(draft, now))) },
    keys: { get: (id) => Promise.resolve(id === key.id ? key : null), touch() {} },
  };
  const config = loadConfig(inputs({ flags: { dev: true }, cwd: "/", home: "/", platform: process.platform }));
  const api = createApi({
    store: store as object as Store,
    deliveries: {
      capacity: ROOM,
      halts: [],
      accept: ({ fresh }) => onPublished(fresh),
      replayed() {},
      released: async () => {},
      refresh: () => Promise.resolve(),
      refreshAll: () => Promise.resolve(),
      drop: () => Promise.resolve(),
      attempt() {},
      withdraw: () => Promise.resolve(),
      paused: false,
      pause: () => Promise.resolve(),
      resume() {},
      inFlight: 0,
      oldestDueAt: () => null,
      queues: () => [],
      putOff: 0,
      atOnce: () => null,
    },
    feed: new Feed({
      clock: systemClock,
      store: {
        endpoints: { tenantOf: async () => null },
        keys: { get: async () => null },
        ownership: { stream: null },
      },
    }),
    metrics: { text: () => Promise.resolve(""), census: { get: () => Promise.resolve(null) }, requests: { took() {} } },
    clock: systemClock,
    log: silentLog,
    config,
    backups: {
      make: () => Promise.reject(new Error("nothing is kept")),
      rules: { every: 0, dir: "", mayMake: false, keep: 0 },
      failure: null,
    },
    version: "bench",
    hostAheadMs: () => null,
    peers: { of: () => null, trouble: null },
    phase: { now: "serving" },
    shares: new Map(),
    urlPolicy: urlPolicies(
      config,
      0,
      addressPolicies(systemClock, () => []),
    ),
  });
  const listener = await openListener(api.handler(false), {
    host: "127.0.0.1",
    port: 0,
    log: silentLog,
    reject: api.reject,
    plain: api.plain,
  });
  return { port: Number(new URL(listener.url).port), key: token };
}

function keyOf(token: string): ApiKey {
  const { keyId, secret } = parseToken(token)!;
  return {
    id: keyId,
    name: "bench",
    hash: hashSecret(secret),
    scopes: ["publish"],
    tenant: "*",
    createdAt: 0,
    expiresAt: null,
    portal: null,
    lastUsedAt: null,
    revokedAt: null,
  };
}

const keys = new RisingKeys(0);
const random = new RandomChars(randomBytes);

function publication({ type, createdAt, data }: EventDraft, now: number): Publication {
  const event = eventId(keys.next(now), random.next());
  const body = envelope(event, type, createdAt, data);
  const claim: Claim = {
    event,
    delivery: deliveryId(event, 1),
    endpoint: ENDPOINT,
    body,
    number: 1,
    round: 1,
    retry: 0,
    trigger: "ladder",
    dueAt: now,
    fresh: true,
  };
  return { id: event, type, createdAt, deliveries: 1, fresh: [claim], waiting: [], duplicate: false };
}
