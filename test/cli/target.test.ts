import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { once } from "node:events";
import { createServer, type AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createServer as createSecureServer } from "node:tls";
import { afterAll, describe, expect, it, onTestFinished } from "vitest";
import { EXIT } from "../../cli/exit-code.ts";
import { Failure, report } from "../../cli/failure.ts";
import { findTarget, type TargetArgs } from "../../cli/target.ts";
import { createClient } from "../../src/client/client.ts";
import { notReached } from "../../src/client/error.ts";
import { certificate } from "../harness/tls.ts";
import { ownPort } from "../harness/port.ts";
import { fakeDaemon } from "./fake-daemon.ts";
import { FakeIo } from "./fake-io.ts";
import { webhookd } from "./runs.ts";

const dir = mkdtempSync(join(tmpdir(), "webhookd-target-"));
afterAll(() => rmSync(dir, { recursive: true }));
const adminKey = join(dir, "admin.key");
const otherKey = join(dir, "other.key");
writeFileSync(adminKey, "whk_admin\n");
writeFileSync(otherKey, "whk_other\n");

const NONE: TargetArgs = { url: undefined, socket: undefined, "key-file": undefined, config: undefined };
const SYSTEM = "/run/webhookd/webhookd.sock";
const FILE = "/etc/webhookd/webhookd.toml";

interface Case {
  args?: Partial<TargetArgs>;
  env?: Record<string, string>;
  files?: Record<string, string>;
  /** Sockets and files that exist. */
  there?: string[];
  /** Paths that this user may not read. */
  hidden?: string[];
}

function find({ args = {}, env = {}, files = {}, there = [], hidden = [] }: Case): string {
  const machine = {
    readFile: (path: string) => files[path] ?? null,
    exists: (path: string) => there.includes(path),
    isHidden: (path: string) => hidden.includes(path),
  };
  const io = new FakeIo({ env: { WEBHOOKD_DATA_DIR: dir, ...env }, machine });
  const target = findTarget({ ...NONE, ...args }, io);
  return "socket" in target ? target.socket : `${target.url.href} ${target.key}`;
}

describe("the daemon is the one", () => {
  const own = join(dir, "webhookd.sock");
  const cases: [string, Case, string][] = [
    ["of --socket, there or not", { args: { socket: "/s" }, env: { WEBHOOKD_SOCKET: "/e" }, there: [SYSTEM] }, "/s"],
    [
      "of --url with --key-file",
      { args: { url: "http://h:1", "key-file": otherKey }, env: { WEBHOOKD_SOCKET: "/e" } },
      "http://h:1/ whk_other",
    ],
    ["of WEBHOOKD_SOCKET", { env: { WEBHOOKD_SOCKET: "/e" }, there: [SYSTEM] }, "/e"],
    [
      "of WEBHOOKD_URL with WEBHOOKD_KEY_FILE",
      { env: { WEBHOOKD_URL: "https://h/x", WEBHOOKD_KEY_FILE: otherKey } },
      "https://h/x whk_other",
    ],
    ["of --url with this host's own admin key", { args: { url: "http://[::1]:1" } }, "http://[::1]:1/ whk_admin"],
    [
      "of the configuration file",
      { files: { [FILE]: '[server]\nsocket = "/f.sock"\n' }, there: ["/f.sock", SYSTEM] },
      "/f.sock",
    ],
    [
      "of the system",
      { env: { WEBHOOKD_DATA_DIR: "" }, there: [SYSTEM, "/home/ana/.local/share/webhookd/webhookd.sock"] },
      SYSTEM,
    ],
    ["of the data directory that a variable names", { there: [SYSTEM, own] }, own],
    [
      "of the data directory",
      { env: { WEBHOOKD_DATA_DIR: "" }, there: ["/home/ana/.local/share/webhookd/webhookd.sock"] },
      "/home/ana/.local/share/webhookd/webhookd.sock",
    ],
    ["of another user, if no other is there", { hidden: [SYSTEM] }, SYSTEM],
    ["of this user, if another user's may be there", { hidden: [SYSTEM], there: [own] }, own],
    [
      "at the listen address, if no socket is there",
      { env: { WEBHOOKD_SERVER_LISTEN: "[::1]:9" }, there: [adminKey] },
      "http://[::1]:9/ whk_admin",
    ],
    [
      "at the listen address, if only a key is named",
      { args: { "key-file": otherKey }, there: [own] },
      "http://127.0.0.1:8420/ whk_other",
    ],
    [
      "over TLS, if the daemon has a certificate",
      { env: { WEBHOOKD_SERVER_TLS_CERT: "/c.pem", WEBHOOKD_SERVER_TLS_KEY: "/k.pem" }, there: [adminKey] },
      "https://127.0.0.1:8420/ whk_admin",
    ],
    [
      "on this host, if it listens everywhere",
      { env: { WEBHOOKD_SERVER_LISTEN: "0.0.0.0:9", WEBHOOKD_SERVER_BEHIND_PROXY: "true" }, there: [adminKey] },
      "http://127.0.0.1:9/ whk_admin",
    ],
  ];
  it.each(cases)("%s", (_, given, target) => {
    expect(find(given)).toBe(target);
  });
});

describe("no daemon is chosen", () => {
  const cases: [string, Case, Failure["failure"], string][] = [
    ["when two are named", { args: { url: "http://h", socket: "/s" } }, "usage", "--url and --socket"],
    [
      "when two variables name two",
      { env: { WEBHOOKD_URL: "http://h", WEBHOOKD_SOCKET: "/s" } },
      "usage",
      "WEBHOOKD_URL and WEBHOOKD_SOCKET",
    ],
    [
      "when this host's own key would go to an address that is not loopback",
      {
        files: { [FILE]: '[server]\nlisten = "192.0.2.1:8420"\nbehind_proxy = true\n' },
        there: [adminKey],
      },
      "not_allowed",
      "192.0.2.1:8420, and",
    ],
    ["for an address that is none", { args: { url: "h:8420" } }, "usage", "--url"],
    ["for an address with a password", { env: { WEBHOOKD_URL: "http://u:p@h" } }, "usage", "WEBHOOKD_URL"],
    [
      "when a remote one would get this host's key",
      { args: { url: "https://remote.example" } },
      "not_allowed",
      "needs a key",
    ],
    [
      "when the key file is missing",
      { args: { url: "http://h", "key-file": join(dir, "no") } },
      "not_allowed",
      "there is no",
    ],
    [
      "when the key file cannot be reached",
      { args: { url: "http://h", "key-file": join(adminKey, "x") } },
      "not_allowed",
      "x cannot be read (ENOTDIR)",
    ],
    ["when the key file is a folder", { args: { url: "http://h", "key-file": dir } }, "not_allowed", "EISDIR"],
    [
      "when none is to be found",
      { env: { WEBHOOKD_SERVER_SOCKET: "/x.sock" } },
      "unreachable",
      `tried /x.sock, ${SYSTEM}, ${adminKey}`,
    ],
  ];
  it.each([
    [{ WEBHOOKD_DATA_DIR: dir }, `The data directory is ${dir} (set by WEBHOOKD_DATA_DIR).`],
    [{ WEBHOOKD_DATA_DIR: "" }, "The data directory is /home/ana/.local/share/webhookd (the default here)."],
    [{ WEBHOOKD_SERVER_SOCKET: "/x.sock" }, "; the socket is set by WEBHOOKD_SERVER_SOCKET."],
  ])("and with %j it is said what named the place, and how to name another", (env, hint) => {
    const refusal = (() => {
      try {
        return find({ env });
      } catch (error) {
        return error as Failure;
      }
    })() as Failure;
    expect(refusal.hint).toContain(hint);
    expect(refusal.hint).toContain("WEBHOOKD_DATA_DIR=DIR, --socket PATH");
  });

  it.each(cases)("%s", (_, given, failure, message) => {
    const refusal = (() => {
      try {
        return find(given);
      } catch (error) {
        return error;
      }
    })();
    expect(refusal).toMatchObject({ failure });
    expect((refusal as Failure).message).toContain(message);
  });

  it("when the configuration is wrong", async () => {
    const io = new FakeIo({ env: { WEBHOOKD_LOG_LEVEL: "loud" } });
    expect(await webhookd(io, "keys", "list")).toBe(EXIT.usage);
    expect(io.err).toContain('WEBHOOKD_LOG_LEVEL: [log] level = "loud" is not one of');
  });
});

describe("a daemon that does not answer", () => {
  it("is exit 5 and named, with what to type", async () => {
    const io = new FakeIo();
    const socket = join(dir, "nobody.sock");
    expect(await webhookd(io, "keys", "list", "--socket", socket)).toBe(EXIT.unreachable);
    expect(io.err).toBe(
      `webhookd: cannot reach the daemon at ${socket} (no such file)\n  Is \`webhookd serve\` running there? Name another daemon: --socket PATH, or --url URL --key-file FILE.\n`,
    );
  });

  it("to this user is exit 4, and says as whom to run, not which scope to have", () => {
    const io = new FakeIo();
    const refused = notReached("/s.sock", Object.assign(new Error("no"), { code: "EACCES" }), false);
    expect(report(refused, io, false)).toBe(EXIT.not_allowed);
    expect(io.err).toBe(
      "webhookd: you may not open /s.sock (permission denied)\n  Run this as its user or a member of its group, or use --url URL --key-file FILE.\n",
    );
  });

  it("is exit 5 when nothing listens on its port, or what does is not webhookd", async () => {
    const daemon = await fakeDaemon(({ path }) =>
      path.startsWith("/html") ? { status: 200, body: "<html>", type: "text/html" } : { status: 502, body: "not JSON" },
    );
    for (const url of [`http://127.0.0.1:${await ownPort()}`, `${daemon.url}/html`, daemon.url]) {
      const io = new FakeIo();
      expect(await webhookd(io, "keys", "list", "--url", url, "--key-file", otherKey)).toBe(EXIT.unreachable);
      expect(io.err).toMatch(/nothing is listening there|is not webhookd \(status (200|502)\)/);
    }
  });

  it("says it where one side speaks TLS and the other does not, or its certificate is not trusted", async () => {
    const plain = await fakeDaemon(() => ({ status: 200, body: {} }));
    const secure = createSecureServer(certificate("good")).listen(0, "127.0.0.1");
    onTestFinished(() => void secure.close());
    await once(secure, "listening");
    const host = `127.0.0.1:${(secure.address() as AddressInfo).port}`;
    for (const [url, said] of [
      [plain.url.replace("http:", "https:"), /\(it does not speak TLS; use http:\/\/\)/],
      [`http://${host}`, /\(it closed the connection; where it speaks TLS, use https:\/\/\)/],
      [`https://${host}`, /is not trusted here \(UNABLE_TO_VERIFY_LEAF_SIGNATURE\)\n.*NODE_EXTRA_CA_CERTS=FILE/],
    ] as const) {
      const io = new FakeIo();
      expect(await webhookd(io, "keys", "list", "--url", url, "--key-file", otherKey)).toBe(EXIT.unreachable);
      expect(io.err).toMatch(said);
    }
  });

  it("in time is given up", async () => {
    // The server reads on, so that it sees the client close the connection.
    const silent = createServer((connection) => connection.resume()).listen(join(dir, "silent.sock"));
    await new Promise((resolve) => silent.once("listening", resolve));
    const client = createClient({ socket: join(dir, "silent.sock") }, { version: "0", timeoutMs: 20 });
    await expect(client.call("listKeys")).rejects.toMatchObject({
      failure: "unreachable",
      message: /no answer in time/,
    });
    await new Promise((resolve) => silent.close(resolve));
  });
});
