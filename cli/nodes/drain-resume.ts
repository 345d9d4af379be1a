import type { Client } from "../../src/client/client.ts";
import type { Node } from "../../src/client/operations.ts";
import { CLIENT, command } from "../command.ts";
import { EXIT } from "../exit-code.ts";
import type { Io } from "../io.ts";
import { note, say, sayJson } from "../output/print.ts";
import { count } from "../output/words.ts";
import { connect } from "../target.ts";

const WAIT_MS = 60_000;
const POLL_MS = 250;

const NAME = {
  node: { type: "positional", required: true, valueHint: "NODE", description: "Its name in `webhookd nodes list`" },
} as const;

export const nodesDrain = command({
  args: {
    ...NAME,
    wait: { type: "boolean", description: "Wait up to 60 s for the others to have all its endpoints" },
    ...CLIENT,
  },
  examples: ["webhookd nodes drain webhooks-1 --wait"],
  async run(args, io) {
    const client = connect(args, io);
    const drained = await client.call("drainNode", { id: args.node });
    const node = args.wait ? await waitUntilEmpty(client, drained, io) : drained;
    if (args.json) sayJson(io, node);
    else if (node.slots === 0) say(io, `${node.name} is drained: the other nodes have its endpoints.`);
    else {
      const endpoints = count(node.endpoints, "endpoint", "endpoints");
      say(
        io,
        `${node.name} is handing over its ${endpoints}, each after its last attempt in flight; to watch: webhookd nodes list`,
      );
    }
    note(io, "It gets endpoints again after `webhookd nodes resume`, or after a restart.");
    return args.wait && node.slots > 0 ? EXIT.wait_ran_out : EXIT.ok;
  },
});

export const nodesResume = command({
  args: { ...NAME, ...CLIENT },
  examples: ["webhookd nodes resume webhooks-1"],
  async run(args, io) {
    const node = await connect(args, io).call("resumeNode", { id: args.node });
    if (args.json) sayJson(io, node);
    else say(io, `${node.name} is no longer draining, and gets its share of the endpoints within seconds.`);
    return EXIT.ok;
  },
});

async function waitUntilEmpty(client: Client, first: Node, io: Io): Promise<Node> {
  const end = io.monotonic() + WAIT_MS;
  let node = first;
  while (node.slots > 0 && io.monotonic() < end) {
    const { data } = await client.call("listNodes");
    node = data.find((one) => one.name === first.name) ?? { ...node, slots: 0 };
    // If every node is draining, no node gives up its endpoints.
    if (data.every(({ draining, lost }) => draining || lost)) {
      note(io, "Every node is draining, so all of them keep sending.");
      break;
    }
    await io.sleep(POLL_MS);
  }
  return node;
}
