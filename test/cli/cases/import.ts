import { EXIT } from "../../../cli/exit-code.ts";
import { anEndpoint } from "../../../src/api/endpoints/fields.ts";

import { anEventType } from "../../../src/api/event-types/schemas.ts";
import type { Cases } from "./case.ts";

const SECRET = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD";
const IMPORTED = {
  ...anEndpoint,
  tenant: "acme",
  enabled: false,
  when_disabled: "shadow",
  metadata: { imported: { from: "svix", id: "ep_1" } },
};
const ENDPOINT = {
  id: "ep_1srOrx2ZWZBpBUvZwXKQmoEYga2",
  url: "https://example.com/hook",
  description: "",
  filterTypes: ["invoice.paid"],
  metadata: {},
  secret: { key: SECRET },
  headers: { headers: {}, sensitive: [] },
};

/** An import of one endpoint and one type, into a daemon that has none. */
const OF_ONE = {
  asks: ["listEventTypes", "importEventTypes", "listEndpoints", "putEndpoint"],
  answers: {
    importEventTypes: { data: [{ name: "invoice.paid", result: "added", changed: [], reason: null }], dry_run: true },
    listEndpoints: { data: [], next_cursor: null },
  },
  confirmedBy: "import",
} as const;

export const IMPORT_CASES: Cases<"import"> = {
  "import svix": {
    words: ["--file={dir}/svix.json", "--yes"],
    files: {
      "svix.json": JSON.stringify({
        applications: [{ id: "app_1", uid: "acme", name: "Acme", endpoints: [ENDPOINT] }],
        event_types: [{ name: "invoice.paid", description: "An invoice was paid." }],
      }),
    },
    ...OF_ONE,
    out: /^Imported: 1 endpoint: 1 added; 1 event type: 1 added\.\n$/,
    err: /^TYPE +RESULT +CHANGES\ninvoice\.paid +added +-\nTENANT +ENDPOINT +URL +RESULT +CHANGES\nacme +ep_1\S+ +example\.com\/hook +added +-\n1 endpoint: .+\nSo that .+\n {2}\[\[signature\.also\]\]\n {2}format = "svix"\n {2}tenants = \["acme"\]\nThe new endpoints are disabled\. .+\n$/,
    json: { endpoints: [{ tenant: "acme", result: "added" }], event_types: [{ result: "added" }], dry_run: false },
  },
  "import convoy": {
    words: ["--file={dir}/convoy.json", "--yes"],
    files: {
      "convoy.json": JSON.stringify({
        endpoints: [
          {
            uid: "01HX",
            owner_id: "acme",
            url: "https://example.com/hook",
            status: "active",
            secrets: [{ uid: "s1", value: "wK3mQ9vT2xR7bN5c", expires_at: null }],
          },
        ],
        subscriptions: [{ endpoint_metadata: { uid: "01HX" }, filter_config: { event_types: ["invoice.paid"] } }],
      }),
    },
    ...OF_ONE,
    out: /^Imported: 1 endpoint: 1 added; 1 event type: 1 added\.\n$/,
    err: /^TYPE [^]+\nacme +01HX +example\.com\/hook +added +-\n1 endpoint: .+\nSo that .+\n {2}\[\[signature\.also\]\]\n {2}format = "convoy"\n {2}tenants = \["acme"\]\nThe new endpoints are disabled\. .+\n$/,
    json: { endpoints: [{ tenant: "acme", id: "01HX", result: "added" }], dry_run: false },
  },
  "import outpost": {
    words: ["--file={dir}/outpost.json", "--yes"],
    files: {
      "outpost.json": JSON.stringify({
        tenants: [
          {
            id: "acme",
            destinations: [
              {
                id: "des_1",
                type: "webhook",
                topics: ["invoice.paid"],
                config: { url: "https://example.com/hook" },
                credentials: { secret: "6f1d2c3b4a5968778695a4b3c2d1e0f0" },
                disabled_at: null,
              },
            ],
          },
        ],
        topics: ["invoice.paid"],
      }),
    },
    ...OF_ONE,
    out: /^Imported: 1 endpoint: 1 added; 1 event type: 1 added\.\n$/,
    err: /^TYPE [^]+\nacme +des_1 +example\.com\/hook +added +-\nThe section below .+\n1 endpoint: .+\nSo that .+\n {2}\[\[signature\.also\]\]\n {2}format = "custom"\n {2}header = "x-outpost-signature"\n {2}value = "v0=\{signature\}"\n {2}tenants = \["acme"\]\nThe new endpoints are disabled\. .+\n$/,
    json: { endpoints: [{ tenant: "acme", id: "des_1", result: "added" }], dry_run: false },
  },
  "import csv": {
    words: ["{dir}/endpoints.csv", "--yes"],
    files: {
      "endpoints.csv": `tenant,id,url,events,secret\nacme,17,https://example.com/hook,budget.exceeded,${SECRET}\n`,
    },
    asks: ["listEventTypes", "listEndpoints", "putEndpoint"],
    answers: {
      listEventTypes: { data: [{ ...anEventType, name: "budget.exceeded" }], next_cursor: null },
      listEndpoints: { data: [], next_cursor: null },
    },
    confirmedBy: "import",
    out: /^Imported: 1 endpoint: 1 added\.\n$/,
    err: /^TENANT +ENDPOINT +URL +RESULT +CHANGES\nacme +17 +example\.com\/hook +added +-\n1 endpoint: .+\nThe new endpoints are disabled\. .+\n$/,
    json: { endpoints: [{ tenant: "acme", id: "17", result: "added" }], event_types: [], signature_also: null },
  },
  "import compare": {
    words: ["svix", "--log={dir}/sent.jsonl"],
    files: { "sent.jsonl": "" },
    asks: ["listEndpoints", "listEvents"],
    answers: {
      listEndpoints: { data: [IMPORTED], next_cursor: null },
      listEvents: { data: [], next_cursor: null },
    },
    exit: EXIT.answer_is_no,
    out: /^Neither side had an event for 1 endpoint in that span\.\n$/,
    err: /^Publish to both for a while, .+\n$/,
    json: { same: false, endpoints: [{ tenant: "acme", same: 0 }] },
  },
  "import cut-over": {
    words: ["svix", "--tenant=acme", "--yes"],
    asks: ["listEndpoints", "changeEndpoint"],
    answers: { listEndpoints: { data: [IMPORTED], next_cursor: null } },
    confirmedBy: "cut-over",
    out: /^1 endpoint holds its events\.\n$/,
    err: /^acme has 1 endpoint from svix: 1 in shadow, .+\n1\. .+\n2\. .+\nNow stop publishing .+\nThen: webhookd import cut-over svix --tenant acme --stopped --from URL\n$/,
    json: { tenant: "acme", step: "hold", endpoints: [{ id: "ep_1", was: "shadow", left_there: 0 }] },
  },
};
