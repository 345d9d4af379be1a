import { CLIENT, command, LIST, TENANT } from "../command.ts";

const ID = { type: "positional", required: true, valueHint: "job_…", description: "The job" } as const;
const ONE = { job: ID, ...CLIENT } as const;

export const JOBS = {
  "jobs list": command(
    "list",
    "List jobs: what was done to many deliveries, and what is being done",
    { tenant: TENANT, ...LIST },
    ["webhookd jobs list", "webhookd jobs list --ids --limit 1"],
  ),
  "jobs show": command(
    "show",
    "Show how far a job is, and what it came to",
    {
      job: ID,
      watch: { type: "boolean", description: "Stay until it is over: 0 when all was delivered, else 7" },
      ...CLIENT,
    },
    ["webhookd jobs show job_01m7w8bx02jeyjr53r14y5rmma", "webhookd jobs show job_01m7w8bx02jeyjr53r14y5rmma --watch"],
  ),
  "jobs pause": command("pause", "Let a job take up nothing more until it is resumed", ONE, [
    "webhookd jobs pause job_01m7w8bx02jeyjr53r14y5rmma",
  ]),
  "jobs resume": command(
    "resume",
    "Let a paused job go on",
    {
      job: ID,
      canary: { type: "boolean", description: "After a canary that failed: try one more for each endpoint first" },
      "send-all": { type: "boolean", description: "After a canary that failed: send all that is left" },
      ...CLIENT,
    },
    [
      "webhookd jobs resume job_01m7w8bx02jeyjr53r14y5rmma",
      "webhookd jobs resume job_01m7w8bx02jeyjr53r14y5rmma --canary",
    ],
  ),
  "jobs cancel": command("cancel", "End a job: what it has not taken up stays as it is", ONE, [
    "webhookd jobs cancel job_01m7w8bx02jeyjr53r14y5rmma",
  ]),
} as const;
