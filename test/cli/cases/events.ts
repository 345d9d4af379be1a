import { anEvent } from "../../../src/api/events/schemas.ts";
import type { Cases } from "./case.ts";

const { id } = anEvent;

export const EVENTS_CASES: Cases<"events" | "why"> = {
  why: {
    words: [id, "ep_06fbqxvx8r4m8q2v6ng0c3kz7t"],
    asks: ["explainEvent"],
    exit: 8,
    out: /^The endpoint's filter did not take it: \S+ fails, because \/data\/amount is 250\.\n {2}chosen at +2026-\S+\n {2}events +budget\.\*\n {2}filter +\{"data":\S+\}\n {2}enabled +yes\n$/,
    json: { event: id, reason: "filtered" },
  },
  "events list": {
    words: ["--status", "failed", "--since=2h"],
    asks: ["listEvents"],
    out: /^ID +TYPE +STATUS +TRIES .+\nevt_\S+ +budget\.exceeded +pending .+\n$/,
    json: { data: [{ id }], next_cursor: null },
  },
  "events show": {
    words: [id],
    asks: ["getEvent", "listEventAttempts"],
    out: /^evt_\S+ {2}budget\.exceeded {2}pending\n[^]+\npending after 1 attempt {2}\S+\n {2}dlv_\S+ {2}to ep_\S+\n +1 .+ 503 in 12 ms [^]+\ndata\n {2}\{"budget_id":.+\}\n$/,
    json: { id, data: anEvent.data },
  },
  "events send": {
    words: ["--type=budget.exceeded", "--data", "-", "--tenant=acme", "--idempotency-key=k"],
    asks: ["publishEvent", "getStatus"],
    spares: ["getStatus"],
    input: ['{"a":1}'],
    out: /^evt_\S+\n$/,
    err: /^budget\.exceeded goes to 1 endpoint\.\n$/,
    json: { id },
  },
  "events cancel": {
    words: [id, "--endpoint=ep_06fbqxvx8r4m8q2v6ng0c3kz7t", "--yes"],
    asks: ["getEvent", "cancelEvent"],
    confirmedBy: "yes",
    out: /^evt_\S+: 1 delivery cancelled; it is cancelled\.\n$/,
    err: /1 delivery is open and will be cancelled/,
    json: { id, cancelled: 1 },
  },
  "events erase": {
    words: [id, "--yes"],
    asks: ["getEvent", "eraseEvent"],
    confirmedBy: id,
    out: /^evt_\S+ is erased; .+\n$/,
    err: /can never be sent again/,
    json: { id, erased: true },
  },
};
