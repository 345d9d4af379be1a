import type { Attempt, Publication } from "../../src/client/answers.ts";
import { answerLines, resultOf } from "../attempts/text.ts";
import type { Args } from "../commands.ts";
import { EXIT } from "../exit-code.ts";
import type { Io } from "../io.ts";
import { say, sayJson } from "../print.ts";
import { connect } from "../target.ts";
import { readId } from "../values.ts";
import { suggesting } from "./event-types.ts";

/** The daemon ends the attempt, and its wait for it, long before. */
const TIMEOUT_MS = 120_000;

export async function run(args: Args<"endpoints test">, io: Io): Promise<number> {
  const id = readId("ep", args.endpoint);
  const client = connect(args, io);
  const ask = { id, query: { wait: args.wait || undefined }, body: { type: args.type }, timeoutMs: TIMEOUT_MS };
  const types = args.type === undefined ? [] : [args.type];
  const answer = await suggesting(types, client, () => client.call("sendTestEvent", ask));
  if (args.json) sayJson(io, answer);
  if ("outcome" in answer) return attempted(answer, args, io);
  return published(answer, id, args, io);
}

function attempted(attempt: Attempt, { json }: { readonly json: boolean }, io: Io): number {
  const { endpoint, event, outcome, detail } = attempt;
  if (!json) {
    say(io, `${endpoint}  ${resultOf(attempt)}  ${event}`);
    if (outcome !== "succeeded") {
      say(io, `  ${detail}`);
      for (const line of answerLines(attempt)) say(io, `  ${line}`);
    }
  }
  return outcome === "succeeded" ? EXIT.ok : EXIT.answer_is_no;
}

/** With the brake on, it waits for somebody to resume. */
function published({ id: event }: Publication, id: string, { wait, json }: Args<"endpoints test">, io: Io): number {
  if (!json) {
    say(io, `${id}  on its way  ${event}`);
    if (wait) say(io, `  There is no answer yet: is the daemon paused? Look again: webhookd events show ${event}`);
  }
  return wait ? EXIT.wait_ran_out : EXIT.ok;
}
