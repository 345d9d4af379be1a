import type { Args } from "../commands.ts";
import { EXIT } from "../exit-code.ts";
import { glyphsOf } from "../glyphs.ts";
import type { Io } from "../io.ts";
import { say, sayJson } from "../print.ts";
import { connect } from "../target.ts";
import { readId } from "../values.ts";
import { followJob } from "./follow.ts";
import { jobLines } from "./job-text.ts";

export async function run(args: Args<"jobs show">, io: Io): Promise<number> {
  const id = readId("job", args.job);
  const client = connect(args, io);
  const job = await client.call("getJob", { id });
  if (args.watch) return followJob(client, job, { timeoutMs: null, json: args.json }, io);
  if (args.json) sayJson(io, job);
  else for (const line of jobLines(job, glyphsOf(io), io.now())) say(io, line);
  return EXIT.ok;
}
