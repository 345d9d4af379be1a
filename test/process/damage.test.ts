/** Damaged pages under a real daemon: what it says, what it delivers, and how it exits. */
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect } from "vitest";
import { it, type Machine } from "../harness/process.ts";
import { overwrite, pagesOf, type PageOf } from "../harness/pages.ts";
import type { TestReceiver } from "../harness/receiver.ts";

/** `DAMAGED_PAGES=200 npx vitest run test/process/damage.test.ts` looks at so many. */
const PAGES = Number(process.env.DAMAGED_PAGES ?? 6);
const EVENTS = 120;
/** Data that fills pages. */
const data = (n: number) => ({ n, text: "x".repeat(200) });

interface Made {
  readonly dir: string;
  readonly receiver: TestReceiver;
  /** Ids of events that were delivered before the damage, and of those that wait. */
  readonly delivered: readonly string[];
  readonly waiting: readonly string[];
}

/** A store whose daemon was killed. The brake is on, so that what waits is sent once somebody resumes. */
async function aKilledStore(machine: Machine): Promise<Made> {
  const dir = join(machine.home, "made");
  const receiver = await machine.receiver();
  const daemon = await machine.serve({ dir });
  await daemon.register(receiver.url);
  const delivered: string[] = [];
  for (let n = 0; n < EVENTS; n++) delivered.push(await daemon.publish(data(n)));
  for (const id of delivered) await daemon.settled(id);
  await daemon.request("POST", "/v1/pause", { reason: "the test" });
  const waiting: string[] = [];
  for (let n = 0; n < EVENTS; n++) waiting.push(await daemon.publish(data(n)));
  await daemon.kill9();
  return { dir, receiver, delivered, waiting };
}

function copyOf(machine: Machine, dir: string): string {
  const copy = mkdtempSync(join(machine.home, "copy-"));
  for (const name of ["webhookd.db", "webhookd.db-wal", "secret.key", "admin.key", "STORE"])
    cpSync(join(dir, name), join(copy, name));
  return copy;
}

/** While it mends the database it answers nobody. */
async function ask(url: string, key: string, method: string, path: string): Promise<any> {
  for (;;) {
    const response = await fetch(new URL(path, url), { method, headers: { authorization: `Bearer ${key}` } }).catch(
      () => null,
    );
    if (response?.ok === true) return response.json();
    await response?.body?.cancel();
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

/** Of each table and index one page, then the next of each, and so on; tables first, and always the same. */
function chosen(pages: readonly PageOf[]): PageOf[] {
  const trees = [...new Set(pages.map(({ tree }) => tree))];
  const first = (tree: string) => ["delivery", "event", "attempt", "delivery_waiting", "meta"].indexOf(tree);
  const order = trees.toSorted((a, b) => ((first(a) + 100) % 100) - ((first(b) + 100) % 100));
  return pages
    .flatMap((_, turn) =>
      order.flatMap((tree) => pages.filter((page) => page.tree === tree && page.kind === "leaf").slice(turn, turn + 1)),
    )
    .slice(0, PAGES);
}

describe("a daemon on a damaged database", () => {
  it(
    "says what is damaged, delivers what can be read, and nothing twice after a 2xx; or exits 65",
    { timeout: 30_000 + PAGES * 15_000 },
    async ({ machine }) => {
      const made = await aKilledStore(machine);
      const key = readFileSync(join(made.dir, "admin.key"), "utf8").trim();
      const ends = { mended: 0, met: 0, untouched: 0, refused: 0 };
      for (const [at, { tree, page }] of chosen(pagesOf(join(copyOf(machine, made.dir), "webhookd.db"))).entries()) {
        const what = `page ${page} of ${tree}`;
        const dir = copyOf(machine, made.dir);
        const file = join(dir, "webhookd.db");
        pagesOf(file);
        overwrite(file, page);
        // Half of them are met by a daemon that has no reason to look for them.
        const wasKilled = at % 2 === 0;
        if (wasKilled) writeFileSync(`${file}-wal`, "nothing of worth");
        made.receiver.requests.length = 0;
        const daemon = machine.start({ dir });
        const listening = await daemon.json(({ msg }) => msg === "listening").catch(() => null);
        if (listening === null) {
          ends.refused++;
          expect(await daemon.exit, `${what}: ${daemon.stderr}`).toBe(65);
          expect(daemon.stderr, what).toContain("webhookd restore");
          continue;
        }
        const url = String(listening.url);
        await ask(url, key, "POST", "/v1/resume");
        let status = await ask(url, key, "GET", "/v1/status");
        const lostNow = () =>
          status.damaged_database?.lost.find(({ table }: { table: string }) => table === "event")?.rows ?? 0;
        // A daemon that has just started again has not looked yet at what is due.
        const isWaiting = () => made.receiver.requests.length < made.waiting.length - lostNow();
        while (status.oldest_due_at !== null || isWaiting()) status = await ask(url, key, "GET", "/v1/status");
        const ids = made.receiver.requests.map(({ headers }) => headers["webhook-id"]!);
        expect(new Set(ids).size, `${what}: sent twice`).toBe(ids.length);
        expect(
          ids.filter((id) => made.delivered.includes(id)),
          `${what}: sent again`,
        ).toEqual([]);
        expect(ids.length, `${what}: not sent`).toBeGreaterThanOrEqual(made.waiting.length - lostNow());
        if (status.damaged_database === null) ends.untouched++;
        else {
          ends[wasKilled ? "mended" : "met"]++;
          expect(status.damaged_database.pages, what).toContainEqual({ name: tree, pages: [page] });
          expect((await fetch(new URL("/readyz", url))).headers.get("x-webhookd-storage")).toBe("damaged");
        }
        expect(wasKilled && status.damaged_database === null, `${what}: not seen`).toBe(false);
        daemon.kill("SIGTERM");
        expect(await daemon.exit, what).toBe(0);
        rmSync(dir, { recursive: true, force: true });
      }
      if (PAGES > 6) console.log(ends);
      expect(ends.mended).toBeGreaterThan(0);
      expect(ends.met).toBeGreaterThan(0);
    },
  );
});
