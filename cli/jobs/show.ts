import { byId, CLIENT, command } from "../command.ts";
import { noteHalt } from "../daemon/halts.ts";
import { EXIT } from "../exit-code.ts";
import { connectFor } from "../find-id.ts";
import { glyphsOf } from "../output/glyphs.ts";
import { say, sayJson } from "../output/print.ts";
import { followJob } from "./follow.ts";
import { jobLines } from "./job-text.ts";

export const jobsShow = command({
  args: {
    job: byId("job", "Id of the job"),
    watch: { type: "boolean", description: "Follow it to the end; exits 0 if everything was delivered, else 7" },
    ...CLIENT,
  },
  examples: [
    "webhookd jobs show job_01m7w8bx02jeyjr53r14y5rmma",
    "webhookd jobs show job_01m7w8bx02jeyjr53r14y5rmma --watch",
  ],
  async run(args, io) {
    const { client, id } = await connectFor("job", args.job, args, io);
    const job = await client.call("getJob", { id });
    if (args.watch) return followJob(client, job, { timeoutMs: null, json: args.json }, io);
    if (args.json) {
      sayJson(io, job);
      return EXIT.ok;
    }
    for (const line of jobLines(job, glyphsOf(io), io.now())) say(io, line);
    if (job.status === "running" && job.action !== "cancel") await noteHalt(client, io);
    return EXIT.ok;
  },
});
