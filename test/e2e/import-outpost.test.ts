/** An Outpost server, the command, a real daemon, and receivers that verify as Outpost documents. */
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

const KEY = "outpost-key";
const [SECRET, NEXT] = ["6f1d2c3b4a5968778695a4b3c2d1e0f0", "9b8a7c6d5e4f30211203f4e5d6c7a8b9"];

interface Tenant {
  readonly id: string;
  readonly destinations: object[];
}

/** As in its published description: tenants in pages with a cursor, destinations and topics as plain lists. */
function serve(tenants: readonly Tenant[], topics: readonly string[]): Promise<ForeignServer> {
  return foreignServer(KEY, ({ pathname, searchParams }) => {
    const path = pathname.replace("/api/v1", "");
    if (path === "/topics") return topics;
    if (path === "/tenants") {
      const from = Number(searchParams.get("next") ?? 0);
      const models = tenants.slice(from, from + 1).map(({ id }) => ({ id, topics: [], metadata: null }));
      const next = from + 1 < tenants.length ? String(from + 1) : null;
      return { models, pagination: { order_by: "created_at", dir: "desc", limit: 1, next, prev: null }, count: 2 };
    }
    const [, id] = /^\/tenants\/([^/]+)\/destinations$/.exec(path) ?? [];
    return tenants.find((tenant) => tenant.id === id)?.destinations ?? null;
  });
}

const destination = (id: string, url: string, more: object = {}) => ({
  id,
  type: "webhook",
  topics: ["invoice.paid"],
  config: { url },
  credentials: { secret: SECRET },
  disabled_at: null,
  created_at: "2026-01-01T00:00:00Z",
  metadata: null,
  ...more,
});

async function run(daemon: TestDaemon, outpost: ForeignServer, ...words: string[]) {
  const io = new FakeIo({ env: { OUTPOST_API_KEY: KEY } });
  const target = ["--url", daemon.url, "--key-file", join(daemon.dir, "admin.key")];
  const code = await webhookd(io, "import", "outpost", "--from", `${outpost.url}/api/v1/`, ...words, ...target);
  return { code, out: io.out, err: io.err };
}

const verifies = ({ headers, body }: Received, secret: string) =>
  headers["x-outpost-signature"] === `v0=${createHmac("sha256", secret).update(body).digest("hex")}`;

it("Outpost's webhooks come over, and their receivers verify the header that they know; other destinations cannot", async () => {
  const section = { format: "custom", header: "x-outpost-signature", value: "v0={signature}" };
  const { also } = readAlso([section], () => "here");
  const daemon = await TestDaemon.start({ clock: systemClock, also });
  const receiver = await TestReceiver.start();
  onTestFinished(() => receiver.close());
  const hook = destination("des_1", receiver.url, {
    filter: { $or: [{ data: { amount: { $gte: 100 } } }, { topic: { $eq: "invoice.created" } }] },
    config: { url: receiver.url, custom_headers: '{"x-source":"outpost"}' },
    metadata: { team: "billing" },
  });
  const acme: Tenant = { id: "acme", destinations: [hook] };
  const rotating = { secret: SECRET, previous_secret: NEXT, previous_secret_invalid_at: "2026-11-21T00:00:00Z" };
  const globex: Tenant = {
    id: "globex",
    destinations: [
      destination("des_2", "https://b.example.com/", { topics: "*", disabled_at: "2026-03-01T12:00:00Z" }),
      destination("des_3", "https://c.example.com/", { type: "aws_sqs" }),
      destination("des_4", "https://d.example.com/", { filter: { metadata: { a: "b" } } }),
      destination("des_5", "https://e.example.com/", { credentials: rotating, delivery_metadata: { a: "b" } }),
      destination("des_6", "https://f.example.com/", { filter: { data: { a: { $regex: "x" } } } }),
    ],
  };
  const server = await serve([acme, globex], ["invoice.paid", "invoice.created"]);
  const plan = await run(daemon, server, "--dry-run");
  expect(plan.code).toBe(EXIT.answer_is_no);
  for (const line of [
    /^ {2}des_3 is of the type aws_sqs, and webhookd sends to webhooks only$/m,
    /^ {2}des_4 filters by metadata, and a filter here sees only .+$/m,
    /^ {2}des_5 has delivery_metadata, which is not sent here$/m,
    /^ {2}des_5 is rotating its secret there: .+ the old one ends 2026-11-21T00:00:00Z$/m,
    /^ {2}des_6 is refused: filter\.data\.a.+\$regex.+$/m,
  ])
    expect(plan.out).toMatch(line);
  expect((await run(daemon, server, "--yes", "--skip", "--enable")).out).toBe(
    "Imported: 6 endpoints: 3 added, 3 refused; 2 event types: 2 added.\n",
  );
  const endpoints = (await daemon.request("GET", "/v1/webhooks?tenant=globex&limit=100")).body.data;
  expect(endpoints.find(({ uid }: { uid: string }) => uid === "outpost:des_2")).toMatchObject({
    enabled: false,
    events: ["*"],
    metadata: { imported: { from: "outpost", id: "des_2" } },
  });
  const publish = (amount: number) =>
    daemon.request("POST", "/v1/webhooks/events?tenant=acme", { type: "invoice.paid", data: { amount } });
  await publish(5);
  await publish(100);
  const request = await receiver.next();
  expect(JSON.parse(request.body.toString())).toEqual({ amount: 100 });
  expect(request.headers["x-source"]).toBe("outpost");
  expect(verifies(request, SECRET)).toBe(true);
  hook.credentials = { secret: NEXT };
  expect((await run(daemon, server, "--yes", "--skip")).out).toContain("1 changed, 2 unchanged, 3 refused");
  await publish(101);
  expect(verifies(await receiver.next(), NEXT)).toBe(true);
});
