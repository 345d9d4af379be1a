import type { Attempt, Publication } from "../../src/client/operations.ts";
import { addedDetail } from "../../src/domain/deliveries/attempt.ts";
import { answerLines, resultOf } from "../attempts/text.ts";
import { type ArgsOf, CLIENT, command } from "../command.ts";
import { ENDPOINT, findEndpoint } from "./find.ts";
import { EXIT } from "../exit-code.ts";
import type { Io } from "../io.ts";
import { say, sayJson } from "../output/print.ts";
import { connect } from "../target.ts";
import { whyNone } from "../daemon/halts.ts";
import { suggesting } from "./event-types.ts";

/** The daemon ends the attempt, and its wait for it, long before this. */
const TIMEOUT_MS = 120_000;

const ARGS = {
  endpoint: ENDPOINT,
  type: {
    type: "string",
    valueHint: "TYPE",
    description: "Event type of the sample [the first that the endpoint chose]",
  },
  wait: {
    type: "boolean",
    default: true,
    description: "Wait for the answer",
    negativeDescription: "Return as soon as it is queued",
  },
  ...CLIENT,
} as const;
type Args = ArgsOf<typeof ARGS>;

export const endpointsTest = command({
  args: ARGS,
  examples: [
    "webhookd endpoints test ep_01m7w8bx02jeyjr53r14y5rmma",
    "webhookd endpoints test ep_01m7w8bx02jeyjr53r14y5rmma --type goal.achieved",
  ],
  async run(args, io) {
    const client = connect(args, io);
    const id = await findEndpoint(args.endpoint, client);
    const ask = { id, query: { wait: args.wait || undefined }, body: { type: args.type }, timeoutMs: TIMEOUT_MS };
    const types = args.type === undefined ? [] : [args.type];
    const answer = await suggesting(types, client, () => client.call("sendTestEvent", ask));
    if (args.json) sayJson(io, answer);
    if ("outcome" in answer) return attempted(answer, args, io);
    const why = args.wait ? await whyNone(client) : null;
    return published(answer, { ...args, id, why }, io);
  },
});

function attempted(attempt: Attempt, { json }: { readonly json: boolean }, io: Io): number {
  const { endpoint, event, outcome, status_code, detail } = attempt;
  if (!json) {
    say(io, `${endpoint}  ${resultOf(attempt)}  ${event}`);
    const more = addedDetail(outcome, status_code, detail);
    if (more !== "") say(io, `  ${more}`);
    if (outcome !== "succeeded") {
      for (const line of answerLines(attempt)) say(io, `  ${line}`);
    }
  }
  return outcome === "succeeded" ? EXIT.ok : EXIT.answer_is_no;
}

interface Published extends Args {
  readonly id: string;
  readonly why: string | null;
}

/** During a pause or an outage, the event waits until sending resumes. */
function published({ id: event }: Publication, { id, why, wait, json }: Published, io: Io): number {
  if (!json) {
    say(io, `${id}  queued  ${event}`);
    if (wait)
      say(io, `  Not attempted yet: ${why ?? "no answer so far"}. To check again: webhookd events show ${event}`);
  }
  return wait ? EXIT.wait_ran_out : EXIT.ok;
}
