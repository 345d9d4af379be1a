import { aNode } from "../../../src/api/daemon/sending.ts";
import type { Cases } from "./case.ts";

const drained = { ...aNode, draining: true, slots: 0, endpoints: 0 };
const other = { ...aNode, name: "webhooks-2", this: false };

export const NODES_CASES: Cases<"nodes"> = {
  "nodes list": {
    words: [],
    asks: ["listNodes"],
    out: /^NODE +STATE +ENDPOINTS.+\nwebhooks-1 \(answers\) +sending +40 .+\n$/,
    json: { data: [{ name: "webhooks-1" }] },
  },
  "nodes drain": {
    words: ["webhooks-1", "--wait"],
    asks: ["drainNode", "listNodes"],
    answers: { listNodes: { data: [drained, other] } },
    out: /^webhooks-1 is drained: the other nodes have its endpoints\.\n$/,
    err: /^It gets endpoints again after .+\n$/,
    json: { name: "webhooks-1", slots: 0 },
  },
  "nodes resume": {
    words: ["webhooks-1"],
    asks: ["resumeNode"],
    out: /^webhooks-1 is no longer draining.+\n$/,
    json: { draining: false },
  },
};
