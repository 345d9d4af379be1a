/** A portal link counts against the limits of the key that created it. */
import { connect } from "node:net";
import { describe, expect, it, onTestFinished } from "vitest";
import { RateLimit } from "../../../src/api/pipeline/limits.ts";
import { accountOf } from "../../../src/domain/caller.ts";
import { aConfig, ApiServer } from "../server.ts";
import { aStore } from "../sqlite.ts";

const LINKS = "/v1/portal-links";
const LIST = "/v1/webhooks";

async function serve(rate: string) {
  const api = await ApiServer.start(await aStore(), { config: aConfig({ SERVER_RATE_LIMIT: rate }) });
  const link = async (key: string, tenant: string) => {
    const { status, body } = await api.post(LINKS, { tenant, new_tenant: true }, { key });
    expect(status).toBe(201);
    return body.url.split("#")[1] as string;
  };
  const served = async (keys: readonly string[], each = 20) => {
    const asked = Array.from({ length: each }, () => keys.map((key) => api.get(LIST, { key }))).flat();
    return (await Promise.all(asked)).filter(({ status }) => status === 200).length;
  };
  return { api, link, served };
}

describe("the rate of a key", () => {
  it("holds for all of its links together", async () => {
    const { api, link, served } = await serve("8");
    const key = await api.addKey(["read"], "a");
    const links: string[] = [];
    for (let count = 0; count < 8; count++) links.push(await link(key, "a"));
    expect(await served(links)).toBe(0);
    api.clock.advance("1s");
    expect(await served(links)).toBeLessThanOrEqual(8);
    api.clock.advance("1s");
    expect(await served([...links, key])).toBeLessThanOrEqual(8);
  });

  it("keeps a quarter for the key itself, and half for links of other tenants", async () => {
    const { api, link, served } = await serve("8");
    const key = await api.addKey(["read"], "*");
    const links = [await link(key, "a"), await link(key, "a"), await link(key, "b")];
    api.clock.advance("1s");
    expect(await served(links.slice(0, 2))).toBe(4);
    expect(await served(links.slice(2))).toBe(2);
    expect(await served([key])).toBe(2);
  });

  it("says in the answer to a link what is left of its part", async () => {
    const { api, link } = await serve("8");
    const made = await link(await api.addKey(["read"], "a"), "a");
    api.clock.advance("1s");
    const { headers } = await api.get(LIST, { key: made });
    expect([headers["ratelimit-policy"], headers.ratelimit]).toEqual(['"key";q=4;w=1', '"key";r=3;t=1']);
    for (let count = 0; count < 3; count++) await api.get(LIST, { key: made });
    const refused = await api.get(LIST, { key: made });
    expect(refused).toMatchObject({ status: 429, headers: { ratelimit: '"key";r=0;t=1', "retry-after": "1" } });
    expect(refused.body.detail).toBe(
      "the portal links of one tenant may make 4 requests a second, and count against the rate of the key that made them; see [server] rate_limit",
    );
  });

  it("is one request a second at least for a link", () => {
    const limit = new RateLimit(1);
    const link = { keyId: "key_l", tenant: "a", isPortal: true, madeBy: "key_m" };
    expect([0, 1, 999, 1000].map((now) => limit.take(accountOf(link)!, now).refusal === null)).toEqual([
      true,
      false,
      false,
      false,
    ]);
    expect(limit.take(accountOf(link)!, 2000).refusal).toBeNull();
  });
});

describe("streams", () => {
  function open(api: ApiServer, key: string): Promise<string> {
    const socket = connect(api.port, "127.0.0.1");
    onTestFinished(() => void socket.destroy());
    socket.write(`GET /v1/webhooks/stream HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer ${key}\r\n\r\n`);
    return new Promise((resolve) => socket.once("data", (chunk) => resolve(chunk.toString().slice(9, 12))));
  }

  it.each(["key", "operator"])("of links count for their tenant, and leave three to thirty others (%s)", async (by) => {
    const { api, link } = await serve("0");
    const maker = await api.addKey(["read"], "*");
    const key = async (tenant: string) =>
      by === "key"
        ? link(maker, tenant)
        : api.addKey(["read"], tenant, { portal: { endpoints: null, returnUrl: null, madeBy: null } });
    const greedy: string[] = [];
    for (let count = 0; count < 10; count++) greedy.push(await key("greedy"));
    const taken = await Promise.all(Array.from({ length: 200 }, (_, at) => open(api, greedy[at % 10]!)));
    expect(taken.filter((status) => status === "200")).toHaveLength(128);
    expect(taken.filter((status) => status === "429")).toHaveLength(72);
    const others: string[] = [];
    for (let at = 0; at < 30; at++) {
      const one = await key(`other-${at}`);
      for (let count = 0; count < 3; count++) others.push(await open(api, one));
    }
    expect(others).toEqual(Array.from({ length: 90 }, () => "200"));
  });
});
