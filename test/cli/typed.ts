/** Runs a command line against a daemon that responds as its description says. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describedDaemon, type Answering } from "./described-daemon.ts";
import { FakeIo } from "./fake-io.ts";
import { webhookd } from "./runs.ts";

export interface Typing extends Answering {
  readonly isTTY?: boolean;
  readonly input?: readonly string[];
  /** Files in `{dir}`. */
  readonly files?: Readonly<Record<string, string | Buffer>>;
}

export async function typed(
  words: readonly string[],
  { isTTY = false, input = [], files = {}, ...answering }: Typing = {},
) {
  const daemon = await describedDaemon(answering);
  for (const [file, text] of Object.entries(files)) writeFileSync(join(daemon.dir, file), text);
  const io = new FakeIo({ isTTY, input });
  const line = words.map((word) => word.replace("{dir}", daemon.dir));
  const code = await webhookd(io, ...line, "--socket", daemon.socket);
  return { code, out: io.out, err: io.err, io, daemon, last: daemon.seen.at(-1) };
}
