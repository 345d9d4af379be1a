import { aJob } from "../../../src/api/jobs/schemas.ts";
import type { Cases } from "./case.ts";

const words = [aJob.id];
const json = { id: aJob.id };

export const JOBS_CASES: Cases<"jobs"> = {
  "jobs list": {
    words: [],
    asks: ["listJobs"],
    out: /^ID +ACTION .+\njob_\S+ +replay +running +441 .+ status:failed status_code:5xx since:\S+\n$/,
    json: { data: [json], next_cursor: null },
  },
  "jobs show": {
    words,
    asks: ["getJob", "getStatus"],
    spares: ["getStatus"],
    out: /^job_\S+ {2}replay {2}running\n {2}progress {2}####-{12} {2}121 of 441 deliveries\n {2}counts .+\n {4}ep_\S+ {2}78 delivered, 2 failed, 1 skipped of 390\n/,
    json,
  },
  "jobs pause": { words, asks: ["pauseJob"], out: /^job_\S+ is paused, 121 of 441 done\. To resume it: .+\n$/, json },
  "jobs resume": { words, asks: ["resumeJob"], out: /^job_\S+ is resumed, 121 of 441 done\. To watch it: .+\n$/, json },
  "jobs cancel": { words, asks: ["cancelJob"], out: /^job_\S+ is cancelled, 121 of 441 done; .+\n$/, json },
};
