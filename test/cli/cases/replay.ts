import { anEvent } from "../../../src/api/events/schemas.ts";
import type { Cases } from "./case.ts";

export const REPLAY_CASES: Cases<"replay"> = {
  replay: {
    words: [anEvent.id, "--endpoint", "ep_06fbqxvx8r4m8q2v6ng0c3kz7t", "--force", "--no-wait"],
    asks: ["getEvent", "replayEvent", "getStatus"],
    spares: ["getStatus"],
    out: /^evt_\S+ {2}budget\.exceeded\nQueued\.\n$/,
    json: { id: anEvent.id },
  },
};
