import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { setImmediate as turn } from "node:timers/promises";
import { describe, expect, it, onTestFinished } from "vitest";
import { OF_OPEN_ROUTES, OF_REFUSALS } from "../../../src/api/pipeline/limits.ts";
import { FakeStore } from "../fake-store.ts";
import { aConfig, ApiServer } from "../server.ts";
import { aStore } from "../sqlite.ts";

const HOST = "host: localhost\r\n";
const REFUSED = `GET /v1/webhooks HTTP/1.1\r\n${HOST}\r\n`;
const EVENT = JSON.stringify({ type: "budget.exceeded", data: {} });
const plain = (authorization: string) =>
  `POST /v1/webhooks/events HTTP/1.1\r\n${HOST}${authorization}content-type: application/json\r\n` +
  `content-length: ${EVENT.length}\r\n\r\n${EVENT}`;

interface Client {
  readonly socket: Socket;
  readonly statuses: string[];
}

/** Connects from a separate address, 127.0.x.y. */
async function open({ port }: ApiServer, address = 1): Promise<Client> {
  const localAddress = `127.0.${1 + Math.floor(address / 250)}.${1 + (address % 250)}`;
  const socket = connect({ port, host: "127.0.0.1", localAddress, noDelay: true });
  onTestFinished(() => void socket.destroy());
  const statuses: string[] = [];
  socket.setEncoding("latin1").on("error", () => {});
  // A status line begins a chunk, or follows a body that ends with a brace.
  socket.on("data", (text: string) => statuses.push(...[...text.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, s]) => s!)));
  await once(socket, "connect");
  return { socket, statuses };
}

/** Waits until nothing more happens at this instant. Real sockets need some turns of the event loop. */
async function settle(clients: readonly Client[]): Promise<void> {
  let before = -1;
  for (let quiet = 0; quiet < 40;) {
    await turn();
    const now = clients.reduce((sum, { statuses, socket }) => sum + statuses.length + Number(socket.closed), 0);
    quiet = now === before ? quiet + 1 : 0;
    before = now;
  }
}

/** Lets time pass, in steps in which all due responses are sent. */
async function pass(api: ApiServer, ms: number, clients: readonly Client[]): Promise<void> {
  for (let passed = 0; passed < ms; passed += 20) {
    api.clock.advance(20);
    await settle(clients);
  }
}

const count = (clients: readonly Client[]) => clients.reduce((sum, { statuses }) => sum + statuses.length, 0);

/** Uses up the refusals that an address gets at once, so that its next requests are paced. */
async function inDebt(client: Client): Promise<void> {
  for (; client.statuses.length < OF_REFUSALS.atOnce;) {
    const before = client.statuses.length;
    client.socket.write(REFUSED);
    await expect.poll(() => client.statuses.length, { interval: 1 }).toBeGreaterThan(before);
  }
  client.statuses.length = 0;
}

describe("refused requests that are sent ahead on one connection", () => {
  it("are answered at the pace of one after the other", async () => {
    const api = await ApiServer.start(new FakeStore().asStore());
    const client = await open(api);
    await inDebt(client);
    client.socket.write(REFUSED.repeat(20));
    await settle([client]);
    expect(client.statuses).toEqual([]);
    await pass(api, 400, [client]);
    expect(client.statuses.length).toBeGreaterThan(6);
    expect(client.statuses.length).toBeLessThanOrEqual(10);
    await pass(api, 600, [client]);
    expect(client.statuses).toEqual(Array.from({ length: 20 }, () => "401"));
  });

  it("keep their order among others, which are begun once those before them are answered", async () => {
    const api = await ApiServer.start(await aStore());
    const client = await open(api);
    await inDebt(client);
    const key = `authorization: Bearer ${await api.addKey(["publish", "read"])}\r\n`;
    const read = `GET /v1/webhooks/events HTTP/1.1\r\n${HOST}${key}\r\n`;
    // It is written separately, so that it was refused before the others arrived.
    client.socket.write(REFUSED);
    await settle([client]);
    const { written } = spyOn(api);
    client.socket.write(read + REFUSED + plain(key) + `GET /healthz HTTP/1.1\r\n${HOST}\r\n`);
    await settle([client]);
    expect({ statuses: client.statuses, written: written() }).toEqual({ statuses: [], written: 0 });
    await pass(api, 200, [client]);
    // The event is on the disk first, which takes real time.
    await expect.poll(() => client.statuses).toEqual(["401", "200", "401", "202", "200"]);
    expect(written()).toBe(1);
  });

  it("are not read further than they are answered, and memory holds few of them", async () => {
    const api = await ApiServer.start(new FakeStore().asStore());
    const client = await open(api);
    await inDebt(client);
    const accepted = await serverSideOf(api, client);
    // These bytes are far more than the system's buffers for a connection.
    const most = 32 * 1024 * 1024;
    const bytes = Buffer.from(REFUSED.repeat(Math.floor((64 * 1024) / REFUSED.length)));
    client.socket.write(bytes.subarray(0, REFUSED.length));
    await settle([client]);
    for (let sent = 0; sent < most; sent += bytes.length) client.socket.write(bytes);
    await pass(api, 1000, [client]);
    expect(accepted.bytesRead).toBeLessThan(8 * 64 * 1024);
    expect(client.socket.writableLength).toBeGreaterThan(most / 2);
  });

  it.each([
    ["Node's", REFUSED],
    ["plain", plain("")],
  ])(
    "from 300 addresses are answered as slowly as those of one (%s)",
    async (_name, request) => {
      const api = await ApiServer.start(new FakeStore().asStore());
      const clients = await Promise.all(Array.from({ length: 300 }, (_, at) => open(api, at)));
      for (const { socket } of clients) socket.write(request.repeat(20));
      await settle(clients);
      // One second's responses are saved up.
      expect(count(clients)).toBeLessThanOrEqual(OF_REFUSALS.together);
      const seconds: number[] = [];
      for (let second = 0; second < 3; second++) {
        const before = count(clients);
        await pass(api, 1000, clients);
        seconds.push(count(clients) - before);
      }
      for (const each of seconds) expect(each).toBeLessThanOrEqual(OF_REFUSALS.together + 20);
      // No client is left out.
      expect(Math.min(...clients.map(({ statuses }) => statuses.length))).toBeGreaterThanOrEqual(3);
      expect(new Set(clients.flatMap(({ statuses }) => statuses))).toEqual(new Set(["401"]));
    },
    60_000,
  );
});

it.each([true, false])(
  "begins what is sent ahead behind a good key, 64 at once (plain requests: %s)",
  async (isPlain) => {
    const fake = new FakeStore();
    const commit = Promise.withResolvers<void>();
    fake.publishing = () => commit.promise;
    const api = await ApiServer.start(fake.asStore(), { plain: isPlain });
    const { written } = spyOn(api);
    const client = await open(api);
    client.socket.write(plain(`authorization: Bearer ${await api.addKey(["publish"])}\r\n`).repeat(70));
    await expect.poll(written).toBe(64);
    await settle([client]);
    expect(written()).toBe(64);
    commit.resolve();
    await expect.poll(() => client.statuses).toEqual(Array.from({ length: 70 }, () => "202"));
  },
);

it("looks at what is sent ahead without a key one by one, also before the pace is reached", async () => {
  const store = await aStore();
  const api = await ApiServer.start(store);
  const looked: (() => void)[] = [];
  const get = store.keys.get.bind(store.keys);
  Object.assign(store.keys, {
    get: async (id: string) => {
      await new Promise<void>((resolve) => looked.push(resolve));
      return get(id);
    },
  });
  const client = await open(api);
  const token = `whk_${"0".repeat(26)}_${"0".repeat(52)}`;
  client.socket.write(`GET /v1/webhooks HTTP/1.1\r\n${HOST}authorization: Bearer ${token}\r\n\r\n`.repeat(20));
  for (let count = 1; count <= 20; count++) {
    await expect.poll(() => looked.length).toBe(count);
    await settle([client]);
    expect(looked).toHaveLength(count);
    looked.at(-1)!();
  }
  await expect.poll(() => client.statuses).toEqual(Array.from({ length: 20 }, () => "401"));
});

it("makes no one wait who has a good key", async () => {
  const api = await ApiServer.start(await aStore());
  const client = await open(api);
  await inDebt(client);
  const flood = await Promise.all(Array.from({ length: 50 }, () => open(api)));
  for (const { socket } of flood) socket.write(REFUSED.repeat(20));
  await settle(flood);
  const good = await open(api);
  good.socket.write(plain(`authorization: Bearer ${await api.addKey(["publish"])}\r\n`));
  await expect.poll(() => good.statuses).toEqual(["202"]);
});

it("distinguishes addresses as the trusted proxy reports them, and IPv6 by network", async () => {
  const api = await ApiServer.start(new FakeStore().asStore(), {
    config: aConfig({ SERVER_TRUSTED_PROXIES: "127.0.0.0/8" }),
  });
  const client = await open(api);
  const from = (address: string) => `GET /v1/webhooks HTTP/1.1\r\n${HOST}x-forwarded-for: ${address}\r\n\r\n`;
  for (let at = 0; at < OF_REFUSALS.atOnce; at++) {
    client.socket.write(from(`2001:db8:0:1::${at.toString(16)}`));
    await expect.poll(() => client.statuses.length, { interval: 1 }).toBe(at + 1);
  }
  const [same, other] = [await open(api), await open(api)];
  same.socket.write(from("2001:db8:0:1:ffff::1"));
  other.socket.write(from("2001:db8:0:2::1"));
  await expect.poll(() => other.statuses).toEqual(["401"]);
  expect(same.statuses).toEqual([]);
  await pass(api, 100, [same]);
  expect(same.statuses).toEqual(["401"]);
});

it("answers malformed requests at the pace of refusals", async () => {
  const api = await ApiServer.start(new FakeStore().asStore());
  const known = await open(api);
  await inDebt(known);
  const client = await open(api);
  client.socket.write(`GET / HTTP/1.1\r\n${HOST}x y: z\r\n\r\n`);
  await settle([client]);
  expect(client.statuses).toEqual([]);
  await pass(api, 200, [client]);
  expect(client.statuses).toEqual(["400"]);
});

it("keeps nobody waiting once it stops", async () => {
  const api = await ApiServer.start(new FakeStore().asStore());
  const client = await open(api);
  await inDebt(client);
  api.phase = "draining";
  client.socket.write(REFUSED.repeat(20));
  await expect.poll(() => client.statuses.length).toBe(20);
});

describe("what is open to anyone", () => {
  const start = () =>
    ApiServer.start(new FakeStore().asStore(), { config: aConfig({ METRICS_PUBLIC: "true", SERVER_DOCS: "open" }) });
  const OPEN = [
    "/docs",
    "/healthz",
    "/metrics",
    "/openapi.json",
    "/portal",
    "/portal/:file",
    "/readyz",
    "/v1/webhooks/keys/jwks.json",
  ];
  const ELSE = ["/portal/", "/nowhere", "/v1/webhooks"];

  it("is known here", async () => {
    const { routes } = await start();
    expect(routes.flatMap(({ access, path }) => (access === "open" ? [path] : [])).toSorted()).toEqual(OPEN);
  });

  it.each([...OPEN, ...ELSE])("is answered at a pace, and with few bytes a second: %s", async (path) => {
    const api = await start();
    const request = `GET ${path.replace(":file", "page.js")} HTTP/1.1\r\n${HOST}\r\n`;
    // The first request creates what later ones reuse.
    const first = await open(api, 2);
    first.socket.write(request);
    await expect.poll(() => first.statuses.length).toBe(1);
    const clients = await Promise.all(Array.from({ length: 40 }, () => open(api)));
    let bytes = 0;
    for (const { socket } of clients) socket.on("data", (text: string) => (bytes += text.length));
    for (const { socket } of clients) socket.write(request.repeat(20));
    await settle(clients);
    const [answers, sent] = [count(clients), bytes];
    expect(answers).toBeLessThanOrEqual(OF_OPEN_ROUTES.atOnce);
    // One long response may exceed the bytes that are saved up.
    expect(sent).toBeLessThanOrEqual(OF_OPEN_ROUTES.atOnce * 16 * 1024 + 512 * 1024);
    await pass(api, 1000, clients);
    // The pace of one address makes no client wait longer than half a second.
    expect(count(clients) - answers).toBeLessThanOrEqual(OF_OPEN_ROUTES.perSecond + 2 * 40);
    // A second of all clients' bytes is saved up as well.
    expect(bytes - sent).toBeLessThanOrEqual(2 * OF_OPEN_ROUTES.together * 16 * 1024);
  });
});

/** Counts the events that are written from now on. */
function spyOn({ store }: ApiServer): { written: () => number } {
  let written = 0;
  const publish = store.events.publish.bind(store.events);
  Object.assign(store.events, {
    publish: (...asked: Parameters<typeof publish>) => {
      written++;
      return publish(...asked);
    },
  });
  return { written: () => written };
}

/** Returns the server's socket of a connection that is already open. */
async function serverSideOf({ server }: ApiServer, { socket }: Client): Promise<Socket> {
  const taken = new Promise<Socket>((resolve) => {
    const onRequest = ({ socket: own }: { socket: Socket }) => {
      if (own.remotePort !== socket.localPort) return;
      server.off("request", onRequest);
      resolve(own);
    };
    server.on("request", onRequest);
  });
  socket.write(`GET /healthz HTTP/1.1\r\n${HOST}\r\n`);
  return taken;
}
