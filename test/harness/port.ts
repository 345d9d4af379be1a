import { randomInt } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:net";

/** Linux hands out the ports from 32768 on to whoever asks for any, other systems those from 49152 on. */
const [FIRST, END] = [20_000, 32_000];

/**
 * A port of 127.0.0.1 that is free, and that nobody is given who asks for any free one: for what lets go of its port and
 * wants it again, while other tests open theirs.
 */
export async function ownPort(): Promise<number> {
  for (;;) {
    const port = randomInt(FIRST, END);
    const server = createServer().listen(port, "127.0.0.1");
    const isFree = await once(server, "listening").then(
      () => true,
      () => false,
    );
    if (!isFree) continue;
    server.close();
    await once(server, "close");
    return port;
  }
}
