import type { IncomingMessage } from "node:http";
import { describe, expect, it } from "vitest";
import { Proxies } from "../../../src/api/pipeline/origin.ts";
import { FakeStore } from "../fake-store.ts";
import { aConfig, ApiServer } from "../server.ts";
import { partly } from "../../harness/partly.ts";

const NETWORKS = ["10.0.0.0/8", "fd00::/8"];

function request(remoteAddress: string | undefined, headers: Record<string, string>): IncomingMessage {
  return partly<IncomingMessage>({ socket: { remoteAddress }, headers });
}

function clientOf(remoteAddress: string | undefined, forwardedFor: string, networks = NETWORKS): string {
  return new Proxies(networks).clientOf(request(remoteAddress, { "x-forwarded-for": forwardedFor }));
}

describe("the client of a request is", () => {
  it.each([
    ["the peer, whatever it says, when no proxy is trusted", "10.0.0.1", "192.0.2.1", [], "10.0.0.1"],
    ["the peer, whatever it says, when it is not a trusted one", "192.0.2.9", "192.0.2.1", NETWORKS, "192.0.2.9"],
    ["whom a trusted proxy names", "10.0.0.1", "192.0.2.1", NETWORKS, "192.0.2.1"],
    [
      "whom the nearest trusted proxy names, not what it was told",
      "10.0.0.1",
      "1.1.1.1, 192.0.2.1",
      NETWORKS,
      "192.0.2.1",
    ],
    ["behind all trusted proxies", "10.0.0.1", "1.1.1.1, 192.0.2.1 ,10.9.9.9,10.0.0.2", NETWORKS, "192.0.2.1"],
    ["the farthest one, when all are trusted", "10.0.0.1", "10.0.0.3,10.0.0.2", NETWORKS, "10.0.0.3"],
    ["the last hop that named an address", "10.0.0.1", "192.0.2.1, unknown, 10.0.0.2", NETWORKS, "10.0.0.2"],
    ["the proxy itself, when it names nobody", "10.0.0.1", "", NETWORKS, "10.0.0.1"],
    ["known by IPv6 as well", "fd00::1", "2001:db8::7", NETWORKS, "2001:db8::7"],
    ["known when the socket spells IPv4 as IPv6", "::ffff:10.0.0.1", "192.0.2.1", NETWORKS, "192.0.2.1"],
    ["read without its port", "10.0.0.1", "[2001:db8::7]:4711", NETWORKS, "2001:db8::7"],
    ["read without its port, in IPv4", "10.0.0.1", "192.0.2.1:4711", NETWORKS, "192.0.2.1"],
  ])("%s", (_, peer, forwarded, networks, client) => {
    expect(clientOf(peer, forwarded, networks)).toBe(client);
  });

  it("nobody on the unix socket", () => {
    expect(clientOf(undefined, "192.0.2.1")).toBe("");
  });
});

describe("behind a trusted proxy", () => {
  const serve = (proxies: string) =>
    ApiServer.start(new FakeStore().asStore(), {
      config: aConfig({ SERVER_TRUSTED_PROXIES: proxies, SERVER_ALLOWED_HOSTS: "hooks.example,edge.example" }),
    });
  const from = (client: string) => ({ key: "x", headers: { "x-forwarded-for": client } });

  it("failed authentications are counted per client, and anybody else's word for who they are is not", async () => {
    const api = await serve("127.0.0.0/8");
    for (let index = 0; index < 30; index++) await api.get("/nope", from("192.0.2.1"));
    expect((await api.get("/nope", from("192.0.2.1"))).status).toBe(429);
    expect((await api.get("/nope", from("192.0.2.2"))).status).toBe(401);
    expect(api.logged).toMatchObject([{ level: "warn", fields: { client: "192.0.2.1" } }]);

    const distrustful = await serve("10.0.0.0/8");
    for (let index = 0; index < 30; index++) await distrustful.get("/nope", from(`192.0.2.${index}`));
    expect((await distrustful.get("/nope", from("192.0.2.99"))).status).toBe(429);
    expect(distrustful.logged).toMatchObject([{ fields: { client: "127.0.0.1" } }]);
  });

  const HOSTS: [string, string, string, number][] = [
    ["is served under the name that it was called by", "upstream", "hooks.example", 200],
    ["is refused under a name that is not ours, whatever Host says", "localhost", "evil.example", 421],
    ["must have been called by our names all along", "localhost", "evil.example, hooks.example", 421],
    ["may have been called by several of them", "localhost", "edge.example, hooks.example:443", 200],
    ["says nothing with an empty header", "upstream", ",", 421],
  ];

  it.each(HOSTS)("a request %s", async (_, host, forwarded, status) => {
    const api = await serve("127.0.0.0/8");
    const headers = { host, "x-forwarded-host": forwarded };
    expect((await api.get("/healthz", { headers })).status).toBe(status);
  });

  it("only: from others the header says nothing", async () => {
    const api = await serve("10.0.0.0/8");
    const ask = async (host: string, forwarded: string) =>
      (await api.get("/healthz", { headers: { host, "x-forwarded-host": forwarded } })).status;
    expect(await ask("evil.example", "hooks.example")).toBe(421);
    expect(await ask("localhost", "evil.example")).toBe(200);
  });
});

describe("an address of every interface", () => {
  const serve = (listen: string) =>
    ApiServer.start(new FakeStore().asStore(), {
      config: aConfig({
        SERVER_LISTEN: listen,
        SERVER_BEHIND_PROXY: "true",
        SERVER_ALLOWED_HOSTS: "hooks.example",
        SERVER_TRUSTED_PROXIES: "127.0.0.0/8",
      }),
    });

  // Probes of Kubernetes, Prometheus and load balancers send the address of the pod.
  it.each([
    ["10.42.0.17:8420", 200],
    ["10.42.0.17", 200],
    ["[fd00::17]:8420", 200],
    ["hooks.example", 200],
    ["evil.example", 421],
    ["10.42.0.17.evil.example", 421],
    ["[fd00::17.evil.example]", 400],
  ])("with allowed_hosts answers to %s with %i", async (host, status) => {
    const api = await serve("0.0.0.0:8420");
    expect((await api.get("/healthz", { headers: { host } })).status).toBe(status);
  });

  it("believes no proxy that names an address", async () => {
    const api = await serve("0.0.0.0:8420");
    const headers = { host: "hooks.example", "x-forwarded-host": "10.42.0.17" };
    expect((await api.get("/healthz", { headers })).status).toBe(421);
  });

  it("answers to more than one of loopback, which knows its own", async () => {
    const api = await serve("127.0.0.1:8420");
    expect((await api.get("/healthz", { headers: { host: "10.42.0.17:8420" } })).status).toBe(421);
  });
});
