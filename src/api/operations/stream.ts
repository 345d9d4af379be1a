import * as v from "valibot";
import type { Operation } from "../operation.ts";

export const streamChanges: Operation = {
  id: "streamChanges",
  tag: "Deliveries",
  summary: "Follow what happens to deliveries, as server-sent events",
  description:
    "`ready` comes first. `attempt` is an attempt that was recorded, with the `status` that it gave its delivery; " +
    "`delivery` one that became pending (published or replayed; also where its endpoint is disabled) or was cancelled; " +
    "`endpoint` says that one was changed or deleted. They come four times a second, and of more than 100 the rest comes " +
    "as `counts`. After a cut send `Last-Event-ID`: what was missed comes then, or `reload` where that is not kept any " +
    "more, and the lists have to be read anew. Tests are left out. A client that does not read is cut off; the stream " +
    "ends when the daemon stops and when its key is revoked.",
  headers: { "Last-Event-ID": "The last id that this client was given." },
  replies: {
    200: {
      description: "Messages, without end; a comment every 15 s while nothing happens.",
      schema: v.string(),
      example:
        'event: ready\ndata: {}\n\nid: mi7x0k3q-0\n\nevent: attempt\ndata: {"at":"2026-11-20T09:55:00.142Z","tenant":"default",' +
        '"endpoint":"ep_06fbqxvx8r4m8q2v6ng0c3kz7t","event":"evt_06fbqxw6v8s2d4f6g8h0j2k4m6",' +
        '"delivery":"dlv_06fbqxw6v8s2d4f6g8h0j2k4n0","status":"pending","number":1,"outcome":"failed",' +
        '"error":"http_status","status_code":503,"duration_ms":12,"next_attempt_at":"2026-11-20T09:55:30.142Z"}\n\n' +
        "id: mi7x0k3q-1\n\n",
      type: "text/event-stream",
    },
  },
  problems: ["overloaded"],
};
