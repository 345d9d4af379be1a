import { readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { EXIT } from "../../cli/exit-code.ts";
import { fakeDaemon, problem } from "./fake-daemon.ts";
import { FakeIo } from "./fake-io.ts";
import { webhookd } from "./runs.ts";

const KEY = {
  id: "key_01m7w8bx02jeyjr53r14y5rmma",
  name: "billing",
  scopes: ["publish", "read"],
  tenant: "default",
  created_at: "2023-11-14T22:13:20.000Z",
  expires_at: null as string | null,
  last_used_at: null,
  revoked_at: null as string | null,
};
const TOKEN = "whk_secret";

const created = () => fakeDaemon(() => ({ status: 201, body: { ...KEY, key: TOKEN } }));

describe("webhookd keys create", () => {
  it("prints the token alone on stdout", async () => {
    const [io, daemon] = [new FakeIo(), await created()];
    const words = ["--name", "billing", "--scope", "publish, read", "--socket", daemon.socket];
    expect(await webhookd(io, "keys", "create", ...words)).toBe(EXIT.ok);
    expect(io.out).toBe(`${TOKEN}\n`);
    expect(io.err).toContain("shown only once");
    expect(io.err).not.toContain(TOKEN);
    expect(daemon.seen).toMatchObject([
      { method: "POST", path: "/v1/keys", body: { name: "billing", scopes: ["publish", "read"], tenant: "default" } },
    ]);
    expect(daemon.seen[0]!.body).not.toHaveProperty("expires_at");
  });

  it("counts --expires from now, and answers --json with the whole key", async () => {
    const [io, daemon] = [new FakeIo(), await created()];
    const words = ["--name=n", "--scope=read", "--tenant=*", "--expires=30d", "--json", `--socket=${daemon.socket}`];
    expect(await webhookd(io, "keys", "create", ...words)).toBe(EXIT.ok);
    expect(JSON.parse(io.out)).toEqual({ ...KEY, key: TOKEN });
    expect(daemon.seen[0]!.body).toMatchObject({ tenant: "*", expires_at: "2023-12-14T22:13:20.000Z" });
  });

  it("--out holds the token for its owner alone, and it is printed nowhere", async () => {
    for (const more of [[], ["--json"]]) {
      const [io, daemon] = [new FakeIo(), await created()];
      const file = join(daemon.dir, "new.key");
      const words = ["--name=n", "--scope=read", "--out", file, "--socket", daemon.socket, ...more];
      expect(await webhookd(io, "keys", "create", ...words)).toBe(EXIT.ok);
      expect([readFileSync(file, "utf8"), statSync(file).mode & 0o777]).toEqual([`${TOKEN}\n`, 0o600]);
      expect(io.out + io.err).not.toContain(TOKEN);
      expect(io.out).toContain(file);
      expect(await webhookd(new FakeIo(), "keys", "create", ...words)).toBe(EXIT.usage);
      expect(daemon.seen).toHaveLength(1);
    }
  });

  it.each([
    ["--scope", "reed", "Did you mean read?"],
    ["--scope", "read,", 'there is no scope ""'],
    ["--expires", "tomorrow", 'must be a duration such as 30d or 2h, not "tomorrow"'],
    ["--expires", "0s", "must be a duration"],
    ["--expires", "99999999d", "must be a duration"],
  ])("refuses %s %s", async (flag, value, message) => {
    const [io, daemon] = [new FakeIo(), await created()];
    const scope = flag === "--scope" ? [] : ["--scope", "read"];
    const words = ["--name", "n", ...scope, flag, value, "--socket", daemon.socket];
    expect(await webhookd(io, "keys", "create", ...words)).toBe(EXIT.usage);
    expect(io.err).toContain(message);
    expect(daemon.seen).toEqual([]);
  });
});

describe("webhookd keys list", () => {
  it("shows every key and its state, outside text made harmless", async () => {
    const io = new FakeIo();
    const daemon = await fakeDaemon(() => ({
      status: 200,
      body: {
        data: [
          { ...KEY, name: "a\x1b[2Jb\nc" },
          { ...KEY, expires_at: "2099-01-01T00:00:00.000Z" },
          { ...KEY, expires_at: "2020-01-01T00:00:00.000Z" },
          { ...KEY, revoked_at: "2021-01-01T00:00:00.000Z" },
        ],
      },
    }));
    expect(await webhookd(io, "keys", "list", "--socket", daemon.socket)).toBe(EXIT.ok);
    const lines = io.out.trimEnd().split("\n");
    expect(lines).toHaveLength(5);
    expect(lines[1]).toContain("a<U+001B>[2Jb<U+000A>c");
    expect(lines.map((line) => line.slice(lines[0]!.indexOf("STATE")))).toEqual([
      "STATE",
      "valid",
      "until 2099-01-01T00:00:00.000Z",
      "expired 2020-01-01T00:00:00.000Z",
      "revoked 2021-01-01T00:00:00.000Z",
    ]);
  });

  it("shows every page", async () => {
    const io = new FakeIo();
    const daemon = await fakeDaemon(({ path }) => ({
      status: 200,
      body: path.endsWith("cursor=next%3D")
        ? { data: [{ ...KEY, name: "second" }], next_cursor: null }
        : { data: [{ ...KEY, name: "first" }], next_cursor: "next=" },
    }));
    expect(await webhookd(io, "keys", "list", "--socket", daemon.socket)).toBe(EXIT.ok);
    expect(io.out).toMatch(/first[^]*second/);
    expect(daemon.seen).toHaveLength(2);
  });

  it("answers --json in ASCII", async () => {
    const io = new FakeIo();
    const daemon = await fakeDaemon(() => ({ status: 200, body: { data: [{ ...KEY, name: "é\u202e" }] } }));
    expect(await webhookd(io, "keys", "list", "--json", "--socket", daemon.socket)).toBe(EXIT.ok);
    expect(io.out).toContain("\\u00e9\\u202e");
    expect(JSON.parse(io.out)).toEqual({ data: [{ ...KEY, name: "é\u202e" }], next_cursor: null });
  });
});

describe("webhookd keys revoke", () => {
  it("ends the key", async () => {
    const [io, daemon] = [new FakeIo(), await fakeDaemon(() => ({ status: 204 }))];
    expect(await webhookd(io, "keys", "revoke", KEY.id, "--socket", daemon.socket)).toBe(EXIT.ok);
    expect(daemon.seen).toMatchObject([{ method: "DELETE", path: `/v1/keys/${KEY.id}` }]);
    expect(io.out).toContain(`${KEY.id} is revoked`);
  });

  it("passes on what the daemon has to say about it", async () => {
    const note = "no admin key for every tenant is left";
    const [io, daemon] = [new FakeIo(), await fakeDaemon(() => ({ status: 200, body: { id: KEY.id, note } }))];
    expect(await webhookd(io, "keys", "revoke", KEY.id, "--json", "--socket", daemon.socket)).toBe(EXIT.ok);
    expect(io.err).toContain(note);
    expect(JSON.parse(io.out)).toEqual({ id: KEY.id, revoked: true });
  });

  it("says when there is no such key", async () => {
    const [io, daemon] = [new FakeIo(), await fakeDaemon(() => problem(404, "not_found", "there is nothing here"))];
    expect(await webhookd(io, "keys", "revoke", "key_1/../x", "--socket", daemon.socket)).toBe(EXIT.not_found);
    expect(daemon.seen[0]!.path).toBe("/v1/keys/key_1%2F..%2Fx");
  });

  it("does not repeat a token that was typed in place of an id", async () => {
    const io = new FakeIo();
    expect(await webhookd(io, "keys", "revoke", TOKEN)).toBe(EXIT.usage);
    expect(io.err).not.toContain(TOKEN);
  });
});

it("over TCP the key of the key file is sent, and named when it is refused", async () => {
  const daemon = await fakeDaemon(({ headers }) =>
    headers.authorization === "Bearer whk_good"
      ? { status: 200, body: { data: [] } }
      : problem(401, "unauthorized", "no such key"),
  );
  const [good, bad] = ["good", "bad"].map((name) => join(daemon.dir, name));
  writeFileSync(good!, "whk_good\n");
  writeFileSync(bad!, "whk_bad\n");
  const io = new FakeIo();
  expect(await webhookd(new FakeIo(), "keys", "list", "--url", daemon.url, "--key-file", good!)).toBe(EXIT.ok);
  expect(await webhookd(io, "keys", "list", "--url", `${daemon.url}/base/`, "--key-file", bad!)).toBe(EXIT.not_allowed);
  expect(daemon.seen[1]!.path).toMatch(/^\/base\/v1\/keys\?/);
  expect(io.err).toBe(`webhookd: no such key\n  The key in ${bad} was used.\n`);
});

describe("webhookd portal link", () => {
  const LINK = {
    url: `https://hooks.example.com/portal#${TOKEN}`,
    key_id: KEY.id,
    tenant: "acme",
    can: ["read", "replay"],
    endpoints: null,
    expires_at: "2023-11-14T22:28:20.000Z",
    return_url: null,
  };
  const made = () => fakeDaemon(() => ({ status: 201, body: LINK }));

  it("prints the link alone on stdout", async () => {
    const [io, daemon] = [new FakeIo(), await made()];
    const words = ["acme", "--can", "replay", "--expires", "15m", "--return-url", "https://app.example.com/"];
    const endpoints = ["--endpoint", "ep_1", "--endpoint", "ep_2"];
    expect(await webhookd(io, "portal", "link", ...words, ...endpoints, "--socket", daemon.socket)).toBe(EXIT.ok);
    expect(io.out).toBe(`${LINK.url}\n`);
    expect(io.err).toContain(`webhookd keys revoke ${KEY.id}`);
    expect(io.err).not.toContain(TOKEN);
    const body = {
      tenant: "acme",
      can: ["replay"],
      expires_in: 900,
      endpoints: ["ep_1", "ep_2"],
      return_url: "https://app.example.com/",
    };
    expect(daemon.seen).toMatchObject([{ method: "POST", path: "/v1/portal-links", body }]);
  });

  it("is for an hour and everything but publishing by default, and answers --json with all of it", async () => {
    const [io, daemon] = [new FakeIo(), await made()];
    expect(await webhookd(io, "portal", "link", "acme", "--json", "--socket", daemon.socket)).toBe(EXIT.ok);
    expect(JSON.parse(io.out)).toEqual(LINK);
    expect(daemon.seen[0]!.body).toEqual({ tenant: "acme", can: ["manage", "secrets"], expires_in: 3600 });
    expect(await webhookd(io, "portal", "link", "initech", "--new-tenant", "--socket", daemon.socket)).toBe(EXIT.ok);
    expect(daemon.seen[1]!.body).toMatchObject({ tenant: "initech", new_tenant: true });
  });

  it.each([
    ["--can", "publish", '--can does not take "publish"'],
    ["--can", "reply", "Did you mean replay?"],
    ["--expires", "2d", "from 1s to 24h"],
    ["--expires", "soon", "from 1s to 24h"],
  ])("refuses %s %s", async (flag, value, message) => {
    const [io, daemon] = [new FakeIo(), await made()];
    expect(await webhookd(io, "portal", "link", "acme", flag, value, "--socket", daemon.socket)).toBe(EXIT.usage);
    expect(io.err).toContain(message);
    expect(daemon.seen).toEqual([]);
  });
});
