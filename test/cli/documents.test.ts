/** The event types that OpenAPI and AsyncAPI documents describe: real-looking ones, and hostile ones. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { DescribedType } from "../../cli/types/document/body.ts";
import { typesIn } from "../../cli/types/document/document.ts";
import { MAX_YAML_BYTES } from "../../cli/types/document/read.ts";
import { openDataCheck, SingleChecks } from "../../src/api/event-types/data-check.ts";
import { Failure } from "../../cli/failure.ts";

const FOLDER = "test/corpora/documents";

async function inText(text: string, name = "stdin", dataIn?: string) {
  return typesIn(text, name, dataIn);
}

const inFile = (file: string, dataIn?: string) => inText(readFileSync(join(FOLDER, file), "utf8"), file, dataIn);

/** The names and what is said of them; a reason where there is no draft. */
function outline(types: readonly DescribedType[]) {
  return Object.fromEntries(
    types.map((type) => {
      if (type.draft === null) return [type.name, type.reason];
      const { name, schema: _, ...said } = type.draft;
      return [name, said];
    }),
  );
}

function draftOf(types: readonly DescribedType[], name: string) {
  const { draft } = types.find((type) => type.name === name)!;
  return draft!;
}

/** Returns the fault of data against the schema of a draft. */
async function faultOf(file: string, name: string, data: object, dataIn?: string) {
  const { schema } = draftOf(await inFile(file, dataIn), name);
  const sample = new SingleChecks().sampleFor({ name, schema: schema! });
  const fault = openDataCheck([{ name, schema: schema!, sample }])(name, Buffer.from(JSON.stringify(data)));
  return fault && `${fault.pointer} ${fault.detail}`;
}

describe("an OpenAPI document", () => {
  it("whose bodies are events as they are sent gives the schema of their data, and their own names", async () => {
    const types = await inFile("billing.openapi.yaml");
    expect(outline(types)).toEqual({
      "invoice.finalized": {
        description: "An invoice got its number and can no longer be edited.",
        group: "invoices",
        sample: expect.objectContaining({ id: "inv_8Gq2", number: "L-2026-004112" }),
      },
      "invoice.payment_failed": {
        description: "A payment of an invoice was refused.",
        group: "invoices",
        deprecated: true,
      },
      "dispute.opened": { description: "A customer contests a payment.", group: "disputes" },
      "rates.published": expect.stringContaining(
        "refers to another document, https://schemas.ledgerline.example/rates.json#/Rates",
      ),
    });
    const { schema } = draftOf(types, "invoice.finalized");
    expect(schema).toMatchObject({
      required: ["id", "currency", "total", "lines"],
      properties: { total: { $ref: "#/$defs/Money" }, corrects: { $ref: "#/$defs/Invoice" } },
      $defs: { Money: { additionalProperties: false }, Invoice: { type: "object" } },
    });
    expect(JSON.stringify(schema)).not.toMatch(/xml|components/);
    const total = { amount: 1, scale: 2 };
    const invoice = { id: "inv_1234", currency: "EUR", total, lines: [{ amount: total }] };
    const fault = (data: object) => faultOf("billing.openapi.yaml", "invoice.finalized", data);
    expect(await fault({ ...invoice, corrects: invoice })).toBeNull();
    expect(await fault({ ...invoice, corrects: { ...invoice, currency: "eur" } })).toMatch(/^\/corrects\/currency /);
    expect(await fault({ ...invoice, total: { ...total, tax: 1 } })).toMatch(/^\/total\/tax is not in the schema/);
  });

  it("of version 3.0 gives its x-webhooks, with null where it is nullable", async () => {
    const types = await inFile("forge.openapi.json");
    expect(outline(types)).toEqual({
      "merge-request-opened": { description: "Somebody asks for a branch to be merged", group: "merge-request" },
      "label-deleted": {
        description: "A label is gone",
        group: "label",
        sample: expect.objectContaining({ action: "deleted" }),
      },
      "package-pushed": "refers to another document, packages.json#/definitions/pushed; put it into this one",
      ping: { description: "The hook was added", group: "ping" },
      health: "has no post operation, and events are posted",
    });
    expect(draftOf(types, "ping").schema).toBeUndefined();
    const { schema } = draftOf(types, "merge-request-opened");
    expect(schema).toMatchObject({
      properties: {
        number: { type: "integer", exclusiveMinimum: 0, examples: [212] },
        merge_request: {
          properties: { body: { type: ["string", "null"] }, xml: { type: "string" } },
        },
        sender: { $ref: "#/$defs/simple_user" },
      },
    });
    const made = new SingleChecks().sampleFor({ name: "m", schema: schema! });
    expect(made).toMatchObject({ action: "opened", number: 212, sender: { login: "anvil" } });
  });

  it("with another envelope gives the data of the field that is named", async () => {
    const types = await inFile("terminal.openapi.yaml", "payload");
    expect(outline(types)).toEqual({
      "tillway.accountHolder.updated": {
        description: "The details of an account holder changed",
        group: "Account holders",
        sample: { accountHolder: expect.objectContaining({ id: "AH3227C" }) },
      },
      "tillway.transfer.booked": { description: "A transfer was booked", group: "Transfers", deprecated: false },
      REPORT_AVAILABLE: "has a body that is not JSON, but application/x-www-form-urlencoded",
      "tillway transfer failed": { description: "A name with spaces" },
    });
    const fault = (data: object) => faultOf("terminal.openapi.yaml", "tillway.transfer.booked", data, "payload");
    expect(await fault({ amount: { currency: "EUR", value: 1 }, sequence: 0 })).toMatch(/^\/sequence /);
    const whole = draftOf(await inFile("terminal.openapi.yaml"), "tillway.transfer.booked");
    expect(whole.schema).toMatchObject({ required: ["payload", "kind"] });
    const other = await inFile("terminal.openapi.yaml", "body");
    expect(outline(other)["tillway.transfer.booked"]).toBe("has no field body in its body");
  });
});

describe("an AsyncAPI document", () => {
  it("of version 2 gives the messages that its subscribers get", async () => {
    const types = await inFile("orders.asyncapi.yaml");
    expect(outline(types)).toEqual({
      "order.placed": {
        description: "A shop handed an order over.",
        group: "orders",
        sample: expect.objectContaining({ order: "PD-2026-77" }),
      },
      "order.rerouted": { group: "routing" },
      "order.scanned": "has a body that is not JSON, but avro/binary",
      "parcel.lost": { description: "Nobody knows where it is." },
    });
    const placed = (parcels: unknown[]) =>
      faultOf("orders.asyncapi.yaml", "order.placed", { order: "PD-2026-1", parcels });
    expect(await placed([["P1", 5, "fragile"]])).toBeNull();
    expect(await placed([["P1", 0]])).toMatch(/^\/parcels\/0\/1 /);
    expect(await placed([["P1", 5, "heavy"]])).toMatch(/^\/parcels\/0\/2 /);
    const rerouted = (data: object) => faultOf("orders.asyncapi.yaml", "order.rerouted", data);
    expect(await rerouted({ order: "PD-2026-1", to: "LIS" })).toBeNull();
    expect(await rerouted({ order: "PD-2026-1", to: "MAD" })).toMatch(/^\/to /);
    expect(await rerouted({ order: "PD-2026-1", to: "LIS", reason: "flood" })).toMatch(/from/);
  });

  it("of version 3 gives the messages of the operations that send", async () => {
    const types = await inFile("accounts.asyncapi.json");
    expect(outline(types)).toEqual({
      "account.opened": {
        description: "An account was opened.",
        group: "accounts",
        sample: { number: "40-118", holders: [{ name: "R. Vale" }] },
      },
      "account.closed": { description: "Account closed", group: "accounts", deprecated: true },
      "account.renamed": "has a payload described by application/raml+yaml;version=1.0, and not by JSON Schema",
    });
    expect(draftOf(types, "account.closed").schema).toMatchObject({ required: ["account", "closed_by"] });
  });
});

it.each(readdirSync(FOLDER))(
  "every type of %s has a schema that a daemon takes, and a sample that matches",
  async (file) => {
    const checks = new SingleChecks();
    for (const { draft } of await inFile(file)) {
      if (draft?.schema === undefined) continue;
      const { name, schema, sample } = draft;
      expect(() => checks.sampleFor({ name, schema, sample }), name).not.toThrow();
      expect(() => checks.sampleFor({ name, schema: { ...schema } }), name).not.toThrow();
    }
  },
);

/** A document with one webhook, whose body has this schema. */
function webhookOf(schema: unknown, components: object = {}): string {
  const content = { "application/json": { schema } };
  const webhooks = { "a.b": { post: { requestBody: { content } } } };
  return JSON.stringify({ openapi: "3.1.0", webhooks, components: { schemas: components } });
}

describe("a schema", () => {
  const reasonOf = async (schema: unknown, components?: object) =>
    outline(await inText(webhookOf(schema, components)))["a.b"];
  const schemaOf = async (schema: unknown, components?: object) =>
    draftOf(await inText(webhookOf(schema, components)), "a.b").schema;
  const ref = (name: string) => ({ $ref: `#/components/schemas/${name}` });

  it.each([
    [ref("gone"), "refers to #/components/schemas/gone, which is not in the document"],
    [ref("__proto__"), "which is not in the document"],
    [ref("a"), "references are circular"],
    [{ properties: { x: { $ref: "#name" } } }, "refers to the anchor #name"],
    [{ properties: { x: { $ref: "file:///etc/passwd" } } }, "refers to another document, file:///etc/passwd"],
    [{ $dynamicRef: "#node" }, "$dynamicRef"],
    [{ $schema: "http://json-schema.org/draft-04/schema#" }, "in the dialect http://json-schema.org/draft-04/schema#"],
    [{ properties: { x: 5 } }, "has a schema that is neither"],
    [{ enum: Array.from({ length: 50_000 }, (_, at) => at) }, "of more than 40000 values"],
  ])("%j is refused", async (schema, reason) => {
    expect(await reasonOf(schema, { a: ref("b"), b: ref("a") })).toContain(reason);
  });

  it("that is too deep is refused", async () => {
    const deep = (levels: number) => Array.from({ length: levels }).reduce<object>((items) => ({ items }), {});
    expect(await reasonOf(deep(100))).toContain("more than 56 deep");
    expect(await reasonOf({ default: deep(100) })).toContain("more than 56 deep");
    expect(await schemaOf(deep(40))).toMatchObject({ items: {} });
  });

  it("whose parts have the same name keeps both", async () => {
    const schema = { properties: { x: ref("one/item"), y: { $ref: "#/components/schemas/two/item" } } };
    const components = { "one/item": { type: "integer" }, two: { item: { type: "string" } } };
    const escaped = JSON.parse(JSON.stringify(schema).replace("one/item", "one~1item")) as object;
    expect(await schemaOf(escaped, components)).toMatchObject({
      properties: { x: { $ref: "#/$defs/one_item" }, y: { $ref: "#/$defs/item" } },
      $defs: { one_item: { type: "integer" }, item: { type: "string" } },
    });
  });

  it("with an $id counts its references from itself", async () => {
    const order = {
      $id: "https://example.com/order",
      properties: { x: { $ref: "#/$defs/line" } },
      $defs: { line: { type: "integer" } },
    };
    expect(await schemaOf(ref("order"), { order })).toEqual({
      $schema: "https://json-schema.org/draft/2020-12/schema",
      properties: { x: { $ref: "#/$defs/line" } },
      $defs: { line: { type: "integer" } },
    });
  });

  it("keeps members that have the names of keywords, or of what every object has", async () => {
    const text =
      '{"properties":{"xml":{"type":"string"},"example":{},"$id":{},"__proto__":{"type":"integer"},"x-a":{}}}';
    expect(Object.keys((await schemaOf(JSON.parse(text)))!.properties as object)).toEqual([
      "xml",
      "example",
      "$id",
      "__proto__",
      "x-a",
    ]);
  });
});

describe("what cannot be read", () => {
  const faultIn = async (text: string, name?: string) => {
    const fault = await inText(text, name).then(
      () => null,
      (error: unknown) => error,
    );
    expect(fault).toBeInstanceOf(Failure);
    return (fault as Failure).message;
  };

  it.each([
    ["{", "a.json", /^a\.json:1:2: /],
    ['{"openapi": "3.1.0",\n "openapi": "3.1.0"}', "a.json", /^a\.json:2:2: .*openapi/],
    ["a: 1\nb: [\n", "a.yaml", /^a\.yaml:\d+:\d+: /],
    ["a: 1\na: 2\n", "a.yaml", /^a\.yaml:2:1: duplicated mapping key$/],
    ["openapi: 3.1.0\nwebhooks: !include other.yaml\n", "a.yaml", /^a\.yaml:2:\d+: unknown .* tag .*include/],
    ["a: *nothing\n", "a.yaml", /^a\.yaml:1:5: unidentified alias "nothing"$/],
    ["--- {}\n--- {}\n", "a.yaml", /expected a single document/],
    ["just text", "a.yaml", /^a\.yaml is not an OpenAPI or AsyncAPI document$/],
    ["[]", "a.json", /^a\.json is not an OpenAPI or AsyncAPI document$/],
    ["swagger: '2.0'", "a.yaml", /or AsyncAPI 2 or 3, but of version 2\.0$/],
    ["openapi: 3.1.0\npaths: {}", "a.yaml", /^a\.yaml describes no webhooks$/],
    ["asyncapi: 3.0.0\nchannels: {}", "a.yaml", /^a\.yaml describes no messages$/],
    ["asyncapi: 9.0.0", "a.yaml", /but of version 9\.0\.0$/],
  ])("%j in %s says where and why", async (text, name, message) => {
    expect(await faultIn(text, name)).toMatch(message);
  });

  it("aliases that multiply are refused where they would", async () => {
    const levels = "abcdefghij".split("");
    const lines = levels.map((level, at) => {
      const below = at === 0 ? "lol" : `*${levels[at - 1]}`;
      return `  ${level}: &${level} { x: [${Array.from({ length: 9 }, () => below).join(", ")}] }`;
    });
    const body = (media: string) => `{ post: { requestBody: { content: { application/json: ${media} } } } }`;
    const webhooks = [
      `  in.example: ${body("{ example: *j }")}`,
      `  in.schema: ${body("{ schema: { enum: [*j] } }")}`,
      `  in.text: ${body(`{ example: { x: [${Array.from({ length: 100 }, () => "*long").join()}] } }`)}`,
    ];
    const long = `x-long: &long "${"x".repeat(1000)}"`;
    const text = ["openapi: 3.1.0", long, "x-levels:", ...lines, "webhooks:", ...webhooks].join("\n");
    const reasons = outline(await inText(text, "a.yaml"));
    expect(reasons).toEqual({
      "in.example": expect.stringMatching(/more than 40000 values|more than 65536 characters/),
      "in.schema": expect.stringMatching(/more than 40000 values|more than 65536 characters/),
      "in.text": "has a schema or an example of more than 65536 characters",
    });
  });

  it("nesting without end is refused, in JSON and in YAML", async () => {
    expect(await faultIn(`{"a":${"[".repeat(100_000)}`, "a.json")).toMatch(/nested more than 500 deep/);
    const blocks = Array.from({ length: 2000 }, (_, at) => `${" ".repeat(at)}a:`).join("\n");
    for (const text of [`a: ${"[".repeat(1_000_000)}`, "- ".repeat(100_000), `${blocks} 1\n`])
      expect(await faultIn(text, "a.yaml")).toMatch(/^a\.yaml:\d+:\d+: nesting exceeded maxDepth \(500\)$/);
  });

  it("aliases without end are refused", async () => {
    expect(await faultIn(`- &a x\n${"- *a\n".repeat(20_000)}`, "a.yaml")).toMatch(/alias/);
  });

  it("a long YAML file is refused before it is read", async () => {
    expect(await faultIn(`# ${"x".repeat(MAX_YAML_BYTES)}`, "a.yaml")).toMatch(/has 8\.0 MiB of YAML, and the limit/);
  });
});
