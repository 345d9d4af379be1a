import { anAttempt } from "../../../src/api/deliveries/attempts.ts";
import { aWholeDelivery } from "../../../src/api/deliveries/deliveries.ts";
import { aJob, aJobPlan } from "../../../src/api/jobs/schemas.ts";
import type { Cases } from "./case.ts";

const { id } = aWholeDelivery;
const made = { ...aWholeDelivery, last_attempt: { ...anAttempt, number: 2, trigger: "manual" } };

export const DELIVERIES_CASES: Cases<"deliveries"> = {
  "deliveries list": {
    words: ["--filter=status:failed event:evt_06fbqxw6v8s2d4f6g8h0j2k4m6", "--tenant=acme"],
    asks: ["listDeliveries"],
    out: /^ID +EVENT .+\ndlv_\S+ +evt_\S+ +budget\.exceeded +ep_\S+ +example\.com\/hook +pending +1 +503 .+\n$/,
    json: { data: [{ id }], next_cursor: null },
  },
  "deliveries show": {
    words: [id],
    asks: ["getDelivery", "listDeliveryAttempts"],
    out: /^pending after 1 attempt {2}example\.com\/hook\n {2}dlv_\S+ {2}to ep_\S+\n +1 .+ 503 in 12 ms .+\n {2}the last answer: 503\n {4}content-type: text\/plain\n {4}try again later\n {2}A proxy answers, .+\n {2}Receiver: .+\n(?: {2}.+: webhookd .+\n){3} {2}next attempt .+\n {2}event +evt_/,
    json: { id },
  },
  "deliveries cancel": {
    words: ["--endpoint", aWholeDelivery.endpoint, "--yes", "--no-wait"],
    asks: ["createJob", "getEndpoint", "listDeliveries"],
    spares: ["getEndpoint", "listDeliveries"],
    answers: { createJob: [aJobPlan, { ...aJob, action: "cancel" }] },
    out: new RegExp(`^${aJob.id}\\n$`),
    err: /^441 deliveries to cancel for good, .+:\n[^]+The job continues without this command\..+\n$/,
    json: "lines",
  },
  "deliveries attempt": {
    words: [id],
    asks: ["attemptDelivery", "getDelivery"],
    answers: { getDelivery: [aWholeDelivery, made] },
    exit: 8,
    out: /^dlv_\S+ {2}example\.com\/hook {2}503 in 12 ms; next attempt .+\n$/,
    json: { id, last_attempt: { trigger: "manual" } },
  },
};

export const ATTEMPTS_CASES: Cases<"attempts"> = {
  "attempts list": {
    words: [anAttempt.endpoint, "--status-code=5xx"],
    asks: ["listEndpointAttempts"],
    out: /^ID +ENDPOINT .+\natt_\S+ .+ failed +503 .+\n$/,
    json: { data: [{ id: anAttempt.id }] },
  },
  "attempts show": {
    words: [anAttempt.id],
    asks: ["getAttempt"],
    out: /^att_\S+ {2}failed {2}503 in 12 ms\n[^]+ dns 1 ms, [^]+\nresponse headers\n {2}content-type: .+\nresponse body\n {2}try again later\n$/,
    json: { id: anAttempt.id },
  },
};
