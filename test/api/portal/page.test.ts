import { brotliDecompressSync, gunzipSync } from "node:zlib";
import { get } from "node:http";
import { beforeEach, describe, expect, it } from "vitest";
import { portalFiles } from "../../../src/portal/files.ts";
import { FakeStore } from "../fake-store.ts";
import { aConfig, ApiServer } from "../server.ts";

const files = await portalFiles();
const [script] = files.filter(({ path }) => path.endsWith(".js"));
const portal = { ...aConfig().portal, listening: "http://localhost" };
const api = await ApiServer.start(new FakeStore().asStore(), { portal: () => portal });

/** Returns the response's bytes, undecoded. */
function fetched(path: string, headers: Record<string, string> = {}): Promise<{ headers: any; bytes: Buffer }> {
  return new Promise((resolve, reject) => {
    get({ port: api.port, path, headers, agent: false }, (res) => {
      const chunks: Buffer[] = [];
      res.on("data", (chunk) => chunks.push(chunk));
      res.on("end", () => resolve({ headers: res.headers, bytes: Buffer.concat(chunks) }));
    }).on("error", reject);
  });
}

describe("the portal's page", () => {
  // Answers of open routes are paced by their size, and this clock stands still.
  beforeEach(() => api.clock.advance("1m"));

  it("opens without a key, and may run and load nothing but its own", async () => {
    const { status, headers, text } = await api.get("/portal", { key: null });
    expect({ status, headers }).toMatchObject({
      status: 200,
      headers: {
        "content-type": "text/html; charset=utf-8",
        "content-security-policy":
          "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; font-src 'self'; " +
          "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
        "referrer-policy": "no-referrer",
        "x-content-type-options": "nosniff",
        "cache-control": "no-cache",
      },
    });
    expect(headers).not.toHaveProperty("set-cookie");
    expect(text).not.toMatch(/<style|\bstyle=|\bon\w+=|<script(?![^>]*\bsrc=)|https?:\/\//i);
  });

  it("has its files under names that say what they hold, to be kept for ever", async () => {
    expect(files.length).toBeGreaterThan(1);
    for (const { path, type, body } of files.filter(({ path }) => path !== "/portal")) {
      const { status, headers } = await api.get(path, { key: null });
      expect({ status, headers }, path).toMatchObject({
        status: 200,
        headers: {
          "content-type": type,
          "content-length": String(body.length),
          "cache-control": "public, max-age=31536000, immutable",
          "x-content-type-options": "nosniff",
          vary: "Accept-Encoding",
        },
      });
    }
  });

  it("leads to itself from the path with a slash, below which its parts would not be found", async () => {
    for (const path of ["/portal/", "/portal/?a=1"]) {
      const { status, headers } = await api.get(path, { key: null });
      expect({ status, location: headers.location }, path).toEqual({ status: 308, location: "../portal" });
    }
  });

  it("is sent as small as the browser can take it", async () => {
    const { path, body } = script!;
    const br = await fetched(path, { "accept-encoding": "gzip, deflate, br" });
    expect(br.headers["content-encoding"]).toBe("br");
    expect(brotliDecompressSync(br.bytes).equals(body)).toBe(true);
    const gzip = await fetched(path, { "accept-encoding": "gzip;q=0.5, br;q=0" });
    expect(gzip.headers["content-encoding"]).toBe("gzip");
    expect(gunzipSync(gzip.bytes).equals(body)).toBe(true);
    const plain = await fetched(path);
    expect(plain.headers).not.toHaveProperty("content-encoding");
    expect(plain.bytes.equals(body)).toBe(true);
  });

  it("answers a HEAD without a body, and nothing for what is none of its files", async () => {
    const head = await api.request("HEAD", script!.path, { key: null });
    expect([head.status, head.text, head.headers["content-length"]]).toEqual([200, "", String(script!.body.length)]);
    for (const path of ["/portal/nothing.js", "/portal/..%2f..%2fpackage.json", "/portal/a/b.js"]) {
      expect([401, 404], path).toContain((await api.get(path, { key: null })).status);
    }
    expect((await api.request("POST", "/portal", { key: null })).status).toBe(405);
  });

  it("may be framed, and show a logo, as the configuration says by now", async () => {
    const policy = async () => (await api.get("/portal", { key: null })).headers["content-security-policy"];
    const before = { ...portal };
    Object.assign(portal, {
      logoUrl: "https://cdn.example.com/logo.svg?v=1",
      frameAncestors: ["https://app.example.com", "https://*.example.org"],
      accent: "#123456",
      headerColor: "#654321",
      fontUrl: "https://fonts.example.com/inter.woff2",
      font: "Inter",
      radius: 2,
      name: "Northwind",
      footer: "Northwind Ltd",
      termsUrl: "https://example.com/terms",
      helpUrl: "https://example.com/help",
    });
    expect(await policy()).toContain("font-src 'self' https://fonts.example.com; ");
    expect(await policy()).toContain("img-src 'self' https://cdn.example.com; ");
    expect(await policy()).toContain("frame-ancestors https://app.example.com https://*.example.org");
    expect((await api.get("/v1/portal")).body).toMatchObject({
      tenant: "*",
      can: ["read", "replay", "manage", "secrets"],
      endpoints: null,
      expires_at: null,
      name: "Northwind",
      logo_url: "https://cdn.example.com/logo.svg?v=1",
      colors: { accent: "#123456", header: "#654321" },
      radius: 2,
      font: "Inter",
      font_url: "https://fonts.example.com/inter.woff2",
      footer: "Northwind Ltd",
      terms_url: "https://example.com/terms",
      help_url: "https://example.com/help",
    });
    Object.assign(portal, before);
    expect(await policy()).toContain("frame-ancestors 'none'");
  });

  it("may call the daemon that served it, and no other page may", async () => {
    const from = async (origin: string, headers = {}) =>
      (await api.request("POST", "/v1/keys", { headers: { origin, ...headers } })).body.code;
    const refused = "browser_origin";
    expect(await from(`http://127.0.0.1:${api.port}`)).not.toBe(refused);
    expect(await from(`http://localhost:${api.port}`, { host: `localhost:${api.port}` })).not.toBe(refused);
    expect(await from(`https://127.0.0.1:${api.port}`)).toBe(refused);
    expect(await from("http://127.0.0.1:1")).toBe(refused);
    expect(await from(`http://localhost:${api.port}`)).toBe(refused);
    expect(await from("null")).toBe(refused);
    expect(await from("https://evil.example", { host: "evil.example" })).toBe("misdirected");
    Object.assign(portal, { url: "https://hooks.example.com/hooks" });
    expect(await from("https://hooks.example.com")).not.toBe(refused);
    Object.assign(portal, { url: "" });
    expect(await from("https://hooks.example.com")).toBe(refused);
  });
});
