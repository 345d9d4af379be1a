import { webhookd as program } from "../../cli/front/dispatch.ts";
import type { FakeIo } from "./fake-io.ts";

/** As cli/main.ts does, which also ends the process. */
export function webhookd(io: FakeIo, ...words: string[]): Promise<number> {
  return program(words, io);
}
