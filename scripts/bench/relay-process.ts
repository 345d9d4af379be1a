/** webhookd's way in and its signature, with nothing stored and nothing remembered: what durability is measured against. */
import { randomBytes } from "node:crypto";
import { Pool, type Dispatcher } from "undici";
import { createApi } from "../../src/api/api.ts";
import { openListener } from "../../src/api/server/listen.ts";
import { systemClock } from "../../src/clock.ts";
import { loadConfig, urlPolicies } from "../../src/config.ts";
import { addressPolicies } from "../../src/delivery/http/egress.ts";
import { Signer } from "../../src/delivery/send/signer.ts";
import type { Claim } from "../../src/domain/deliveries/delivery.ts";
import type { Target } from "../../src/domain/endpoints/endpoint.ts";
import { envelope, type EventDraft } from "../../src/domain/events/event.ts";
import { type ApiKey, createToken, hashSecret, parseToken } from "../../src/domain/keys/key.ts";
import { Feed } from "../../src/feed/feed.ts";
import { silentLog } from "../../src/log.ts";
import { deliveryId, eventId, EventKeys, RandomChars } from "../../src/store/sqlite/numbers/codes.ts";
import type { EventStore, KeyStore, Publication, Store } from "../../src/store/store.ts";

const [url, signingSecret, connections] = process.argv.slice(2) as [string, string, string];
const ENDPOINT = `ep_${"0".repeat(26)}`;
const token = createToken("0".repeat(26), randomBytes(32));
const { keyId, secret } = parseToken(token)!;
const key: ApiKey = {
  id: keyId,
  name: "bench",
  hash: hashSecret(secret),
  scopes: ["publish"],
  tenant: "*",
  createdAt: 0,
  expiresAt: null,
  lastUsedAt: null,
  revokedAt: null,
};

const keys = new EventKeys(0);
const random = new RandomChars(randomBytes);
const target: Target = {
  endpoint: ENDPOINT,
  tenant: "default",
  url,
  enabled: true,
  headers: {},
  signingSecret,
  secretVersion: 1,
  nextSigningSecret: null,
  ratePerSecond: null,
  maxInFlight: null,
};
const signer = new Signer(target, { header: "X-Service-Signature", standardWebhooks: true, version: "relay" });
const pool = new Pool(new URL(url).origin, {
  connections: Number(connections),
  pipelining: 1,
  allowH2: false,
  headersTimeout: 0,
  bodyTimeout: 0,
});
const handler: Dispatcher.DispatchHandler = {
  onRequestStart() {},
  onResponseStart() {},
  onResponseData() {},
  onResponseEnd() {},
  onResponseError(_controller, error) {
    throw error;
  },
};

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

const store: {
  readonly events: Pick<EventStore, "publish">;
  readonly keys: Pick<KeyStore, "get" | "touch">;
} = {
  events: { publish: (drafts, now) => Promise.resolve(drafts.map((draft) => publication(draft, now))) },
  keys: { get: (id) => Promise.resolve(id === key.id ? key : null), touch() {} },
};
const config = loadConfig({
  flags: { dev: true },
  env: {},
  cwd: "/",
  home: "/",
  root: false,
  platform: process.platform,
  checkout: null,
  readFile: () => null,
  exists: () => false,
});
const api = createApi({
  store: store as object as Store,
  deliveries: {
    hasRoom: () => true,
    halts: [],
    accept({ fresh }) {
      for (const claim of fresh) pool.dispatch(signer.sign(claim, Math.floor(claim.dueAt / 1000)), handler);
    },
    released: async () => {},
    refresh: () => Promise.resolve(),
    drop: () => Promise.resolve(),
    attempt() {},
    withdraw: () => Promise.resolve(),
    paused: false,
    pause: () => Promise.resolve(),
    resume() {},
    inFlight: 0,
    oldestDueAt: () => null,
  },
  feed: new Feed({
    clock: systemClock,
    store: { endpoints: { tenantOf: async () => null }, keys: { get: async () => null } },
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
  version: "relay",
  peers: { of: () => null, trouble: null },
  phase: () => "serving",
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
});
process.once("disconnect", () => process.exit());
process.send!({ port: Number(new URL(listener.url).port), key: token });
