import { createHash } from "node:crypto";
import { gzipSync } from "node:zlib";
import { Validator } from "@seriousme/openapi-schema-validator";
import { describe, expect, it } from "vitest";
import { page } from "../../../src/api/openapi/page.ts";
import { KEY_PAGE_POLICY, PAGE_POLICY } from "../../../src/api/openapi/page-parts.ts";
import { openapi } from "../../../src/api/openapi/document.ts";
import { Signer } from "../../../src/delivery/send/signer.ts";
import { envelope } from "../../../src/domain/events/event.ts";
import { catalogueOf } from "../../../src/domain/events/catalogue.ts";
import { Catalogue } from "../../../src/api/event-types/catalogue.ts";
import { ManualClock } from "../../harness/clock.ts";
import { aTarget } from "../../harness/target.ts";
import { CODES, exampleOf } from "../../../src/api/openapi/responses.ts";
import { PROBLEMS } from "../../../src/domain/errors.ts";
import { Description, token } from "./described.ts";
import { FakeStore } from "../fake-store.ts";
import { aConfig, ApiServer } from "../server.ts";

const api = await ApiServer.start(new FakeStore().asStore());
const description = new Description((await api.get("/openapi.json")).body);
const { document } = description;

/** Shorter ones cost less where they are than as components. */
const LONG_SHAPE = 215;

describe("the description", () => {
  it("is valid OpenAPI 3.1", async () => {
    const validator = new Validator();
    expect(await validator.validate(structuredClone(document))).toEqual({ valid: true });
    expect(validator.version).toBe("3.1");
  });

  it("is at most 190 KB, so that tools and people load it quickly", () => {
    expect(Buffer.byteLength(JSON.stringify(document))).toBeLessThan(190_000);
  });

  it("has no long shape twice: `titled` and `named` make it a component", () => {
    const found = new Map<string, number>();
    const look = (value: unknown) => {
      if (typeof value !== "object" || value === null) return;
      for (const [name, each] of Object.entries(value)) {
        if (name === "properties") {
          for (const { default: _, readOnly: __, ...shape } of Object.values(
            each as Record<string, object & { default?: unknown; readOnly?: unknown }>,
          )) {
            const text = JSON.stringify(shape);
            if (text.length > LONG_SHAPE) found.set(text, (found.get(text) ?? 0) + 1);
          }
        }
        look(each);
      }
    };
    look(document.components);
    expect([...found].filter(([, count]) => count > 1)).toEqual([]);
  });

  it("asks for a key only if the configuration says so, whichever its scopes are", async () => {
    const closed = await ApiServer.start(new FakeStore().asStore(), { config: aConfig({ SERVER_DOCS: "key" }) });
    expect((await api.get("/openapi.json", { key: null })).status).toBe(200);
    expect((await closed.get("/openapi.json", { key: null })).status).toBe(401);
    expect((await closed.get("/openapi.json", { key: await closed.addKey(["metrics"]) })).status).toBe(200);
  });

  it("holds every route", () => {
    const described = description.operations().map(({ method, path }) => `${method} ${path}`);
    const forClients = api.routes.filter(({ operation }) => operation.isPage !== true);
    const routes = forClients.map(({ method, path }) => `${method} ${path.replaceAll(/:(\w+)/g, "{$1}")}`);
    expect(described.toSorted()).toEqual(routes.toSorted());
  });

  it("follows the catalogue, which a running daemon may change", async () => {
    const store = new FakeStore().asStore();
    const catalogue = Catalogue.unread(aConfig(), { store, clock: new ManualClock() });
    const { types } = catalogue;
    const server = await ApiServer.start(store, { catalogue });
    const named = async () => {
      // Open pages are paced by their length.
      server.clock.advance("1s");
      const { webhooks, components } = (await server.get("/openapi.json")).body;
      const { ChosenTypes, EventTypeName } = components.schemas;
      expect(ChosenTypes.items.examples).toEqual(["*", ...Object.keys(webhooks)]);
      expect(EventTypeName.enum).toEqual(Object.keys(webhooks));
      expect((await server.get("/docs")).text.includes("order.shipped")).toBe("order.shipped" in webhooks);
      // Long pages without a key are paced.
      server.clock.advance(60_000);
      return Object.keys(webhooks);
    };
    expect(await named()).toEqual([...types.keys()]);
    types.set("order.shipped", { ...types.get("goal.achieved")!, name: "order.shipped" });
    expect(await named()).toContain("order.shipped");
    types.delete("order.shipped");
    types.set("order.shipped", { ...types.get("goal.achieved")!, name: "order.shipped", description: "Off it went." });
    await named();
    expect((await server.get("/docs")).text).toContain("Off it went.");
  });

  it("names the scope that each route asks for", () => {
    expect(document.security).toEqual([{ key: [] }]);
    expect(document.paths["/v1/webhooks"].post).toMatchObject({ "x-scope": "manage" });
    expect(document.paths["/v1/portal"].get).not.toHaveProperty("x-scope");
    expect(document.paths["/healthz"].get.security).toEqual([]);
  });

  it("holds every problem, each with an example that is one", () => {
    for (const code of CODES)
      expect(description.faults("/components/schemas/Problem", exampleOf(code)), code).toEqual([]);
  });

  it("shows bodies and answers that are what it says of them", () => {
    for (const { method, path, operation } of description.operations()) {
      const at = `/paths/${token(path)}/${method.toLowerCase()}`;
      for (const [type, { example }] of Object.entries<any>(operation.requestBody?.content ?? {})) {
        const faults = description.faults(`${at}/requestBody/content/${token(type)}/schema`, example);
        expect(faults, `${method} ${path}`).toEqual([]);
      }
      const { replies } = api.routes.find((route) => route.operation.id === operation.operationId)!.operation;
      for (const [status, { example, schema, type = "application/json" }] of Object.entries(replies)) {
        if (schema === undefined) continue;
        const faults = description.faults(`${at}/responses/${status}/content/${token(type)}/schema`, example);
        expect(faults, `${method} ${path} ${status}`).toEqual([]);
      }
    }
  });

  it("says of every field what it is", () => {
    const nothing: string[] = [];
    const look = (at: string, value: unknown) => {
      if (typeof value !== "object" || value === null) return;
      for (const [name, each] of Object.entries(value)) {
        const isField = at.endsWith("/properties") || name === "schema" || name === "items";
        const says = ["type", "$ref", "anyOf", "allOf", "enum", "const"].some((keyword) => keyword in Object(each));
        if (isField && !at.includes("example") && !says) nothing.push(`${at}/${name}`);
        look(`${at}/${name}`, each);
      }
    };
    look("", document);
    expect(nothing).toEqual([]);
  });
});

describe("the receivers' part", () => {
  const { webhooks } = document;

  it("has a webhook for each event type, with an example of what is sent", () => {
    expect(Object.keys(webhooks)).toEqual([...catalogueOf().keys()]);
    for (const [name, { sample }] of catalogueOf()) {
      const media = `/webhooks/${token(name)}/post/requestBody/content/${token("application/json")}`;
      const { example } = webhooks[name].post.requestBody.content["application/json"];
      expect(example).toEqual(expect.objectContaining({ type: name, data: sample }));
      const sent = envelope(example.id, name, Date.parse(example.created_at), Buffer.from(JSON.stringify(sample)));
      expect(JSON.stringify(example)).toBe(sent.toString());
      expect(description.faults(`${media}/schema`, example)).toEqual([]);
    }
  });

  it.each([true, false])("lists the headers that a request carries, with Standard Webhooks: %s", (standardWebhooks) => {
    const signature = { header: "X-Our-Signature", standardWebhooks };
    const { retry } = aConfig();
    const made = new Description(
      openapi({ routes: [], types: catalogueOf().values(), version: "1.2.3", signature, retry }),
    );
    const signer = new Signer(aTarget({ traceContext: true }), { ...signature, also: [], version: "1.2.3" });
    const trace = { traceparent: "00-1", tracestate: "a=b" };
    const job = {
      event: "evt_1",
      delivery: "dlv_1",
      endpoint: "ep_1",
      body: Buffer.from("{}"),
      number: 1,
      fresh: true,
      trace,
    };
    const { headers } = signer.sign({ ...job, trigger: "test" }, 1795168000);
    const sent = headers.filter((_, index) => index % 2 === 0);
    const ours = sent.filter((name) => name !== "content-type" && name !== "user-agent");
    const { parameters } = made.document.webhooks["budget.exceeded"].post;
    expect(parameters.map((each: object) => made.resolved(each).name)).toEqual(ours);
  });
});

describe("the page", () => {
  const examples = api.routes.map(({ operation: { id, replies } }) => {
    return [id, Object.fromEntries(Object.entries(replies).map(([status, { example }]) => [status, example]))] as const;
  });
  const html = page(document, new Map(examples));

  it("is served under a policy that lets nothing be loaded, and only its own script run", async () => {
    const { status, headers, text } = await api.get("/docs", { key: null });
    expect(status).toBe(200);
    expect(headers).toMatchObject({
      "content-type": "text/html; charset=utf-8",
      "content-security-policy": PAGE_POLICY,
      "x-content-type-options": "nosniff",
    });
    expect(text).toBe(html);
  });

  it("asks for a key first where the description is closed, and shows nothing of it before", async () => {
    const closed = await ApiServer.start(new FakeStore().asStore(), { config: aConfig({ SERVER_DOCS: "key" }) });
    const { status, headers, text } = await closed.get("/docs", { key: null });
    expect({ status, headers }).toMatchObject({ status: 200, headers: { "content-security-policy": KEY_PAGE_POLICY } });
    expect(text).not.toMatch(/\/v1\/|publishEvent/);
    expect((await closed.get("/docs/description", { key: null })).status).toBe(401);
    const opened = await closed.get("/docs/description", { key: await closed.addKey(["publish"]) });
    expect(opened.text).toContain("publishEvent");
    const [, script = ""] = /<script>([^]*)<\/script>/.exec(text) ?? [];
    const digest = createHash("sha256").update(script).digest("base64");
    expect(KEY_PAGE_POLICY).toContain(`script-src 'sha256-${digest}'`);
  });

  it("needs no network", () => {
    expect(html).not.toMatch(/<(?:img|link|iframe|object|embed|form|base)\b|\bstyle=|\bon\w+="|@import|url\(/i);
    const scripts = [...html.matchAll(/<script([^>]*)>([^]*?)<\/script>/g)];
    expect(scripts.map(([, attributes]) => attributes)).toEqual([""]);
    const digest = createHash("sha256").update(scripts[0]![2]!).digest("base64");
    expect(PAGE_POLICY).toContain(`script-src 'sha256-${digest}';`);
    const targets = [...html.matchAll(/(?:href|src)="([^"]*)"/g)].map(([, target]) => target!);
    expect(targets.filter((target) => !target.startsWith("#"))).toEqual([]);
    for (const target of new Set(targets)) expect(html, target).toContain(`id="${target.slice(1)}"`);
  });

  it("shows every operation, webhook, problem and shape", () => {
    const ids = [
      ...description.operations().map(({ operation }) => operation.operationId),
      ...Object.keys(document.webhooks).map((name) => `receive.${name}`),
      ...Object.keys(PROBLEMS).map((code) => `error.${code}`),
      ...Object.keys(document.components.schemas).map((name) => `shape.${name}`),
    ];
    for (const id of ids) expect(html).toContain(`id="${id}"`);
  });

  it("says how each call is made, in each language, and shows what it answers", () => {
    for (const { operation } of description.operations()) {
      const [, own = ""] = html.split(`<details class="item" id="${operation.operationId}">`);
      const [item = ""] = own.split('<details class="item"');
      for (const language of ["curl", "node", "python"]) {
        expect(item, operation.operationId).toContain(`<pre class="sample ${language}">`);
      }
    }
    expect(html).toContain("&quot;consecutive_failures&quot;: 0");
  });

  it("is small enough to load at once", async () => {
    expect(gzipSync(html).length).toBeLessThan(61_000);
    expect((await api.get("/docs", { headers: { "accept-encoding": "br" } })).headers["content-encoding"]).toBe("br");
  });

  it("closes every element that it opens", () => {
    const open: string[] = [];
    for (const [, close, name] of html.matchAll(/<(\/?)([a-z][a-z0-9]*)\b[^>]*>/g)) {
      if (name === "meta" || name === "input") continue;
      if (close === "") open.push(name!);
      else expect(open.pop()).toBe(name);
    }
    expect(open).toEqual([]);
  });

  it("shows text from a configuration as text", () => {
    const type = {
      name: "a.b",
      source: "example" as const,
      schema: { type: "object" },
      sample: { x: "</pre><script>" },
      description: "<b>&amp;",
    };
    const made = openapi({
      routes: [],
      types: [type],
      version: "0",
      signature: { header: "X-S", standardWebhooks: true },
      retry: { delays: [], timeout: 10_000 },
    });
    expect(page(made)).toContain("<p>&lt;b&gt;&amp;amp;</p>");
    expect(page(made).match(/<script>|<b>/g)).toHaveLength(1);
    expect(page(made)).toContain("It is not sent again.");
  });
});
