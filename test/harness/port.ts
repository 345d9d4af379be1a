import { randomInt } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:net";

/** Linux assigns ports from 32768 on to sockets that ask for any port, other systems from 49152 on. */
const [FIRST, END] = [20_000, 32_000];

/**
 * Returns a free port of 127.0.0.1 that the system does not assign to sockets that ask for any port. A process that
 * closes it can open it again, even if other tests open ports in the meantime.
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
