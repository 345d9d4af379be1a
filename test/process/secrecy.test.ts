import { randomBytes } from "node:crypto";
import { readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import Database from "better-sqlite3";
import { expect } from "vitest";
import { DEFAULT_TABLE } from "../../src/domain/outbox/outbox.ts";
import { sqliteSql } from "../../src/domain/outbox/init-sql.ts";
import { it, type DaemonProcess, type Machine } from "../harness/process.ts";

const EVENTS = ["budget.exceeded"];
const BROUGHT = `whsec_${Buffer.from("brought-along-canary-0123456789-abcdef").toString("base64")}`;
const PLAIN = "plain-canary-9f8e7d6c5b4a39281706";
const REFUSED = "refused\u0001canary-1b2c3d4e5f60718293a4";
const HEADER = "header-canary-5d41402abc4b2a76b9719d91";
const CREDENTIAL = "credential-canary-7d793037a0760186574b";
const PASSPHRASE = "passphrase-canary-b1d5781111d84f7b3fe4";
const PASSWORD = "password-canary-c74d97b01eae257e44aa";

/** Every secret that was planted or issued, by name, in all the forms in which it could leak. */
class Secrets {
  readonly #needles = new Map<string, Buffer[]>();

  add(name: string, text: string, ...shapes: Uint8Array[]): void {
    const texts = [Buffer.from(text), Buffer.from(Buffer.from(text).toString("hex"))];
    const decoded = text.startsWith("whsec_") ? [Buffer.from(text.slice(6), "base64")] : [];
    this.#needles.set(name, [...texts, ...decoded, ...shapes.map(Buffer.from)].map(middleOf));
  }

  /** Returns the names of the secrets that these bytes contain, even in part. */
  foundIn(bytes: Buffer): string[] {
    return [...this.#needles]
      .filter(([, needles]) => needles.some((each) => bytes.includes(each)))
      .map(([name]) => name);
  }
}

/** Returns 16 bytes of the middle: enough to rule out chance, without the ends that many values share. */
function middleOf(bytes: Buffer): Buffer {
  const from = Math.floor((bytes.length - 16) / 2);
  return bytes.subarray(from, from + 16);
}

interface Answer {
  readonly call: string;
  readonly text: string;
  readonly shows: readonly string[];
}

/** A client that keeps every response. */
class Caller {
  readonly answers: Answer[] = [];
  daemon: DaemonProcess;

  constructor(daemon: DaemonProcess) {
    this.daemon = daemon;
  }

  /** `shows` names the secrets that this response is meant to show. */
  async call(
    method: string,
    path: string,
    body: unknown,
    shows: readonly string[] = [],
    headers: Readonly<Record<string, string>> = {},
  ): Promise<{ status: number; body: any }> {
    const response = await fetch(new URL(path, this.daemon.url), {
      method,
      headers: { authorization: `Bearer ${this.daemon.key}`, "content-type": "application/json", ...headers },
      ...(body !== undefined && { body: typeof body === "string" ? body : JSON.stringify(body) }),
    });
    const text = await response.text();
    const head = JSON.stringify([...response.headers]);
    this.answers.push({ call: `${method} ${path} ${response.status}`, text: `${head}\n${text}`, shows });
    return { status: response.status, body: text.startsWith("{") ? JSON.parse(text) : text };
  }
}

it("no secret is in a log line, in an answer that is not there to show it, or in the database", async ({ machine }) => {
  const settings = { LOG_LEVEL: "debug", RETRY_DELAYS: "10ms,10ms", RETRY_TIMEOUT: "2s" };
  const flags = ["--config", configure(machine)];
  const first = await machine.serve({ settings, flags });
  const caller = new Caller(first);
  const secrets = new Secrets();
  const key = readFileSync(join(first.dir, "secret.key"), "utf8").trim();
  const keyBytes = Buffer.from(key, "hex");
  secrets.add("secret.key", key, keyBytes, Buffer.from(keyBytes.toString("base64")));
  secrets.add("admin.key", first.key.slice(-52));
  for (const [name, text] of Object.entries({ BROUGHT, PLAIN, REFUSED, HEADER, CREDENTIAL, PASSPHRASE, PASSWORD }))
    secrets.add(name, text);

  const endpoints = await registerAll(caller, secrets, machine);
  await makeKey(caller, secrets);
  await makeLink(caller, secrets, endpoints[0]!);
  await refusals(caller, endpoints[0]!);
  const ids = await deliverAll(caller, endpoints);
  await rotateAll(caller, secrets, endpoints);
  await caller.call("POST", "/v1/webhooks/keys/rotate", undefined);
  await caller.call("PATCH", "/v1/webhooks/keys", { published: true });
  await deliverAll(caller, endpoints);
  await readAll(caller, ids);
  expect((await caller.call("POST", "/v1/backups", { passphrase: PASSPHRASE })).status).toBe(201);
  const running = [...filesOf(first.dir), ...filesOf(join(first.dir, "backups"))];
  expect(running.filter(({ name }) => name.startsWith("webhookd-2"))).toHaveLength(1);
  expect(running.map(({ name }) => name)).toEqual(expect.arrayContaining(["webhookd.db", "webhookd.db-wal"]));

  if (process.platform === "linux") {
    const { pid } = JSON.parse(readFileSync(join(first.dir, "webhookd.pid"), "utf8")) as { pid: number };
    const line = readFileSync(`/proc/${pid}/cmdline`);
    expect([line.includes("serve"), secrets.foundIn(line)]).toEqual([true, []]);
  }

  first.process.kill("SIGTERM");
  await first.process.exit;
  const second = await machine.serve({ settings, flags });
  caller.daemon = second;
  await deliverAll(caller, endpoints);
  await readAll(caller, ids);
  second.process.kill("SIGKILL");
  await second.process.exit;

  for (const { call, text, shows } of caller.answers) {
    const found = secrets.foundIn(Buffer.from(text)).filter((name) => !shows.includes(name));
    expect(found, `${call} was answered ${text}`).toEqual([]);
  }
  for (const { name, bytes } of [...running, ...filesOf(first.dir)]) expect(secrets.foundIn(bytes), name).toEqual([]);
  // Nobody can name a private key in order to search for it, but its form is known.
  const texts = [...caller.answers.map(({ text }) => text), ...[first, second].map(({ process: of }) => of.stdout)];
  const files = [...running, ...filesOf(first.dir)].map(({ bytes }) => bytes.toString("latin1"));
  for (const text of [...texts, ...files]) expect(text).not.toMatch(/whsk_[A-Za-z0-9+/]{43}/);
  for (const { process } of [first, second]) {
    expect(process.stdout).toContain("delivery.attempted");
    expect(secrets.foundIn(Buffer.from(process.stdout + process.stderr))).toEqual([]);
  }
  // The search itself works: it finds the secrets that are meant to be shown.
  expect(secrets.foundIn(Buffer.from(`…${first.key}…`))).toEqual(["admin.key"]);
  expect(caller.answers.filter(({ text, shows }) => secrets.foundIn(Buffer.from(text)).length < shows.length)).toEqual(
    [],
  );
});

/** Registers endpoints whose receivers respond well, respond badly, and do not exist. */
async function registerAll(caller: Caller, secrets: Secrets, machine: Machine): Promise<string[]> {
  const [good, bad, gone] = [await machine.receiver(), await machine.receiver(), await machine.receiver()];
  bad.answer(...Array.from({ length: 100 }, () => 500));
  const urls = [good.url, bad.url, gone.url, good.url.replace("http:", "https:")];
  await gone.close();
  const ids: string[] = [];
  for (const url of urls) {
    const name = `the secret of endpoint ${ids.length}`;
    const signatures = ["hmac", "ed25519"];
    const body = {
      url,
      events: EVENTS,
      signatures,
      headers: { "X-Api-Key": HEADER, Authorization: `Bearer ${CREDENTIAL}` },
      ...(ids.length === 0 && { secret: `whsec_${randomBytes(24).toString("base64")}` }),
    };
    const keyed = { "idempotency-key": `registration ${ids.length}`.replace(" ", "-") };
    const { status, body: shown } = await caller.call("POST", "/v1/webhooks", body, [name], keyed);
    expect(status).toBe(201);
    secrets.add(name, shown.signing_secret);
    await caller.call("POST", "/v1/webhooks", body, [name], keyed);
    ids.push(shown.id);
  }
  return ids;
}

async function makeKey(caller: Caller, secrets: Secrets): Promise<void> {
  const keyed = { "idempotency-key": "a-key" };
  const { body } = await caller.call("POST", "/v1/keys", { scopes: ["read"] }, ["an API key"], keyed);
  secrets.add("an API key", body.key.slice(-52));
  await caller.call("POST", "/v1/keys", { scopes: ["read"] }, [], keyed);
  await caller.call("GET", "/v1/webhooks", undefined, [], { authorization: `Bearer ${body.key}` });
  // One key is invalid, and another is in the query, where no key belongs.
  const forged = `${body.key.slice(0, -1)}${body.key.endsWith("0") ? "g" : "0"}`;
  await caller.call("GET", "/v1/webhooks", undefined, [], { authorization: `Bearer ${forged}` });
  await caller.call("GET", `/v1/webhooks?key=${body.key}`, undefined);
  await caller.call("GET", `/v1/webhooks/${body.key}`, undefined);
  await caller.call("POST", "/v1/keys", { scopes: ["read"], name: "n", token: body.key });
}

/** Creates a portal link, opens it, uses it, has it refused, and ends it. */
async function makeLink(caller: Caller, secrets: Secrets, endpoint: string): Promise<void> {
  const draft = { can: ["manage"], endpoints: [endpoint], return_url: "https://app.example.com/" };
  const keyed = { "idempotency-key": "a-link" };
  const { body } = await caller.call("POST", "/v1/portal-links", draft, ["a portal link"], keyed);
  const token: string = body.url.split("#")[1];
  secrets.add("a portal link", token.slice(-52));
  await caller.call("POST", "/v1/portal-links", draft, [], keyed);
  const own = { authorization: `Bearer ${token}` };
  expect((await caller.call("GET", "/v1/portal", undefined, [], own)).status).toBe(200);
  await caller.call("GET", "/portal", undefined, [], { referer: body.url });
  await caller.call("POST", `/v1/webhooks/${endpoint}/test?wait=true`, {}, [], own);
  await caller.call("PATCH", `/v1/webhooks/${endpoint}`, { description: "seen" }, [], own);
  await caller.call("POST", "/v1/portal-links", draft, [], own);
  await caller.call("POST", "/v1/webhooks/events", { type: EVENTS[0], data: {} }, [], own);
  await caller.call("GET", `/v1/webhooks?key=${token}`, undefined, [], own);
  await caller.call("GET", `/portal/${token}`, undefined);
  expect((await caller.call("DELETE", `/v1/keys/${body.key_id}`, undefined)).status).toBe(204);
  expect((await caller.call("GET", "/v1/portal", undefined, [], own)).status).toBe(401);
}

/** Makes invalid requests that contain secrets. The response must explain the fault without repeating them. */
async function refusals(caller: Caller, endpoint: string): Promise<void> {
  const url = "https://example.com/";
  const wrong: [string, unknown][] = [
    ["/v1/webhooks", { url, events: EVENTS, headers: { "X-Key": `${HEADER}\n` } }],
    ["/v1/webhooks", { url, events: ["nope"], headers: { "X-Key": HEADER } }],
    ["/v1/webhooks", { url, events: EVENTS, headers: { Host: CREDENTIAL } }],
    ["/v1/webhooks", { url, events: EVENTS, headers: CREDENTIAL }],
    ["/v1/webhooks", { url: `https://user:${CREDENTIAL}@example.com/`, events: EVENTS }],
    ["/v1/webhooks", { url, events: EVENTS, signing_secret: PLAIN }],
    ["/v1/webhooks", `{"url":"${url}","headers":{"X-Key":"${HEADER}"`],
    [`/v1/webhooks/${endpoint}/rotate-secret`, { secret: REFUSED }],
    [`/v1/webhooks/${endpoint}/rotate-secret`, { secret: PLAIN, overlap_seconds: -1 }],
    [`/v1/webhooks/${endpoint}/rotate-secret`, { secret: [PLAIN] }],
    [`/v1/webhooks/${endpoint}/rotate-secret`, `{"secret":"${PLAIN}"`],
    [`/v1/webhooks/${endpoint}/rotate-secret/complete`, { secret: PLAIN }],
    ["/v1/webhooks/ep_00000000000000000000000000/rotate-secret", { secret: PLAIN }],
  ];
  for (const [path, body] of wrong) {
    const { status } = await caller.call("POST", path, body);
    expect(status, path).toBeGreaterThanOrEqual(400);
    expect(status, path).toBeLessThan(500);
  }
}

async function rotateAll(caller: Caller, secrets: Secrets, endpoints: readonly string[]): Promise<void> {
  const [generated, brought, plain, completed] = endpoints.map((id) => `/v1/webhooks/${id}/rotate-secret`);
  const old = endpoints.map((_, at) => `the secret of endpoint ${at}`);
  const { body } = await caller.call("POST", generated!, undefined, [old[0]!, "the next secret"]);
  secrets.add("the next secret", body.next_signing_secret);
  await caller.call("POST", generated!, { secret: PLAIN });
  await caller.call("GET", `/v1/webhooks/${endpoints[0]}/secret`, undefined, [old[0]!, "the next secret"]);
  const keyed = { "idempotency-key": "a-rotation" };
  await caller.call("POST", brought!, { secret: BROUGHT }, [old[1]!, "BROUGHT"], keyed);
  await caller.call("POST", brought!, { secret: BROUGHT }, [old[1]!, "BROUGHT"], keyed);
  await caller.call("DELETE", brought!, undefined);
  await caller.call("POST", plain!, { secret: PLAIN, overlap_seconds: 0 }, ["PLAIN"]);
  await caller.call("POST", completed!, { secret: BROUGHT }, [old[3]!, "BROUGHT"]);
  await caller.call("POST", `${completed!}/complete`, undefined, ["BROUGHT"]);
}

/** Writes a configuration with one outbox that can be read, and one whose server is away. Returns its file. */
function configure({ home }: Machine): string {
  const [file, shop] = [join(home, "webhookd.toml"), join(home, "shop.db")];
  const db = new Database(shop);
  db.exec(sqliteSql({ table: DEFAULT_TABLE, tenantColumn: null }));
  db.close();
  const away = `postgres://webhookd:${PASSWORD}@127.0.0.1:1/shop`;
  writeFileSync(file, `[[outbox]]\nname = "shop"\nsqlite = "${shop}"\n[[outbox]]\nname = "away"\nurl = "${away}"\n`);
  return file;
}

/** Sends an event, and a test to each endpoint, and waits for their end. Returns the ids by prefix. */
async function deliverAll(caller: Caller, endpoints: readonly string[]): Promise<Record<string, string>> {
  const event = await caller.daemon.publish();
  for (const endpoint of endpoints) await caller.call("POST", `/v1/webhooks/${endpoint}/test?wait=true`, {});
  const { deliveries } = await caller.daemon.settled(event);
  await caller.call("POST", `/v1/webhooks/events/${event}/retry`, { force: true });
  await caller.daemon.settled(event);
  const [delivery] = deliveries;
  const job = await caller.call("POST", "/v1/webhooks/jobs", { action: "replay", filter: { events: [event] } });
  return { ep: endpoints[0]!, evt: event, dlv: delivery.id, att: delivery.last_attempt.id, job: job.body.id };
}

/** Makes every GET request, except the one for secrets and the endless stream. */
async function readAll(caller: Caller, ids: Readonly<Record<string, string>>): Promise<void> {
  const { paths } = (await caller.call("GET", "/openapi.json", undefined)).body;
  const keys = await caller.call("GET", "/v1/keys", undefined);
  const all: Record<string, string> = { ...ids, key: keys.body.data[0].id, outbox: "shop" };
  for (const [path, methods] of Object.entries<any>(paths)) {
    if (methods.get === undefined || /\/(?:secret|stream|\{file\})$/.test(path)) continue;
    const parameters = JSON.stringify(methods.get.parameters ?? []);
    // An endpoint may be named by its uid too.
    const id = path.startsWith("/v1/webhooks/{id}")
      ? "ep"
      : path.startsWith("/v1/outboxes/{id}")
        ? "outbox"
        : (/"#\/components\/parameters\/id\.(\w+)"/.exec(parameters)?.[1] ?? "");
    const query = path.endsWith("/why") ? `?endpoint=${all["ep"]}` : "";
    const { status } = await caller.call("GET", path.replace(/\{\w+\}/, all[id] ?? "") + query, undefined);
    expect(status, path).toBe(200);
  }
}

/** Returns all files in the data directory, except the key files, which hold secrets on purpose, and the socket. */
function filesOf(dir: string): { name: string; bytes: Buffer }[] {
  return readdirSync(dir)
    .filter((name) => !name.endsWith(".key") && statSync(join(dir, name)).isFile())
    .map((name) => ({ name, bytes: readFileSync(join(dir, name)) }));
}
