/** A Convoy server, the command, a real daemon, and receivers that verify as Convoy documents. */
import { createHmac } from "node:crypto";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { EXIT } from "../../cli/exit-code.ts";
import { readAlso } from "../../src/config/also.ts";
import { systemClock } from "../../src/clock.ts";
import { FakeIo } from "../cli/fake-io.ts";
import { webhookd } from "../cli/runs.ts";
import { TestDaemon } from "../harness/daemon.ts";
import { foreignServer, type ForeignServer } from "../harness/foreign-server.ts";
import { type Received, TestReceiver } from "../harness/receiver.ts";

const KEY = "CO.convoy-key";
const PROJECT = "01HXPROJECT";
const [SECRET, NEXT] = ["wK3mQ9vT2xR7bN5cLp8", "Zx4nB6vM1qW9eR3tYu7"];
/** After the time of the command's own clock. */
const LATER = new Date(1_700_000_000_000 + 3_600_000).toISOString();

interface Convoy {
  readonly config?: object;
  readonly endpoints: readonly object[];
  readonly subscriptions: readonly object[];
}

/** As in its published description: everything within `data`, lists in pages with a cursor. */
function serve({ config = {}, endpoints, subscriptions }: Convoy): Promise<ForeignServer> {
  return foreignServer(KEY, ({ pathname, searchParams }) => {
    const base = `/api/v1/projects/${PROJECT}`;
    const answer = (data: unknown) => ({ status: true, message: "fetched", data });
    const list = (rows: readonly object[]) => {
      const from = Number(searchParams.get("next_page_cursor") ?? 0);
      const has_next_page = from + 2 < rows.length;
      const pagination = { per_page: 2, has_next_page, next_page_cursor: has_next_page ? String(from + 2) : "" };
      return answer({ content: rows.slice(from, from + 2), pagination });
    };
    if (pathname === base) return answer({ uid: PROJECT, name: "Shop", type: "outgoing", config });
    if (pathname === `${base}/endpoints`) return list(endpoints);
    if (pathname === `${base}/subscriptions`) return list(subscriptions);
    if (pathname === `${base}/event-types`)
      return answer([
        { name: "*" },
        { name: "invoice.paid", description: "An invoice was paid.", category: "invoices" },
      ]);
    return null;
  });
}

const endpoint = (uid: string, url: string, more: object = {}) => ({
  uid,
  name: uid,
  url,
  owner_id: "acme",
  status: "active",
  description: "",
  advanced_signatures: false,
  rate_limit: 0,
  rate_limit_duration: 0,
  secrets: [{ uid: "s1", value: SECRET, expires_at: null }],
  authentication: null,
  ...more,
});
const subscription = (uid: string, event_types: string[], body: object = {}, more: object = {}) => ({
  uid: `sub-${uid}`,
  type: "api",
  endpoint_metadata: { uid },
  filter_config: { event_types, filter: { headers: {}, body, is_flattened: false, ...more } },
});

async function run(daemon: TestDaemon, convoy: ForeignServer, ...words: string[]) {
  const io = new FakeIo({ env: { CONVOY_API_KEY: KEY } });
  const target = ["--url", daemon.url, "--key-file", join(daemon.dir, "admin.key")];
  const source = ["--from", convoy.url, "--project", PROJECT];
  const code = await webhookd(io, "import", "convoy", ...source, ...words, ...target);
  return { code, out: io.out, err: io.err };
}

const mac = (secret: string, text: string) => createHmac("sha256", secret).update(text).digest("hex");
const isSimple = ({ headers, body }: Received, secret: string) =>
  headers["x-convoy-signature"] === mac(secret, body.toString());
const isAdvanced = ({ headers, body }: Received, secret: string) => {
  const [time, ...signatures] = headers["x-convoy-signature"]!.split(",");
  return signatures.includes(`v1=${mac(secret, `${time!.slice("t=".length)},${body.toString()}`)}`);
};

it("a Convoy project comes over, and receivers verify simple and advanced signatures, also in a rotation", async () => {
  const receiver = await TestReceiver.start();
  onTestFinished(() => receiver.close());
  const site = `http://127.0.0.1:${receiver.port}`;
  const secrets = [
    { uid: "s1", value: SECRET, expires_at: LATER },
    { uid: "s2", value: NEXT, expires_at: null },
  ];
  const api_key = { header_name: "X-Api-Key", header_value: "k-17" };
  const convoy = await serve({
    endpoints: [
      endpoint("simple", `${site}/simple`, { authentication: { type: "api_key", api_key } }),
      endpoint("advanced", `${site}/advanced`, { owner_id: "globex", advanced_signatures: true, secrets }),
    ],
    subscriptions: [
      subscription("simple", ["invoice.paid"], { "customer.tier": "gold", "customer.age": { $gte: 18 } }),
      subscription("advanced", ["*"]),
    ],
  });
  const first = await TestDaemon.start({ clock: systemClock });
  const done = await run(first, convoy, "--yes", "--enable");
  expect({ code: done.code, out: done.out }).toEqual({
    code: EXIT.ok,
    out: "Imported: 2 endpoints: 2 added; 1 event type: 1 added.\n",
  });
  expect(done.err).toContain('format = "convoy"\n  tenants = ["acme"]\n');
  expect(done.err).toContain('format = "convoy-advanced"\n  tenants = ["globex"]\n');
  expect(done.err).not.toMatch(new RegExp(`${SECRET}|${NEXT}|k-17`));
  expect((await run(first, convoy, "--yes")).out).toBe("There is nothing to import.\n");
  const { dir } = first;
  await first.stop();

  const { also } = readAlso(
    [
      { format: "convoy", tenants: ["acme"] },
      { format: "convoy-advanced", tenants: ["globex"] },
    ],
    () => "here",
  );
  const daemon = await TestDaemon.start({ clock: systemClock, also, dir });
  const publish = (tenant: string, customer: object) => {
    const event = { type: "invoice.paid", data: { customer } };
    return daemon.request("POST", `/v1/webhooks/events?tenant=${tenant}`, event);
  };
  await publish("acme", { tier: "gold", age: 17 });
  await publish("acme", { tier: "gold", age: 18 });
  const simple = await receiver.next();
  expect(JSON.parse(simple.body.toString()).customer.age).toBe(18);
  expect([isSimple(simple, SECRET), simple.headers["x-api-key"]]).toEqual([true, "k-17"]);
  await publish("globex", {});
  const advanced = await receiver.next();
  expect([isAdvanced(advanced, SECRET), isAdvanced(advanced, NEXT)]).toEqual([true, true]);
});

it("says what means something else, and what cannot come over", async () => {
  const daemon = await TestDaemon.start({ dev: false });
  const convoy = await serve({
    config: { signature: { header: "X-Shop", versions: [{ hash: "SHA512", encoding: "base64" }] } },
    endpoints: [
      endpoint("a", "https://a.example.com/", { owner_id: "", rate_limit: 90, rate_limit_duration: "1m30s" }),
      endpoint("b", "https://b.example.com/", { status: "paused", authentication: { type: "oauth2" } }),
      endpoint("c", "https://c.example.com/"),
      endpoint("d", "https://d.example.com/"),
      endpoint("e", "https://e.example.com/", { advanced_signatures: true, rate_limit: 5, rate_limit_duration: 1 }),
      endpoint("f", "https://f.example.com/", { secrets: [] }),
    ],
    subscriptions: [
      subscription("a", ["invoice.paid"], { amount: 5 }),
      subscription("a", ["invoice.sent"]),
      subscription("b", ["*"]),
      subscription("d", ["*"], {}, { headers: { "x-a": "b" } }),
      subscription("e", ["*"], { "items.$.sku": "x" }),
      subscription("f", ["*"]),
    ],
  });
  const plan = await run(daemon, convoy, "--dry-run");
  expect(plan.code).toBe(EXIT.answer_is_no);
  for (const line of [
    /^ {2}a has no owner_id, so it is a tenant of its own, .+$/m,
    /^ {2}b authenticates by oauth2, which does not come over$/m,
    /^ {2}c has no subscription, so nothing is sent to it there either$/m,
    /^ {2}d filters by headers, which events do not have here$/m,
    /^ {2}e filters by items\.\$\.sku, whose \$ .+$/m,
    /^ {2}f has no signing secret in what was read$/m,
  ])
    expect(plan.out).toMatch(line);
  const done = await run(daemon, convoy, "--yes", "--skip", "--enable");
  expect(done.out).toBe("Imported: 6 endpoints: 2 added, 4 refused; 2 event types: 2 added.\n");
  expect(done.err).toContain('format = "custom"\n  header = "X-Shop"\n  hash = "sha512"\n  encoding = "base64"\n');
  const [a] = (await daemon.request("GET", "/v1/webhooks?tenant=a")).body.data;
  expect(a).toMatchObject({
    uid: "convoy:a",
    rate_per_second: 1,
    events: ["invoice.paid", "invoice.sent"],
    filter: { $or: [{ type: { $in: ["invoice.paid"] }, data: { amount: 5 } }, { type: { $in: ["invoice.sent"] } }] },
  });
  const [b] = (await daemon.request("GET", "/v1/webhooks?tenant=acme")).body.data;
  expect(b).toMatchObject({ enabled: false, events: ["*"], filter: null, description: "b" });
});

it("names single endpoints where a tenant has both kinds of signatures", async () => {
  const daemon = await TestDaemon.start({ dev: false });
  const convoy = await serve({
    endpoints: [
      endpoint("a", "https://a.example.com/"),
      endpoint("b", "https://b.example.com/", { advanced_signatures: true }),
    ],
    subscriptions: [subscription("a", ["*"]), subscription("b", ["*"])],
  });
  const { err } = await run(daemon, convoy, "--yes");
  const idOf = async (uid: string) => (await daemon.request("GET", `/v1/webhooks/uid:${uid}?tenant=acme`)).body.id;
  expect(err).toContain(`format = "convoy"\n  endpoints = ["${await idOf("convoy:a")}"]\n`);
  expect(err).toContain(`format = "convoy-advanced"\n  endpoints = ["${await idOf("convoy:b")}"]\n`);
  const missing = await webhookd(new FakeIo(), "import", "convoy", "--from", convoy.url, "--dry-run");
  expect(missing).toBe(EXIT.usage);
});
