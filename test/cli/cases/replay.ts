import { anEvent } from "../../../src/api/schemas/event.ts";
import type { REPLAY } from "../../../cli/replay/commands.ts";
import type { Case } from "./case.ts";

export const REPLAY_CASES: { readonly [N in keyof typeof REPLAY]: Case } = {
  replay: {
    words: [anEvent.id, "--endpoint", "ep_06fbqxvx8r4m8q2v6ng0c3kz7t", "--force", "--no-wait"],
    asks: ["getEvent", "retryEvent"],
    out: /^evt_\S+ {2}budget\.exceeded\nQueued\.\n$/,
    json: { id: anEvent.id },
  },
};
