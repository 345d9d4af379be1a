import { anEndpoint } from "../../../src/api/endpoints/fields.ts";
import type { Cases } from "./case.ts";

const { id } = anEndpoint;

export const ENDPOINTS_CASES: Cases<"endpoints"> = {
  "endpoints add": {
    words: ["https://example.com/hook", "--events=budget.exceeded", "--rate=20", "--description", "d", "--tenant=acme"],
    asks: ["registerEndpoint", "listEventTypes"],
    spares: ["listEventTypes"],
    out: /^whsec_\S+\n$/,
    err: /^ep_\S+ added: https:\/\/example\.com\/hook\n {2}types {2}budget\.exceeded\n[^]+This is the signing secret\. To print it again: webhookd endpoints secret ep_\S+\n$/,
    json: { id, signing_secret: /^whsec_/ },
  },
  "endpoints list": {
    words: ["example", "--state=enabled", "--type=budget.exceeded"],
    asks: ["listEndpoints", "getEndpoint"],
    spares: ["getEndpoint"],
    out: /^ID +HEALTH +STATE +URL .+ TYPES\nep_\S+ +ok +enabled +https:\S+ .+ budget\.exceeded\n$/,
    json: { data: [{ id }], next_cursor: null },
  },
  "endpoints show": {
    words: [id],
    asks: ["getEndpoint", "listEndpointAttempts", "listEventTypes"],
    spares: ["listEventTypes"],
    out: /^ep_\S+ {2}enabled {2}https:[^]+ 2 pending, 0 held, 0 failed\n[^]+\nlatest attempts\n +STARTED +EVENT .+\n.+ 503 in 12 ms .+\n$/,
    json: { id, health: { pending: 2 } },
  },
  "endpoints update": {
    words: [id, "--add-event", "goal.achieved", "--rate", "20"],
    asks: ["getEndpoint", "changeEndpoint", "listEventTypes"],
    spares: ["listEventTypes"],
    answers: { changeEndpoint: { ...anEndpoint, rate_per_second: 20, events: ["budget.exceeded", "goal.achieved"] } },
    out: /^ep_\S+ changed:\n {2}events: budget\.exceeded -> budget\.exceeded, goal\.achieved\n {2}rate_per_second: - -> 20\n$/,
    json: { id, rate_per_second: 20 },
  },
  "endpoints rm": {
    words: [id, "--yes"],
    asks: ["getEndpoint", "deleteEndpoint"],
    confirmedBy: id,
    out: /^ep_\S+ is deleted; .+\n$/,
    err: /2 deliveries are waiting for it and will be cancelled/,
    json: { id, deleted: true },
  },
  "endpoints enable": {
    words: [id, "--cancel-held", "--yes"],
    asks: ["getEndpoint", "changeEndpoint"],
    confirmedBy: "yes",
    out: /^ep_\S+ was already enabled\.\n$/,
    err: /0 held deliveries will be cancelled/,
    json: { id, enabled: true },
  },
  "endpoints disable": {
    words: [id, "--hold"],
    asks: ["changeEndpoint"],
    out: /^ep_\S+ is disabled: .+\nIts waiting deliveries are held, and so are its new events\. .+\n$/,
    json: { id },
  },
  "endpoints filter-test": {
    words: [id, "--type=budget.exceeded", '--data={"amount":250}', '--filter={"data":{"amount":{"$gt":1000}}}'],
    asks: ["testFilter"],
    exit: 8,
    out: /^The filter of ep_\S+ does not take the event\.\n {2}\/data\/amount\/\$gt fails: \/data\/amount is 250\n$/,
    json: { matches: false },
  },
  "endpoints test": {
    words: [id, "--type=budget.exceeded"],
    asks: ["sendTestEvent"],
    exit: 8,
    out: /^ep_\S+ {2}503 in 12 ms {2}evt_\S+\n {2}the receiver answered 503\n {2}try again later\n$/,
    json: { endpoint: id, status_code: 503 },
  },
  "endpoints rotate-secret": {
    words: [id, "--overlap=24h"],
    asks: ["rotateSecret"],
    out: /^whsec_C2\S+\n$/,
    err: /takes over at 2026-\S+\.\n.+accept both\.\n.+--complete\nThis is the new secret\. To print it again: webhookd endpoints secret ep_\S+ --next\n$/,
    json: { next_signing_secret: /^whsec_C2/ },
  },
  "endpoints secret": {
    words: [id],
    asks: ["getSecret"],
    out: /^whsec_\S+\n$/,
    json: { signing_secret: /^whsec_/ },
  },
};
