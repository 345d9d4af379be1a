import { chmodSync, existsSync, mkdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { daemonFindings } from "../../cli/doctor/daemon.ts";
import type { Finding } from "../../cli/doctor/finding.ts";
import { EXIT } from "../../cli/exit-code.ts";
import { anOutbox } from "../../src/api/daemon/outboxes.ts";
import { aNode } from "../../src/api/daemon/sending.ts";
import { anEndpoint } from "../../src/api/endpoints/fields.ts";
import type { Status } from "../../src/client/operations.ts";
import { version } from "../../src/build.ts";
import { aDirectory, TestDaemon } from "../harness/daemon.ts";
import { TestReceiver } from "../harness/receiver.ts";
import { tlsFile } from "../harness/tls.ts";
import { fakeDaemon, problem } from "./fake-daemon.ts";
import { FakeIo } from "./fake-io.ts";
import { webhookd } from "./runs.ts";

interface Said {
  code: number;
  findings: Finding[];
  /** `level subject` of each finding. */
  lines: string[];
  /** The last lines of the output for people. */
  end: string;
}

async function doctor(dir: string, words: readonly string[], env: Record<string, string> = {}): Promise<Said> {
  const readFile = (path: string) => (existsSync(path) ? readFileSync(path, "utf8") : null);
  const machine = { cwd: dir, readFile, exists: existsSync };
  const known = { WEBHOOKD_DATA_DIR: dir, WEBHOOKD_DATA_DISK_FLOOR: "1MiB", ...env };
  const io = new FakeIo({ env: known, machine });
  // The test's files were created at the real time.
  io.now = () => Date.now();
  const code = await webhookd(io, "doctor", "--json", ...words);
  const { findings } = JSON.parse(io.out) as { findings: Finding[] };
  const forPeople = new FakeIo({ env: known, machine });
  forPeople.now = io.now;
  await webhookd(forPeople, "doctor", ...words);
  return { code, findings, lines: findings.map(({ level, subject }) => `${level} ${subject}`), end: forPeople.err };
}

/** Creates a data directory as a daemon leaves it. */
function aDataDirectory(): string {
  const dir = aDirectory();
  for (const name of ["webhookd.db", "secret.key", "admin.key"]) writeFileSync(join(dir, name), "x", { mode: 0o600 });
  return dir;
}

const only = ({ findings }: Said, subject: string) => findings.filter((one) => one.subject === subject);

describe("doctor --offline", () => {
  it("looks at the data directory that is named", async () => {
    const other = aDataDirectory();
    const { findings } = await doctor(aDirectory(), ["--offline", "--data-dir", other]);
    expect(findings.find(({ subject }) => subject === "data")?.what).toContain(other);
  });

  it("finds nothing wrong with a data directory in order", async () => {
    const said = await doctor(aDataDirectory(), ["--offline"]);
    expect(said.code).toBe(EXIT.ok);
    for (const subject of ["configuration", "clock", "files", "disk", "database"]) {
      expect(only(said, subject), subject).toEqual([expect.objectContaining({ level: "ok" })]);
    }
    expect(said.lines.filter((line) => line.startsWith("FAIL"))).toEqual([]);
  });

  it("distinguishes a database that is lost or was moved from one that never existed", async () => {
    const dir = aDataDirectory();
    rmSync(join(dir, "webhookd.db"));
    const found = async () => only(await doctor(dir, ["--offline"]), "database");
    expect(await found()).toEqual([expect.objectContaining({ level: "warn", todo: "webhookd serve creates it" })]);
    writeFileSync(join(dir, "STORE"), "");
    const todo = "restore a backup with: webhookd restore FILE";
    const lost = { level: "FAIL", what: expect.stringContaining("is missing or empty"), todo };
    expect(await found()).toEqual([expect.objectContaining(lost)]);
    writeFileSync(join(dir, "webhookd.db"), "");
    expect(await found()).toEqual([expect.objectContaining(lost)]);
    writeFileSync(join(dir, "webhookd.db.moved-20261120T090000Z"), "x");
    expect(await found()).toEqual([expect.objectContaining({ what: expect.stringContaining("moved to PostgreSQL") })]);
  });

  it.each(["", "/webhookd.db", "/webhookd.db-wal", "/webhookd.db-shm"])(
    "reports that the owner may not write to the directory%s",
    async (name) => {
      const dir = aDataDirectory();
      const path = `${dir}${name}`;
      if (name !== "") writeFileSync(path, "x", { mode: 0o600 });
      chmodSync(path, name === "" ? 0o500 : 0o400);
      const said = await doctor(dir, ["--offline"]);
      chmodSync(path, 0o700);
      expect(said.code).toBe(EXIT.answer_is_no);
      expect(only(said, "files")).toEqual([expect.objectContaining({ level: "FAIL", todo: `chmod u+w ${path}` })]);
    },
  );

  it("reports who else may read which files, and what to type", async () => {
    const dir = aDataDirectory();
    chmodSync(join(dir, "admin.key"), 0o644);
    const said = await doctor(dir, ["--offline"]);
    expect(said.code).toBe(EXIT.answer_is_no);
    expect(only(said, "files")).toEqual([
      expect.objectContaining({ level: "FAIL", todo: `chmod 600 ${join(dir, "admin.key")}` }),
    ]);
  });

  it("misses the key without which secrets cannot be read", async () => {
    const dir = aDataDirectory();
    rmSync(join(dir, "secret.key"));
    expect(only(await doctor(dir, ["--offline"]), "files")).toEqual([
      expect.objectContaining({ level: "FAIL", what: expect.stringContaining("secret.key") }),
    ]);
  });

  it("measures the disk against the floor", async () => {
    const said = await doctor(aDataDirectory(), ["--offline"], { WEBHOOKD_DATA_DISK_FLOOR: "8000TiB" });
    expect(only(said, "disk")).toEqual([expect.objectContaining({ level: "FAIL" })]);
  });

  it("sees a clock that is behind the data", async () => {
    const dir = aDataDirectory();
    const later = Date.now() / 1000 + 3600;
    utimesSync(join(dir, "webhookd.db"), later, later);
    expect(only(await doctor(dir, ["--offline"]), "clock")).toEqual([expect.objectContaining({ level: "FAIL" })]);
  });

  it("counts the files that may be open against what attempts may need", async () => {
    const said = await doctor(aDataDirectory(), ["--offline"], { WEBHOOKD_DELIVERY_MAX_IN_FLIGHT: "1" });
    expect(only(said, "limits")).toEqual([expect.objectContaining({ level: "ok" })]);
  });

  it("warns of variables that change how Node speaks TLS", async () => {
    const said = await doctor(aDataDirectory(), ["--offline"], { NODE_TLS_REJECT_UNAUTHORIZED: "0" });
    expect(only(said, "environment")).toEqual([expect.objectContaining({ level: "warn" })]);
  });

  it("counts its warnings at the end, which may have scrolled away", async () => {
    const said = await doctor(aDataDirectory(), ["--offline"], { NODE_TLS_REJECT_UNAUTHORIZED: "0" });
    const warnings = said.findings.filter(({ level }) => level === "warn").length;
    expect(warnings).toBeGreaterThan(0);
    const all = warnings === 1 ? "1 warning" : `${warnings} warnings`;
    expect(said.end).toBe(`No problems found; ${all}.\n`);
  });

  it("has every mistake of a configuration in place of all else", async () => {
    const said = await doctor(aDataDirectory(), ["--offline"], {
      WEBHOOKD_LOG_LEVEL: "loud",
      WEBHOOKD_RETRY_DELAY: "1s",
    });
    expect(said.code).toBe(EXIT.answer_is_no);
    expect(said.lines).toEqual(["FAIL configuration", "FAIL configuration"]);
  });

  it("looks at the certificate of the API", async () => {
    const files = { WEBHOOKD_SERVER_TLS_CERT: tlsFile("good"), WEBHOOKD_SERVER_TLS_KEY: tlsFile("leaf.key") };
    const good = await doctor(aDataDirectory(), ["--offline"], files);
    expect(only(good, "API certificate")).toEqual([expect.objectContaining({ level: "ok" })]);
    const expired = { ...files, WEBHOOKD_SERVER_TLS_CERT: tlsFile("expired") };
    expect(only(await doctor(aDataDirectory(), ["--offline"], expired), "API certificate")).toEqual([
      expect.objectContaining({ level: "FAIL", what: expect.stringContaining("expired") }),
    ]);
  });

  it("is content with a directory that a first start will make", async () => {
    const dir = join(aDirectory(), "none");
    const said = await doctor(dir, ["--offline"], { WEBHOOKD_SERVER_LISTEN: "127.0.0.1:0" });
    expect(said.code).toBe(EXIT.ok);
    expect(said.lines).toContain("warn data");
  });
});

describe("doctor", () => {
  it("says that nobody answers, and keeps what it found on the host", async () => {
    const dir = aDataDirectory();
    mkdirSync(join(dir, "sub"));
    const said = await doctor(dir, ["--socket", join(dir, "none.sock")]);
    expect(said.code).toBe(EXIT.answer_is_no);
    expect(said.lines.at(-1)).toBe("FAIL daemon");
    expect(said.lines).toContain("ok files");
    expect(only(said, "data")).toEqual([
      expect.objectContaining({ what: `${dir}, the directory in this command's configuration` }),
    ]);
  });

  it("checks the directory of the daemon that the flags name, whatever the configuration says", async () => {
    const daemon = await TestDaemon.start();
    chmodSync(join(daemon.dir, "admin.key"), 0o644);
    const words = ["--socket", join(daemon.dir, "webhookd.sock")];
    const said = await doctor(aDataDirectory(), words, { WEBHOOKD_DATA_SECRET_KEY_FILE: "/nonexistent/key" });
    expect(only(said, "data")).toEqual([
      expect.objectContaining({ what: `${daemon.dir}, the directory of the running daemon` }),
    ]);
    expect(only(said, "files")).toEqual([
      expect.objectContaining({ level: "FAIL", todo: `chmod 600 ${join(daemon.dir, "admin.key")}` }),
    ]);
  });

  it("leaves alone what has the same path here, when the daemon is on another host", async () => {
    const dir = aDataDirectory();
    const data = { dir, secret_key_file: join(dir, "secret.key") };
    const daemon = await fakeDaemon(({ path }) => ({
      status: 200,
      body: path === "/v1/status" ? { ...healthy, data } : { data: [], next_cursor: null },
    }));
    const key = join(dir, "admin.key");
    // The system takes this address for the same host, but the command cannot know that.
    const url = daemon.url.replace("127.0.0.1", "0.0.0.0");
    const said = await doctor(dir, ["--url", url, "--key-file", key]);
    expect(only(said, "daemon")).toEqual([expect.objectContaining({ level: "ok" })]);
    expect(only(said, "data")).toEqual([
      expect.objectContaining({ level: "warn", what: `${dir} is on the daemon's host` }),
    ]);
    expect(only(said, "files")).toEqual([]);
  });

  it("goes to each endpoint by the rules of a delivery, and looks at its certificate", async () => {
    const daemon = await TestDaemon.start();
    const [plain, tls] = [await TestReceiver.start(), await TestReceiver.start([], { tls: true })];
    try {
      const near = await daemon.register(plain.url);
      const secure = await daemon.register(tls.url);
      const left = await TestReceiver.start();
      const { url } = left;
      await left.close();
      const gone = await daemon.register(url);
      const words = ["--socket", join(daemon.dir, "webhookd.sock")];
      const settings = { WEBHOOKD_EGRESS_CA_FILE: tlsFile("ca") };
      const said = await doctor(daemon.dir, words, settings);
      expect(said.code).toBe(EXIT.answer_is_no);
      expect(only(said, "daemon")).toEqual([expect.objectContaining({ level: "ok" })]);
      expect(only(said, near.id)).toEqual([expect.objectContaining({ level: "ok" })]);
      expect(only(said, secure.id)[0]).toMatchObject({
        what: expect.stringMatching(/the certificate is valid for \d+/),
      });
      expect(only(said, gone.id)).toEqual([
        expect.objectContaining({ level: "FAIL", what: expect.stringContaining("refused the connection") }),
      ]);
      expect(plain.requests).toEqual([]);

      const one = await doctor(daemon.dir, [...words, "--endpoint", near.id], settings);
      expect(only(one, near.id)).toHaveLength(1);
      expect(one.lines).not.toContain(`FAIL ${gone.id}`);
    } finally {
      await Promise.all([plain.close(), tls.close()]);
    }
  });

  const DAMAGED = {
    endpoint: anEndpoint.id,
    tenant: "default",
    url: anEndpoint.url,
    parts: ["signing_secret" as const],
    reason: "its signing secret cannot be unsealed",
  };
  const CERTIFICATE = { endpoint: anEndpoint.id };
  const TRACES = { exported: 7, dropped: 2 };
  const healthy: Status = {
    version,
    schema: 1,
    state: "ready",
    store_outage: null,
    started_at: "2026-11-20T09:00:00.000Z",
    uptime_seconds: 10,
    paused: null,
    not_sending: [],
    damaged_database: null,
    oldest_due_at: null,
    overdue: { deliveries: 0, behind: [] },
    open_move: null,
    nodes: [],
    outboxes: [],
    traces: null,
    clock_ahead_ms: null,
    ids_ahead_ms: null,
    put_off_deliveries: 0,
    due_by_minute: null,
    deliveries: { pending: 0, held: 0, failed: 0 },
    counted_at: null,
    data: { dir: "/var/lib/webhookd", secret_key_file: "/var/lib/webhookd/secret.key" },
    disk: { free_bytes: 1, floor_bytes: 0 },
    database: { bytes: 1, wal_bytes: 1, wal_trouble: null },
    backup: { every_seconds: 0, dir: "/b", last: null, failure: null },
    damaged_endpoints: { total: 0, endpoints: [] },
    held_keys: [],
    client_certificates: [],
    departures: [],
    retry_delays_seconds: [30],
    dev: false,
    sender_threads: 1,
    careful: false,
    socket_uid_trouble: null,
  };

  it("says which [[signature.also]] leads to no endpoint, and which cannot sign with a secret", async () => {
    const [svix, text] = ["ep_01m7w8bx02jeyjr53r14y5rmma", "ep_01m7w8bx02jeyjr53r14y5rmmb"];
    const listed = [
      { ...anEndpoint, id: svix, tenant: "acme", enabled: false },
      { ...anEndpoint, id: text, tenant: "bolt", enabled: false },
    ];
    let mayRead = true;
    const daemon = await fakeDaemon(({ path }) => {
      if (path === "/v1/status") return { status: 200, body: healthy };
      if (path.endsWith(`${svix}/secret`)) return { status: 200, body: { signing_secret: `whsec_${"A".repeat(43)}=` } };
      if (path.endsWith("/secret") && !mayRead) return problem(403, "forbidden", "this key lacks a scope");
      if (path.endsWith("/secret")) return { status: 200, body: { signing_secret: "a plain old secret" } };
      if (path.endsWith(svix)) return { status: 200, body: listed[0] };
      return { status: 200, body: { data: listed, next_cursor: null } };
    });
    const file = join(daemon.dir, "webhookd.toml");
    writeFileSync(
      file,
      `[[signature.also]]
format = "svix"
[[signature.also]]
format = "stripe"
tenants = ["acme", "gone"]
endpoints = ["${text}", "ep_01m7w8bx02jeyjr53r14y5rmmc"]
[[signature.also]]
format = "custom"
header = "X-Acme"
tenants = ["bolt"]
`,
    );
    const words = ["--socket", daemon.socket, "--config", file];
    const said = await doctor(daemon.dir, words);
    expect(only(said, "[[signature.also]]").map(({ level, what }) => `${level} ${what}`)).toEqual([
      "ok svix is sent to 2 endpoints",
      "warn stripe names gone: no such tenant has an endpoint",
      "warn stripe names ep_01m7w8bx02jeyjr53r14y5rmmc: there is no such endpoint",
      `warn stripe names ${text} of the tenant bolt, which its tenants leave out`,
      "ok X-Acme is sent to 1 endpoint",
    ]);
    expect(only(said, svix)).toEqual([]);
    expect(only(said, text)).toEqual([
      expect.objectContaining({ level: "FAIL", what: expect.stringContaining("svix takes its key from base64") }),
    ]);
    expect(said.code).toBe(EXIT.answer_is_no);
    const one = await doctor(daemon.dir, [...words, "--endpoint", svix]);
    expect(only(one, "[[signature.also]]")).toHaveLength(5);
    expect(only(one, text)).toEqual([]);
    mayRead = false;
    const kept = await doctor(daemon.dir, words);
    expect(only(kept, "[[signature.also]]").at(-1)).toMatchObject({ level: "warn", todo: "use the unix socket" });
  });

  it("goes nowhere that the daemon would not", async () => {
    const id = "ep_01m7w8bx02jeyjr53r14y5rmma";
    const daemon = await fakeDaemon(({ path }) => ({
      status: 200,
      body: path === "/v1/status" ? healthy : { ...anEndpoint, id, url: "http://127.0.0.1:9" },
    }));
    const guarded = await doctor(daemon.dir, ["--socket", daemon.socket, "--endpoint", id]);
    expect(only(guarded, id)).toEqual([
      expect.objectContaining({ level: "FAIL", todo: expect.stringContaining("allow_cidrs") }),
    ]);
  });

  it.each<[Partial<Status>, string]>([
    [{ state: "disk_full" }, "FAIL daemon"],
    [{ version: "0.0.0" }, "warn daemon"],
    [{ paused: { reason: "r", by: "socket", at: "2026-11-20T09:00:00.000Z", saved: true } }, "warn attempts"],
    [{ oldest_due_at: "2026-11-20T08:00:00.000Z" }, "warn attempts"],
    [{ careful: true }, "warn attempts"],
    [{ clock_ahead_ms: 1001 }, "warn clock"],
    [{ put_off_deliveries: 1 }, "warn clock"],
    [{ ids_ahead_ms: 3_600_000 }, "warn clock"],
    [{ outboxes: [{ ...anOutbox, set_aside: 2 }] }, "warn outbox"],
    [{ traces: { ...TRACES, failure: { since: "2026-11-20T09:00:00.000Z", detail: "ECONNREFUSED" } } }, "warn traces"],
    [{ traces: { ...TRACES, failure: null } }, "ok traces"],
    [{ outboxes: [{ ...anOutbox, trouble: { what: "it is away", todo: "wait" } }] }, "FAIL outbox"],
    [{ nodes: [{ ...aNode, clock_ahead_ms: -86_400_000 }] }, "warn clock"],
    [{ socket_uid_trouble: "this is darwin" }, "warn audit log"],
    [{ damaged_endpoints: { total: 1, endpoints: [DAMAGED] } }, `FAIL ${DAMAGED.endpoint}`],
    [{ damaged_endpoints: { total: 21, endpoints: [DAMAGED] } }, "FAIL endpoints"],
    [{ client_certificates: [{ ...CERTIFICATE, not_after: "2026-11-20T09:00:00.000Z" }] }, `FAIL ${anEndpoint.id}`],
    [{ client_certificates: [{ ...CERTIFICATE, not_after: "2026-11-21T09:00:00.000Z" }] }, `warn ${anEndpoint.id}`],
    [{ backup: { ...healthy.backup, failure: { at: "2026-11-20T09:00:00.000Z", detail: "full" } } }, "FAIL backup"],
    [{}, "warn backup"],
  ])("makes of %j: %s", (change, line) => {
    const now = Date.parse("2026-11-20T10:00:00.000Z");
    const findings = [...daemonFindings({ ...healthy, ...change }, now, () => false)];
    expect(findings.map(({ level, subject }) => `${level} ${subject}`)).toContain(line);
    expect(findings.filter(({ level, todo }) => level !== "ok" && !todo)).toEqual([]);
  });

  it("says of a backup whose file is gone that it is", async () => {
    const at = new Date().toISOString();
    const said = async (file: string) => {
      const backup = { ...healthy.backup, last: { at, file, bytes: 1 } };
      const daemon = await fakeDaemon(({ path }) => ({
        status: 200,
        body: path === "/v1/status" ? { ...healthy, backup } : { data: [], next_cursor: null },
      }));
      return only(await doctor(daemon.dir, ["--socket", daemon.socket]), "backup").map(({ what }) => what);
    };
    expect(await said(import.meta.filename)).toEqual([`${import.meta.filename}, from ${at}`]);
    expect(await said("/old/host.backup")).toEqual([`from ${at}; /old/host.backup is no longer there`]);
  });
});
