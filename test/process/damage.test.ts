/**
 * A real daemon on damaged pages: what it reports and delivers, and how it exits. `npm run damage` tries many pages.
 */
import { join } from "node:path";
import { describe, expect } from "vitest";
import { chosenPages, tryPage, type Life, type Site } from "../../scripts/damage/pages.ts";
import { it, type Machine } from "../harness/process.ts";

const PAGES = 6;
const EVENTS = 120;
/** Data that fills pages. */
const data = (n: number) => ({ n, text: "x".repeat(200) });

async function aKilledStore(machine: Machine): Promise<Site> {
  const dir = join(machine.home, "made");
  // The first delivery is in flight until the kill. So none of the later, delivered ones is below the mark of what may
  // be fresh, and only the store's own record tells them from pending ones.
  const killed = Promise.withResolvers<void>();
  const receiver = await machine.receiver({ until: killed.promise });
  const daemon = await machine.serve({ dir });
  await daemon.register(receiver.url);
  const waiting = [await daemon.publish(data(-1))];
  await receiver.next();
  const delivered: string[] = [];
  for (let n = 0; n < EVENTS; n++) delivered.push(await daemon.publish(data(n)));
  for (const id of delivered) await daemon.settled(id);
  await daemon.request("POST", "/v1/pause", { reason: "the test" });
  for (let n = 0; n < EVENTS; n++) waiting.push(await daemon.publish(data(n)));
  await daemon.kill9();
  killed.resolve();
  return { dir, home: machine.home, receiver, delivered, waiting };
}

function serve(machine: Machine, dir: string, probes: string[]): Life {
  const daemon = machine.start({ dir });
  const listening = daemon
    .json(({ msg }) => msg === "listening")
    .then(
      async ({ url }) => {
        // A daemon that lives must not be restarted, and is ready or says why not.
        const asked = ["/healthz", "/readyz"].map(async (path) => (await fetch(new URL(path, String(url)))).status);
        probes.push((await Promise.all(asked).catch(() => ["ended"])).join());
        return String(url);
      },
      () => null,
    );
  return { listening, exit: daemon.exit, stderr: () => daemon.stderr, stop: () => daemon.kill("SIGTERM") };
}

describe("a daemon on a damaged database", () => {
  it(
    "says what is damaged, delivers what can be read, and nothing twice after a 2xx; or exits 65",
    { timeout: 300_000 + PAGES * 15_000 },
    async ({ machine }) => {
      const site = await aKilledStore(machine);
      const ends = new Set<string>();
      const probes: string[] = [];
      for (const [at, page] of chosenPages(site, PAGES).entries()) {
        // Every other daemon has no reason to look for the damage, and runs into it.
        const { end, violations } = await tryPage(site, page, at % 2 === 0, (dir) => serve(machine, dir, probes));
        expect(violations, `page ${page.page} of ${page.tree}`).toEqual([]);
        ends.add(end);
      }
      expect(probes).toContain("200,200");
      expect(probes.filter((answers) => !/^(200,(200|503)|ended)$/.test(answers))).toEqual([]);
      expect([...ends]).toEqual(expect.arrayContaining(["mended", "met"]));
    },
  );
});
