import { webhookd as program } from "../../cli/front/dispatch.ts";
import type { FakeIo } from "./fake-io.ts";

/** Runs a command as cli/main.ts does, but does not end the process. */
export function webhookd(io: FakeIo, ...words: string[]): Promise<number> {
  return program(words, io);
}
