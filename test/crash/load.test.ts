import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { expect, it, vi } from "vitest";
import { Api } from "../../scripts/crash/api.ts";
import type { DriverEntry } from "../../scripts/crash/entries.ts";
import { Journal, readJournal } from "../../scripts/crash/journal.ts";
import { Load } from "../../scripts/crash/load.ts";
import { aDirectory } from "../harness/daemon.ts";
import { Random } from "../sim/random.ts";

it("publishers leave a port alone once their daemon has ended, because another one may have it by then", async () => {
  const file = join(aDirectory(), "journal.jsonl");
  const journal = await Journal.open(file);
  const statuses: number[] = [];
  const { promise: ended, resolve: end } = Promise.withResolvers<void>();
  // The port is the same before and after the end, as if a stranger had got it at once.
  let isStranger = false;
  const server = createServer((request, response) => {
    request.resume().on("end", () => {
      const status = isStranger ? 401 : 503;
      if (request.method === "POST") statuses.push(status);
      response.writeHead(status).end('{"data":[]}');
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const api = new Api(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, "key");
  let numbers = 0;
  const load = new Load({
    api,
    generation: 1,
    journal,
    random: new Random(1),
    next: () => ++numbers,
    replayed: new Set(),
    again: [],
    onAck: () => {},
    ended,
  });
  await vi.waitFor(() => expect(statuses.length).toBeGreaterThan(3), { timeout: 30_000 });
  isStranger = true;
  end();
  await load.over;
  await journal.close();
  server.close();
  // Each of the three publishers may have been sending at the end.
  const refused = [...readJournal<DriverEntry>(file)].flatMap((entry) =>
    entry.kind === "refused" ? entry.status : [],
  );
  expect(refused.filter((status) => status === 401).length).toBeLessThanOrEqual(3);
});
