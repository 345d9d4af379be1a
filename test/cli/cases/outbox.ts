import { anOutbox } from "../../../src/api/daemon/outboxes.ts";
import type { Cases } from "./case.ts";

export const OUTBOX_CASES: Cases<"outbox"> = {
  "outbox init": {
    words: ["postgres"],
    asks: [],
    out: /^-- The outbox\.[^]+CREATE TABLE "webhookd_outbox" [^]+GRANT SELECT, DELETE, UPDATE \(problem\)[^]+;\n$/,
  },
  "outbox status": {
    words: [],
    asks: ["listOutboxes", "listSetAsideRows"],
    exit: 8,
    out: /^OUTBOX +STATE +WAITING .+\nshop +is read +0 .+\nSet aside in shop:\n {2}4711 {2}order\.creatd: .+\n$/,
    err: /^When the cause is gone: webhookd outbox retry shop\. .+\n$/,
    json: { data: [{ name: "shop", rows: [{ id: "4711" }] }] },
  },
  "outbox retry": {
    words: [anOutbox.name, "4711"],
    asks: ["retryOutboxRows"],
    out: /^1 row is read again; .+\n$/,
    json: { rows: 1 },
  },
  "outbox drop": {
    words: [anOutbox.name, "4711", "--yes"],
    asks: ["dropOutboxRows"],
    out: /^1 row was deleted\.\n$/,
    err: /^1 row of shop that cannot be events will be deleted.+\n$/,
    json: { rows: 1 },
    confirmedBy: anOutbox.name,
  },
};
