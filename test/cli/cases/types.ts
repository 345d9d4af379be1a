import { anEventType } from "../../../src/api/event-types/schemas.ts";
import type { Cases } from "./case.ts";

const OWN = { ...anEventType, name: "order.created", description: "An order was created.", defined_in: "api" } as const;

export const TYPES_CASES: Cases<"types"> = {
  "types list": {
    words: ["transaction.*"],
    asks: ["listEventTypes"],
    out: /^TYPE +FROM +DESCRIPTION\ntransaction\.enriched +specification +A transaction was .+\n$/,
    json: { data: [{ name: "transaction.enriched" }], next_cursor: null },
  },
  "types show": {
    words: ["order.created"],
    asks: ["getEventType"],
    answers: {
      getEventType: { ...OWN, deprecated: true, deprecated_at: "2026-11-20T09:00:00.000Z", group: "orders" },
    },
    out: /^order\.created {2}deprecated\n +description +An order was created\.\n +group +orders\n +from +the store\n +validation +as \[events\] .+\n +state +deprecated since 2026-11-20\n +data .+\nschema\n {2}\{\n[^]+\n {2}\}\nsample\n {2}\{\n[^]+\n {2}\}\n$/,
    json: { name: "order.created", group: "orders" },
  },
  "types add": {
    words: [
      "order.created",
      "--description=An order was created.",
      "--schema=@{dir}/schema.json",
      '--sample={"id":"ord_1"}',
      "--validation=warn",
    ],
    files: { "schema.json": '{ "type": "object" }' },
    asks: ["createEventType"],
    out: /^order\.created is added: it can be published from now on\.\n$/,
    err: /^To try it: webhookd trigger order\.created --all\n$/,
    json: { name: "order.created" },
  },
  "types update": {
    words: ["order.created", "--deprecated", "--sunset=2027-06-30", '--sample={"id":"ord_2"}'],
    asks: ["getEventType", "putEventType"],
    answers: {
      getEventType: OWN,
      putEventType: { ...OWN, deprecated: true, sunset_at: "2027-06-30T00:00:00.000Z", sample: { id: "ord_2" } },
    },
    out: /^order\.created changed:\n {2}sample: replaced\n {2}deprecated: false -> true\n {2}sunset_at: - -> 2027-06-30T.+\n$/,
    json: { name: "order.created", deprecated: true },
  },
  "types import": {
    words: ["{dir}/api.json", "--yes"],
    files: {
      "api.json": JSON.stringify({
        openapi: "3.1.0",
        webhooks: { "order.created": { post: { summary: "An order was created." } } },
      }),
    },
    asks: ["importEventTypes"],
    answers: {
      importEventTypes: {
        data: [{ name: "order.created", result: "changed", changed: ["description"], reason: null }],
        dry_run: true,
      },
    },
    confirmedBy: "import",
    out: /^Imported: 1 changed\.\n$/,
    err: /^TYPE +RESULT +CHANGES\norder\.created +changed +description\n1 changed\.\n/,
    json: { data: [{ name: "order.created", result: "changed" }], dry_run: false },
  },
  "types archive": {
    words: ["order.created"],
    asks: ["getEventType", "putEventType"],
    answers: { getEventType: OWN, putEventType: { ...OWN, archived: true } },
    out: /^order\.created is archived: .+\n$/,
    err: /^To let endpoints choose it again: webhookd types update order\.created --no-archived\n$/,
    json: { archived: true },
  },
  "types rm": {
    words: ["order.created", "--yes"],
    asks: ["getEventType", "deleteEventType"],
    answers: { getEventType: OWN },
    confirmedBy: "order.created",
    out: /^order\.created is deleted: .+\n$/,
    err: /^order\.created \(An order was created\.\): its schema and sample will be deleted with it\.\n/,
    json: { name: "order.created", deleted: true },
  },
};
