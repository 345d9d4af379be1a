/**
 * Overwrites one page of a store after another, starts the daemon on each copy in this process, and checks the result:
 * events that can be read are delivered, none is sent again after a 2xx, and exit codes follow the table.
 */
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { memoryDirectory } from "../../test/harness/scratch.ts";
import { scriptArguments } from "../arguments.ts";
import { TestReceiver } from "../../test/harness/receiver.ts";
import { chosenPages, tryPage, type End, type Site } from "./pages.ts";
import { serveHere } from "./serve-here.ts";

const USAGE = `npm run damage -- [--pages N]

Overwrites one page of a store after another and starts the daemon on each.`;

const { values, refuse } = scriptArguments(USAGE, { pages: { type: "string", default: "200" } });
const count = Number(values.pages);
if (!(count >= 1)) refuse("--pages is a number.");
/** The number of events of each kind. With bodies of this size, they fill enough pages. */
const EVENTS = 640;
const BATCH = 40;
const TEXT = "x".repeat(600);

const home = mkdtempSync(join(process.env.TMPDIR ?? memoryDirectory() ?? tmpdir(), "webhookd-damage-"));
process.once("SIGINT", () => process.exit(130));
process.once("exit", () => rmSync(home, { recursive: true, force: true }));
const receiver = await TestReceiver.start();
const startedAt = performance.now();
const site = await aSite();
const pages = chosenPages(site, count);
const trees = new Map<string, Record<End, number>>();
let bad = 0;
for (const [at, page] of pages.entries()) {
  const { end, violations } = await tryPage(site, page, at % 2 === 0, serveHere);
  const ends = trees.get(page.tree) ?? { mended: 0, met: 0, untouched: 0, refused: 0 };
  ends[end]++;
  trees.set(page.tree, ends);
  bad += violations.length;
  for (const violation of violations) console.error(`page ${page.page} of ${page.tree}: ${violation}`);
}
await receiver.close();
console.table(Object.fromEntries(trees));
const total = (end: End) => [...trees.values()].reduce((sum, ends) => sum + ends[end], 0);
const seconds = ((performance.now() - startedAt) / 1000).toFixed(0);
const ends = (["mended", "met", "untouched", "refused"] as const).map((end) => `${total(end)} ${end}`).join(", ");
console.log(`${pages.length} pages of ${trees.size} tables and indexes in ${seconds} s: ${ends}, ${bad} violations`);
process.exitCode = bad === 0 ? 0 : 1;

/** Creates the files that a kill leaves of a daemon that is paused and idle. */
async function aSite(): Promise<Site> {
  const living = join(home, "living");
  mkdirSync(living);
  const life = serveHere(living);
  const url = (await life.listening)!;
  const key = readFileSync(join(living, "admin.key"), "utf8").trim();
  const request = async <T>(method: string, path: string, body?: unknown): Promise<T> => {
    const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
    const options = { method, headers, ...(body !== undefined && { body: JSON.stringify(body) }) };
    const response = await fetch(new URL(path, url), options);
    if (!response.ok) throw new Error(`${method} ${path} was answered ${response.status}: ${await response.text()}`);
    return response.json() as Promise<T>;
  };
  const publish = async (name: string, count: number): Promise<string[]> => {
    const ids: string[] = [];
    for (let n = 0; n < count; n += BATCH) {
      const events = Array.from({ length: Math.min(BATCH, count - n) }, (_, at) => {
        return { type: "budget.exceeded", data: { text: TEXT }, idempotency_key: `${name}-${n + at}` };
      });
      const { data } = await request<{ data: { id: string }[] }>("POST", "/v1/webhooks/events/batch", { events });
      ids.push(...data.map(({ id }) => id));
    }
    return ids;
  };
  const untilPending = async (count: number) => {
    const pending = () => request<{ data: unknown[] }>("GET", "/v1/webhooks/events?status=pending&limit=100");
    while ((await pending()).data.length > count) await pause(20);
  };
  await request("POST", "/v1/webhooks", { url: receiver.url, events: ["budget.exceeded"], headers: { "x-a": "b" } });
  const delivered = await publish("before", EVENTS / 2);
  await untilPending(0);
  // One attempt stays in flight until the kill, so that later deliveries are above the mark of what may be fresh.
  const killed = Promise.withResolvers<void>();
  receiver.answer({ until: killed.promise });
  const waiting = await publish("on-its-way", 1);
  while (receiver.requests.length <= EVENTS / 2) await pause(20);
  delivered.push(...(await publish("above", EVENTS / 2)));
  await untilPending(1);
  const job = { action: "replay", filter: { events: delivered.slice(0, 5), status: "delivered" } };
  const { id } = await request<{ id: string }>("POST", "/v1/webhooks/jobs", job);
  const isDone = async () => (await request<{ status: string }>("GET", `/v1/webhooks/jobs/${id}`)).status === "done";
  while (!(await isDone())) await pause(20);
  await request("POST", "/v1/pause", { reason: "the damage" });
  waiting.push(...(await publish("after", EVENTS)));
  const dir = join(home, "made");
  cpSync(living, dir, { recursive: true, filter: (path) => !path.endsWith(".sock") });
  killed.resolve();
  life.stop();
  await life.exit;
  rmSync(living, { recursive: true });
  return { dir, home, receiver, delivered, waiting };
}
