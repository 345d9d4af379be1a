/** A Svix server, the command, a real daemon, and receivers that verify as Svix documents. */
import { createHmac } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { EXIT } from "../../cli/exit-code.ts";
import { systemClock } from "../../src/clock.ts";
import { FORMATS } from "../../src/domain/endpoints/further-signature.ts";
import { FakeIo } from "../cli/fake-io.ts";
import { webhookd } from "../cli/runs.ts";
import { aDirectory, TestDaemon } from "../harness/daemon.ts";
import type { ForeignServer } from "../harness/foreign-server.ts";
import { type Received, TestReceiver } from "../harness/receiver.ts";
import { serveSvix, svixEndpoint, svixSecret, type Svix, type SvixType, SVIX_KEY } from "../harness/svix.ts";

const PAID = { name: "invoice.paid", description: "An invoice was paid." };
const MADE = { name: "invoice.created", description: "An invoice was made." };

async function run(daemon: TestDaemon, words: readonly string[], svix?: ForeignServer) {
  const io = new FakeIo({ env: { SVIX_AUTH_TOKEN: SVIX_KEY } });
  const source = svix === undefined ? [] : ["--from", svix.url];
  const target = ["--url", daemon.url, "--key-file", join(daemon.dir, "admin.key")];
  const code = await webhookd(io, "import", "svix", ...source, ...words, ...target);
  return { code, out: io.out, err: io.err, all: io.out + io.err };
}

async function endpointsOf(daemon: TestDaemon, tenant: string): Promise<any[]> {
  return (await daemon.request("GET", `/v1/webhooks?tenant=${tenant}&limit=100&order=oldest`)).body.data;
}

const secretOf = async (daemon: TestDaemon, id: string) =>
  (await daemon.request("GET", `/v1/webhooks/${id}/secret`)).body;

const bodyOf = ({ out }: { out: string }) =>
  JSON.parse(out) as { endpoints: any[]; event_types: any[]; notes: string[] };

/** As in Svix's "Verifying payloads manually". */
function verifies({ headers, body }: Received, secret: string): boolean {
  const key = Buffer.from(secret.slice("whsec_".length), "base64");
  const signed = `${headers["svix-id"]}.${headers["svix-timestamp"]}.${body.toString()}`;
  const expected = createHmac("sha256", key).update(signed).digest("base64");
  return headers["svix-signature"]!.split(" ").includes(`v1,${expected}`);
}

describe("webhookd import svix", () => {
  it("brings over an endpoint whose receiver then verifies with the secret that it has, also after a rotation there", async () => {
    const also = [{ name: "svix", format: FORMATS.svix, tenants: null, endpoints: null }];
    const daemon = await TestDaemon.start({ clock: systemClock, also });
    const receiver = await TestReceiver.start();
    const endpoint = svixEndpoint(`http://127.0.0.1:${receiver.port}/hook`, {
      filterTypes: ["invoice.paid"],
      headers: { headers: { "X-Tenant": "northwind" }, sensitive: [] },
    });
    const secret = endpoint.secret!.key;
    const applications = [{ id: "app_1", uid: "acme", name: "Acme", endpoints: [endpoint] }];
    const svix = await serveSvix({ applications, eventTypes: [PAID] });
    const publish = async () => {
      const path = "/v1/webhooks/events?tenant=acme";
      expect((await daemon.request("POST", path, { type: "invoice.paid", data: { id: 1 } })).status).toBe(202);
      return receiver.next();
    };
    try {
      const first = await run(daemon, ["--yes", "--enable"], svix);
      expect({ code: first.code, out: first.out }).toEqual({
        code: EXIT.ok,
        out: "Imported: 1 endpoint: 1 added; 1 event type: 1 added.\n",
      });
      const request = await publish();
      expect(request.headers["x-tenant"]).toBe("northwind");
      expect(request.body.toString()).toBe('{"id":1}');
      expect(verifies(request, secret)).toBe(true);
      endpoint.secret = { key: svixSecret() };
      const second = await run(daemon, ["--yes"], svix);
      expect(second.out).toBe("Imported: 1 endpoint: 1 changed; 1 event type: 1 unchanged.\n");
      expect(second.err).not.toContain("disabled");
      const rotating = await publish();
      expect([verifies(rotating, secret), verifies(rotating, endpoint.secret.key)]).toEqual([true, true]);
      const [id] = (await endpointsOf(daemon, "acme")).map((one) => one.id);
      await daemon.request("POST", `/v1/webhooks/${id}/rotate-secret/complete`);
      expect(verifies(await publish(), endpoint.secret.key)).toBe(true);
      expect((await run(daemon, ["--yes"], svix)).out).toBe("There is nothing to import.\n");
      for (const { all } of [first, second])
        for (const one of [secret, endpoint.secret.key]) expect(all).not.toContain(one);
    } finally {
      await receiver.close();
    }
  });

  it("takes over everything that has a place here, and says what means something else or cannot come", async () => {
    const daemon = await TestDaemon.start({ dev: false });
    const [a, b, c, d, e] = [
      svixEndpoint("https://a.example.com/hook?x=1", {
        uid: "crm",
        description: "First line.\nAnd more",
        filterTypes: ["invoice.paid", "invoice..odd"],
        rateLimit: 7,
        metadata: { plan: "gold" },
        headers: { headers: { "X-One": "1", Host: "evil.example.com" }, sensitive: ["X-Key"] },
      }),
      svixEndpoint("https://b.example.com/", { channels: ["project_1", "project_2"], disabled: true }),
      svixEndpoint("http://c.example.com/"),
      svixEndpoint("https://d.example.com/", { secret: { key: svixSecret().replace("whsec_", "") } }),
      svixEndpoint("https://e.example.com/", {
        secret: { key: "whpk_2JVAH8Q0HqRkVUbKbuCJfrLFJ8lGyqlkPbGhYIDrYPU=" },
        transformation: { code: "function handler(webhook) { return webhook }", enabled: true },
      }),
    ];
    const applications = [
      { id: "app_1", uid: "acme", name: "Acme", rateLimit: 100, endpoints: [a!, b!, c!] },
      { id: "app_2", uid: null, name: "Globex", endpoints: [d!, e!] },
      { id: "app_3", uid: null, name: "Empty", endpoints: [] },
    ];
    const schema = { $schema: "http://json-schema.org/draft-07/schema#", type: "object", required: ["id"] };
    const eventTypes: SvixType[] = [
      { ...PAID, groupName: "invoices", schemas: { "1": { type: "object" }, "2": { type: "object", properties: {} } } },
      { ...MADE, schemas: { "1": { ...schema, properties: { id: { type: "string" } } } } },
      { name: "invoice..odd", description: "" },
      { name: "budget.exceeded", description: "Theirs." },
      { name: "invoice.gone", description: "", archived: true },
    ];
    const svix = await serveSvix({ applications, eventTypes }, 1);
    const plan = await run(daemon, ["--dry-run"], svix);
    expect(plan.code).toBe(EXIT.answer_is_no);
    for (const line of [
      /^budget\.exceeded +kept +-$/m,
      /^invoice\.\.odd +refused +-$/m,
      /^acme +ep_\S+ +a\.example\.com\/hook +added +-$/m,
      /^app_2 +ep_\S+ +d\.example\.com\/ +added +-$/m,
      /^ {2}ep_\S+ loses invoice\.\.odd: this type cannot come over$/m,
      /^ {2}ep_\S+ loses the header Host, which is a header that webhookd sets itself or never sends$/m,
      /^ {2}ep_\S+ has sensitive headers, whose values Svix does not give out: set X-Key by hand$/m,
      /^ {2}ep_\S+ chose channels, which are tags here: .+$/m,
      /^ {2}ep_\S+ is refused: url: the URL must begin with https:\/\/.*$/m,
      /^ {2}ep_\S+ signs with an Ed25519 key, which cannot be taken over; .+$/m,
      /^The rate of a whole application is not taken over: .+ for acme\.$/m,
      /^ {2}invoice\.created has a schema of draft-07, which is read as 2020-12$/m,
      /^1 application has no endpoints: .+$/m,
    ])
      expect(plan.out).toMatch(line);
    expect(plan.err).toMatch(/^5 endpoints: 3 added, 2 refused; 4 event types: 2 added, 1 kept, 1 refused\. Nothing/m);
    expect((await endpointsOf(daemon, "acme")).length).toBe(0);

    const refused = await run(daemon, ["--yes"], svix);
    expect([refused.code, refused.out]).toEqual([EXIT.refused, ""]);
    expect((await endpointsOf(daemon, "acme")).length).toBe(0);
    expect((await run(daemon, ["--yes", "--skip", "--enable"], svix)).code).toBe(EXIT.ok);

    const [first, second] = await endpointsOf(daemon, "acme");
    expect([first, second].toSorted((one, other) => (one.url < other.url ? -1 : 1))).toMatchObject([
      {
        url: "https://a.example.com/hook?x=1",
        uid: "crm",
        description: "First line. And more",
        events: ["invoice.paid"],
        rate_per_second: 7,
        headers: { "X-One": "***" },
        enabled: true,
        when_disabled: "hold",
        metadata: { plan: "gold", imported: { from: "svix", id: a!.id } },
      },
      {
        url: "https://b.example.com/",
        uid: `svix:${b!.id}`,
        events: ["*"],
        filter: { tags: { $in: ["project_1", "project_2"] } },
        enabled: false,
      },
    ]);
    const [other] = await endpointsOf(daemon, "app_2");
    expect(await secretOf(daemon, other.id)).toEqual({ signing_secret: `whsec_${d!.secret!.key}` });
    const paid = (await daemon.request("GET", "/v1/webhooks/event-types/invoice.paid")).body;
    expect(paid).toMatchObject({ group: "invoices", description: PAID.description, schema: { properties: {} } });
    expect((await run(daemon, ["--yes", "--skip"], svix)).out).toMatch(/\nThere is nothing to import\.\n$/);
    await daemon.request("PATCH", "/v1/webhooks/uid:crm?tenant=acme", { headers: { "X-Key": "by hand" } });
    expect((await run(daemon, ["--yes", "--skip"], svix)).out).toMatch(/\nThere is nothing to import\.\n$/);
    a!.description = "changed";
    expect((await run(daemon, ["--yes", "--skip"], svix)).out).toContain("1 changed");
    const headers = { "X-One": "***", "X-Key": "***" };
    const changed = (await daemon.request("GET", "/v1/webhooks/uid:crm?tenant=acme")).body;
    expect(changed).toMatchObject({ description: "changed", headers });
  });
});

const one = (more = {}) => {
  const endpoint = svixEndpoint("https://a.example.com/", { filterTypes: ["invoice.paid"], ...more });
  const applications = [{ id: "app_1", uid: "acme", name: "Acme", endpoints: [endpoint] }];
  return { endpoint, svix: { applications, eventTypes: [PAID, MADE] } satisfies Svix };
};

describe("a second import", () => {
  it("changes what has changed there, and makes no doubles", async () => {
    const daemon = await TestDaemon.start({});
    const { endpoint, svix } = one({ headers: { headers: { "X-One": "1", "X-Two": "2" }, sensitive: [] } });
    const server = await serveSvix(svix);
    await run(daemon, ["--yes"], server);
    endpoint.url = "https://moved.example.com";
    endpoint.filterTypes = ["invoice.created", "invoice.paid"];
    endpoint.headers = { headers: { "X-One": "1" }, sensitive: [] };
    endpoint.metadata = { plan: "gold" };
    const { out } = await run(daemon, ["--yes", "--json"], server);
    expect(bodyOf({ out }).endpoints).toMatchObject([
      { result: "changed", changed: ["url", "events", "headers", "metadata"] },
    ]);
    const [after, ...more] = await endpointsOf(daemon, "acme");
    expect(more).toEqual([]);
    expect(after).toMatchObject({ url: "https://moved.example.com/", headers: { "X-One": "***" }, enabled: false });
    endpoint.headers = { headers: { "X-One": "other" }, sensitive: [] };
    endpoint.metadata = {};
    expect(bodyOf(await run(daemon, ["--yes", "--json"], server)).endpoints[0].changed).toEqual([
      "metadata",
      "headers",
    ]);
    expect((await endpointsOf(daemon, "acme"))[0].metadata.plan).toBeUndefined();
    expect((await run(daemon, ["--yes"], server)).out).toBe("There is nothing to import.\n");
  });

  it("keeps what somebody changed here, unless it is told to overwrite that", async () => {
    const daemon = await TestDaemon.start({});
    const { endpoint, svix } = one();
    const server = await serveSvix(svix);
    await run(daemon, ["--yes"], server);
    const [{ id }] = await endpointsOf(daemon, "acme");
    await daemon.request("PATCH", `/v1/webhooks/${id}`, { url: "https://ours.example.com/" });
    endpoint.description = "changed there";
    const kept = await run(daemon, ["--yes"], server);
    expect(kept.code).toBe(EXIT.ok);
    expect(kept.out).toMatch(
      / was changed here since the last import: url, description would be replaced with --overwrite\n/,
    );
    expect((await endpointsOf(daemon, "acme"))[0]).toMatchObject({ url: "https://ours.example.com/", description: "" });
    await run(daemon, ["--yes", "--overwrite"], server);
    const [after] = await endpointsOf(daemon, "acme");
    expect(after).toMatchObject({ url: "https://a.example.com/", description: "changed there" });
  });

  it("enables what is enabled there, once it is asked to, and nothing else", async () => {
    const daemon = await TestDaemon.start({});
    const { svix } = one();
    svix.applications[0]!.endpoints.push(svixEndpoint("https://b.example.com/", { disabled: true }));
    const server = await serveSvix(svix);
    const enabled = async () => (await endpointsOf(daemon, "acme")).map((endpoint) => endpoint.enabled).toSorted();
    expect((await run(daemon, ["--yes"], server)).err).toContain("The new endpoints are disabled.");
    expect(await enabled()).toEqual([false, false]);
    expect((await run(daemon, ["--yes", "--enable"], server)).out).toContain("1 changed, 1 unchanged");
    expect(await enabled()).toEqual([false, true]);
    expect((await run(daemon, ["--yes", "--enable"], server)).out).toBe("There is nothing to import.\n");
  });

  it("refuses a uid that belongs to an endpoint of our own", async () => {
    const daemon = await TestDaemon.start({});
    const { svix } = one({ uid: "crm" });
    await daemon.request("POST", "/v1/webhooks?tenant=acme", {
      url: "https://x.example.com/",
      events: ["*"],
      uid: "crm",
    });
    const { code, all } = await run(daemon, ["--yes"], await serveSvix(svix));
    expect(code).toBe(EXIT.refused);
    expect(all).toContain("has the uid crm, and here that is ep_");
  });
});

describe("when something fails", () => {
  const many = (): Svix => ({
    applications: [
      {
        id: "app_1",
        uid: "acme",
        name: "Acme",
        endpoints: Array.from({ length: 12 }, (_, at) => svixEndpoint(`https://example.com/${at}`)),
      },
    ],
    eventTypes: [PAID],
  });

  it("waits as long as the other sender asks, and reads on", async () => {
    const daemon = await TestDaemon.start({});
    const server = await serveSvix(many(), 5);
    server.fault = (_, count) =>
      count % 7 === 0 ? { status: 429, headers: { "retry-after": "2" } } : count % 11 === 0 ? "cut" : undefined;
    const { code, out } = await run(daemon, ["--yes"], server);
    expect({ code, out }).toEqual({ code: EXIT.ok, out: expect.stringContaining("12 endpoints: 12 added") });
  });

  it.each([
    [{ status: 500 }, EXIT.unreachable, "answers 500, 6 times"],
    [{ status: 429, headers: { "retry-after": "3600" } }, EXIT.unreachable, "Try again in 1h"],
    [{ status: 401 }, EXIT.not_allowed, "refuses the key (401)\n  The key in SVIX_AUTH_TOKEN was used."],
    [
      { status: 302, headers: { location: "https://elsewhere.example/" } },
      EXIT.refused,
      "answers with a redirect (302)",
    ],
    [{ status: 200, body: "<html>whsec_secret" }, EXIT.refused, "does not answer with JSON (200)"],
    [{ status: 404 }, EXIT.not_found, "Check --from."],
  ])("says what %j means, and does nothing", async (answer, exit, says) => {
    const daemon = await TestDaemon.start({});
    const server = await serveSvix(many());
    server.fault = (path) => (path.endsWith("/secret") ? answer : undefined);
    const { code, out, err } = await run(daemon, ["--yes"], server);
    expect({ code, out }).toEqual({ code: exit, out: "" });
    expect(err).toContain(says);
    expect(err).not.toContain("whsec_");
    expect(err).not.toContain(SVIX_KEY);
    expect(await endpointsOf(daemon, "acme")).toEqual([]);
  });

  it("refuses pages that do not end", async () => {
    const daemon = await TestDaemon.start({});
    const server = await serveSvix(many());
    const body = { data: [], iterator: "ep_1", done: false };
    server.fault = (path) => (path.endsWith("/endpoint") ? { status: 200, body } : undefined);
    const { code, err } = await run(daemon, ["--yes"], server);
    expect([code, err]).toEqual([EXIT.refused, expect.stringContaining("do not end")]);
  });

  it("goes on where it was cut short: what is there is not made again, and what is half there is finished", async () => {
    const daemon = await TestDaemon.start({ settings: { ENDPOINTS_MAX_PER_TENANT: "8" } });
    const server = await serveSvix(many());
    const first = await run(daemon, ["--yes"], server);
    expect(first.code).not.toBe(EXIT.ok);
    expect(first.err).toMatch(/webhookd: 8 of 12 endpoints are imported: .+\n {2}Run the same command again/);
    const dir = daemon.dir;
    await daemon.stop();
    const wider = await TestDaemon.start({ dir, settings: { ENDPOINTS_MAX_PER_TENANT: "12" } });
    expect((await run(wider, ["--yes"], server)).out).toContain("12 endpoints: 4 added, 8 unchanged");
    expect(new Set((await endpointsOf(wider, "acme")).map(({ url }) => url)).size).toBe(12);
  });
});

describe("an export file", () => {
  it("is what the API's answers are, and no message repeats what is in it", async () => {
    const daemon = await TestDaemon.start({});
    const dir = aDirectory();
    const file = join(dir, "svix.json");
    const { svix, endpoint } = one();
    writeFileSync(file, JSON.stringify({ applications: svix.applications, event_types: svix.eventTypes }));
    expect((await run(daemon, ["--file", file, "--yes"])).out).toContain("1 endpoint: 1 added");
    const [{ id }] = await endpointsOf(daemon, "acme");
    expect(await secretOf(daemon, id)).toEqual({ signing_secret: endpoint.secret!.key });
    for (const [text, says] of [
      [`{"applications": [{"secret": "${endpoint.secret!.key}",}]}`, "svix.json:1:"],
      [`["${endpoint.secret!.key}"]`, "is not a JSON object"],
      [`{"data": ["${endpoint.secret!.key}"]}`, 'has no "applications"'],
    ] as const) {
      writeFileSync(file, text);
      const { code, err } = await run(daemon, ["--file", file, "--yes"]);
      expect([code, err]).toEqual([EXIT.usage, expect.stringContaining(says)]);
      expect(err).not.toContain(endpoint.secret!.key);
    }
  });
});
