import { front } from "../../cli/front.ts";
import { RUNS } from "../../cli/runs.ts";
import type { FakeIo } from "./fake-io.ts";

/** As cli/main.ts does, which also ends the process. */
export function webhookd(io: FakeIo, ...words: string[]): Promise<number> {
  return front(words, io, RUNS);
}
