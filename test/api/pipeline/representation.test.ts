import { request, type IncomingHttpHeaders } from "node:http";
import { brotliDecompressSync, gunzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { codingFor, Representation } from "../../../src/api/pipeline/representation.ts";
import { portalFiles } from "../../../src/portal/files.ts";
import { FakeStore } from "../fake-store.ts";
import { aConfig, ApiServer } from "../server.ts";

describe("the coding of an answer", () => {
  it.each([
    [undefined, "identity"],
    ["", "identity"],
    ["gzip, deflate, br", "br"],
    ["gzip, deflate, br, zstd", "br"],
    ["gzip", "gzip"],
    ["x-gzip", "gzip"],
    ["GZIP;Q=1", "gzip"],
    ["gzip;q=0.8, br;q=0.2", "gzip"],
    ["gzip;q=0.5, br;q=0", "gzip"],
    ["br;q=0.5, gzip;q=0.500", "br"],
    ["identity, gzip;q=0.5", "identity"],
    ["identity;q=0.5, gzip", "gzip"],
    ["*", "br"],
    ["*;q=0", "identity"],
    ["br;q=0, *;q=0.1", "gzip"],
    ["gzip;q=0, br;q=0, identity;q=0", "identity"],
    ["deflate, zstd", "identity"],
    [" gzip ; q=0.3 , br ; q=0.4 ", "br"],
    ["brotli, bro, gzipped", "identity"],
  ])("for %j is %s", (accepted, coding) => {
    expect(codingFor(accepted)).toBe(coding);
  });
});

interface Came {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly bytes: Buffer;
}

function ask(server: ApiServer, path: string, headers: Record<string, string> = {}, method = "GET"): Promise<Came> {
  const { port, clock } = server;
  // Long responses without a key are paced, and only the test moves the clock.
  clock.advance("10s");
  return new Promise((resolve, reject) => {
    const asked = request({ port, path, method, headers, agent: false }, (res) => {
      const chunks: Buffer[] = [];
      res.on("data", (chunk: Buffer) => chunks.push(chunk));
      res.on("end", () => resolve({ status: res.statusCode!, headers: res.headers, bytes: Buffer.concat(chunks) }));
    });
    asked.on("error", reject).end();
  });
}

const CODINGS = {
  br: brotliDecompressSync,
  gzip: gunzipSync,
  identity: (bytes: Buffer) => bytes,
};

const api = await ApiServer.start(new FakeStore().asStore());
const closed = await ApiServer.start(new FakeStore().asStore(), { config: aConfig({ SERVER_DOCS: "key" }) });
const authorization = `Bearer ${closed.adminKey}`;
const script = (await portalFiles()).find(({ path }) => path.endsWith(".js"))!.path;

describe.each([
  ["/docs", api, {}, "no-cache"],
  ["/openapi.json", api, {}, "no-cache"],
  ["/portal", api, {}, "no-cache"],
  [script, api, {}, "public, max-age=31536000, immutable"],
  ["/docs", closed, {}, "no-cache"],
  ["/docs/description", closed, { authorization }, "private, no-cache"],
  ["/openapi.json", closed, { authorization }, "private, no-cache"],
])("%s", (path, server, key, cache) => {
  it("is sent as small as the client takes it, and all codings say the same", async () => {
    const plain = await ask(server, path, key);
    expect(plain.headers).not.toHaveProperty("content-encoding");
    for (const [coding, decode] of Object.entries(CODINGS)) {
      const { status, headers, bytes } = await ask(server, path, { ...key, "accept-encoding": coding });
      expect({ status, headers }).toMatchObject({
        status: 200,
        headers: { "content-length": String(bytes.length), "cache-control": cache, vary: "Accept-Encoding" },
      });
      expect(headers["content-encoding"]).toBe(coding === "identity" ? undefined : coding);
      expect(decode(bytes).equals(plain.bytes), coding).toBe(true);
    }
  });

  it("is not sent again to a client that has it", async () => {
    const tags = new Set<string>();
    for (const coding of Object.keys(CODINGS)) {
      const asked = { ...key, "accept-encoding": coding };
      const { headers: first } = await ask(server, path, asked);
      const etag = first.etag!;
      expect(etag).toMatch(/^"[\w-]+"$/);
      tags.add(etag);
      for (const known of [etag, `W/${etag}`, `"other", ${etag}`, "*"]) {
        const { status, headers, bytes } = await ask(server, path, { ...asked, "if-none-match": known });
        const policy = first["content-security-policy"];
        expect({ status, etag: headers.etag, vary: headers.vary, cache: headers["cache-control"] }, known).toEqual({
          status: 304,
          etag,
          vary: "Accept-Encoding",
          cache,
        });
        expect(headers["content-security-policy"]).toBe(policy);
        expect(bytes).toHaveLength(0);
      }
      expect((await ask(server, path, { ...asked, "if-none-match": '"other"' })).status).toBe(200);
    }
    expect(tags.size).toBe(3);
  });

  it("says by HEAD what GET would", async () => {
    const asked = { ...key, "accept-encoding": "br" };
    const got = await ask(server, path, asked);
    const head = await ask(server, path, asked, "HEAD");
    const told = ({ date: _date, "x-request-id": _id, ...rest }: IncomingHttpHeaders) => rest;
    expect({ status: head.status, headers: told(head.headers) }).toEqual({ status: 200, headers: told(got.headers) });
    expect(head.bytes).toHaveLength(0);
    expect((await ask(server, path, { ...asked, "if-none-match": got.headers.etag! }, "HEAD")).status).toBe(304);
  });
});

it("is a fifth as long compressed", async () => {
  for (const path of ["/docs", "/openapi.json"]) {
    const sizes = await Promise.all(["br", "gzip", ""].map((each) => ask(api, path, { "accept-encoding": each })));
    const [br, gzip, identity] = sizes.map(({ bytes }) => bytes.length) as [number, number, number];
    expect(br).toBeLessThan(identity / 5);
    expect(gzip).toBeLessThan(identity / 4);
  }
});

it("has another tag when its text is another", async () => {
  const tagOf = async (text: string) => {
    const representation = await Representation.of("text/plain", text);
    return representation.reply({}, { cache: "no-cache", headers: [] }).headers!.find(([name]) => name === "etag")![1];
  };
  expect(await tagOf("a")).toBe(await tagOf("a"));
  expect(await tagOf("a")).not.toBe(await tagOf("b"));
});
