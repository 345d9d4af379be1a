import { existsSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { problemsOf } from "../../../src/api/openapi/responses.ts";
import { PROBLEMS } from "../../../src/domain/errors.ts";
import { openapi } from "../../../src/api/openapi/document.ts";
import { catalogueOf } from "../../../src/domain/events/catalogue.ts";
import { version } from "../../../src/build.ts";
import { breaks } from "./breaking.ts";
import { FakeStore } from "../fake-store.ts";
import { aConfig, ApiServer } from "../server.ts";

type Json = Record<string, any>;

const FILE = new URL("../../../docs/openapi.json", import.meta.url);
const { routes } = await ApiServer.start(new FakeStore().asStore());
const types = catalogueOf();
const { signature, retry } = aConfig();
const document: Json = openapi({ routes, types: types.values(), version, signature, retry });
const text = `${JSON.stringify(document, null, 2)}\n`;
const current: Json = JSON.parse(text);

const ADVICE =
  "a published description only grows: keep what it lost beside what is new. Where that is impossible " +
  "(nothing was released yet, or a major version), remove docs/openapi.json and write it anew";

it("the published description is the daemon's own, and breaks nothing that was published before", async () => {
  // This comes first, so that `vitest -u` does not overwrite the file despite a break.
  if (existsSync(FILE)) expect(breaks(JSON.parse(readFileSync(FILE, "utf8")), current), ADVICE).toEqual([]);
  await expect(
    text,
    "write additions with: vitest run test/api/openapi/published.test.ts --update",
  ).toMatchFileSnapshot(FILE.pathname);
});

it("the commands' tests know what each operation answers", async () => {
  const known = routes.map((route) => {
    const { id, replies } = route.operation;
    const [status, { example, type }] = Object.entries(replies).find(([one]) => one.startsWith("2"))!;
    const body = type === undefined && example !== undefined ? { body: example } : {};
    const problems = Object.fromEntries(Map.groupBy(problemsOf(route), (code) => PROBLEMS[code].status));
    return [id, { status: Number(status), ...body, problems }] as const;
  });
  const lines = known.map(([id, described]) => `${JSON.stringify(id)}: ${JSON.stringify(described)}`);
  const file = new URL("../../cli/operations.json", import.meta.url);
  await expect(`{\n${lines.join(",\n")}\n}\n`).toMatchFileSnapshot(file.pathname);
});

const ENDPOINTS = "/v1/webhooks";
const schemas = (changed: Json): Json => changed.components.schemas;

function changed(change: (changed: Json) => void): Json {
  const copy = structuredClone(current);
  change(copy);
  return copy;
}

describe("a break is", () => {
  it.each<[string, (changed: Json) => void]>([
    ["/v1/webhooks/{id} is gone", ({ paths }) => delete paths["/v1/webhooks/{id}"]],
    ["/v1/webhooks/{id} delete is gone", ({ paths }) => delete paths["/v1/webhooks/{id}"].delete],
    ["/v1/webhooks get's operationId is", ({ paths }) => (paths[ENDPOINTS].get.operationId = "all")],
    ["/v1/webhooks get's scope is", ({ paths }) => (paths[ENDPOINTS].get["x-scope"] = "admin")],
    ["/healthz get's scope is", ({ paths }) => delete paths["/healthz"].get.security],
    ["/v1/webhooks post 201 is gone", ({ paths }) => delete paths[ENDPOINTS].post.responses[201]],
    ["201 header Location is gone", ({ paths }) => delete paths[ENDPOINTS].post.responses[201].headers.Location],
    ["409 is gone", ({ paths }) => delete paths[ENDPOINTS].post.responses[409]],
    ["query uid is gone", ({ paths }) => paths[ENDPOINTS].get.parameters.pop()],
    ["query limit is required", ({ components }) => (components.parameters.limit.required = true)],
    ["has a lower maximum", ({ components }) => (components.parameters.limit.schema.maximum = 50)],
    ['does not take "oldest" any more', ({ components }) => components.parameters.order.schema.enum.pop()],
    ["asks for query why", ({ paths }) => paths[ENDPOINTS].get.parameters.push({ ...NEW, required: true })],
    ["asks for a body", ({ paths }) => (paths["/v1/webhooks/{id}"].delete.requestBody = { required: true })],
    ["takes no body any more", ({ paths }) => delete paths[ENDPOINTS].post.requestBody],
    ["'s body is required", ({ paths }) => (paths["/v1/webhooks/{id}/test"].post.requestBody.required = true)],
    ["application/json is gone", ({ paths }) => delete batch(paths).content["application/json"]],
    [
      "/v1/webhooks/events post's body application/json.tenant is gone",
      (all) => delete schemas(all).EventDraft.properties.tenant,
    ],
    ["asks for tenant", (all) => schemas(all).EventDraft.required.push("tenant")],
    ['does not take "goal.achieved" any more', (all) => remove(schemas(all).EventTypeName.enum, "goal.achieved")],
    ["takes listed values alone", (all) => (schemas(all).KeyDraft.properties.name.enum = ["a"])],
    ["has a lower maxLength", (all) => (schemas(all).Registration.properties.description.maxLength = 10)],
    ["has a higher minItems", (all) => (schemas(all).ChosenTypes.minItems = 2)],
    ["has a higher minLength", (all) => (schemas(all).KeyDraft.properties.name.minLength = 1)],
    ["application/json.data is closed", (all) => (schemas(all).PublishedData.additionalProperties = false)],
    ["uid is string or null, not string", (all) => (schemas(all).Registration.properties.uid.type = "string")],
    ["/v1/webhooks/{id} patch 200 application/json.uid is gone", (all) => delete schemas(all).Endpoint.properties.uid],
    ["may leave out uid", (all) => remove(schemas(all).Endpoint.required, "uid")],
    ["not string", (all) => (schemas(all).Endpoint.properties.url.type = ["string", "null"])],
    ["not integer", (all) => (schemas(all).Attempt.properties.number.type = "string")],
    ["'s pattern is", (all) => (schemas(all).Delivery.properties.id.pattern = "^x")],
    ["cursor's pattern is", ({ components }) => (components.parameters.cursor.schema.pattern = "^x")],
    ["'s format is", (all) => delete schemas(all).Endpoint.properties.created_at.format],
    ["last_attempt is made of 1 shapes, not 2", (all) => schemas(all).Delivery.properties.last_attempt.anyOf.pop()],
    ["webhook goal.achieved is gone", ({ webhooks }) => delete webhooks["goal.achieved"]],
    ["header webhook-id is gone", ({ webhooks }) => remove(webhooks["goal.achieved"].post.parameters, "webhook-id")],
    ["may be left out", ({ components }) => (components.parameters["webhook-id"].required = false)],
    ["created_at is gone", (all) => delete schemas(all).Envelope.properties.created_at],
  ])("%s", (sentence, change) => {
    expect(breaks(current, changed(change)).join("\n")).toContain(sentence);
  });
});

describe("no break is", () => {
  it.each<[string, (changed: Json) => void]>([
    ["nothing", () => {}],
    ["a new route", ({ paths }) => (paths["/v1/new"] = paths[ENDPOINTS])],
    ["a new method", ({ paths }) => (paths["/v1/keys/{id}"].put = paths["/v1/keys/{id}"].get)],
    ["a new parameter", ({ paths }) => paths[ENDPOINTS].get.parameters.push(NEW)],
    ["a parameter that takes more", ({ components }) => (components.parameters.limit.schema.maximum = 500)],
    ["a new field of an answer", (all) => (schemas(all).Endpoint.properties.colour = { type: "string" })],
    ["a new value in an answer", (all) => schemas(all).Attempt.properties.trigger.enum.push("job")],
    ["a new field of a request", (all) => (schemas(all).EventDraft.properties.colour = { type: "string" })],
    ["a value more in a request", (all) => schemas(all).EventTypeName.enum.push("a.b")],
    ["a parameter of any form", ({ components }) => delete components.parameters.cursor.schema.pattern],
    ["a field that may be left out now", (all) => remove(schemas(all).EventDraft.required, "data")],
    ["a new answer", ({ paths }) => (paths[ENDPOINTS].post.responses[402] = { description: "pay" })],
    ["a new event type", ({ webhooks }) => (webhooks["a.b"] = webhooks["goal.achieved"])],
    ["other words", ({ paths }) => (paths[ENDPOINTS].get.summary = "All of them")],
    ["a route without a key", ({ paths }) => (paths[ENDPOINTS].get.security = [])],
  ])("%s", (_, change) => {
    expect(breaks(current, changed(change))).toEqual([]);
  });
});

const NEW = { name: "why", in: "query", schema: { type: "string" } };

function batch(paths: Json): Json {
  return paths["/v1/webhooks/events/batch"].post.requestBody;
}

/** Removes the first item that is or names `what`. */
function remove(list: unknown[], what: string): void {
  list.splice(
    list.findIndex((each) => JSON.stringify(each).includes(what)),
    1,
  );
}
