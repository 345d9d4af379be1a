/** Measures the customers' page in a browser, over loopback: how soon it appears, and how soon it reacts. */
import { setTimeout as sleep } from "node:timers/promises";
import { DaemonUnderTest } from "./daemon.ts";
import { atMost, Measures, none, type Measure } from "./measure.ts";
import type { BenchOptions } from "./options.ts";
import { EVENT_TYPE } from "./payload.ts";
import { remove, scratch } from "./scratch.ts";

const ROUNDS = 5;
const DELIVERIES = 10_000;
const BATCH = 1000;
const CLICKS = 4;

export async function portal(options: BenchOptions): Promise<Measure[]> {
  // Import these here, because no other scenario needs a browser.
  const [{ startChromium }, { choiceDrawn, firstPaint }] = await Promise.all([
    import("../../test/portal/chromium.ts"),
    import("../../test/portal/figures.ts"),
  ]);
  const dir = scratch();
  const daemon = await DaemonUnderTest.start({ dir, threads: options.threads });
  const browser = await startChromium();
  const origin = `http://127.0.0.1:${daemon.port}`;
  const found = { cold: [] as number[], warm: [] as number[], click: [] as number[], strays: [] as number[] };
  try {
    const endpoint = await filled(origin, daemon.key);
    const rounds = options.rounds ?? ROUNDS;
    for (let round = 1; round <= rounds; round++) {
      let strays = 0;
      // A new context has an empty cache.
      const context = await browser.newContext();
      const page = await context.newPage();
      page.on("request", (request) => (strays += request.url().startsWith(`${origin}/`) ? 0 : 1));
      const { url } = await call(origin, daemon.key, "/v1/portal-links", { can: ["manage"] });
      const { pathname, hash } = new URL(url);
      await page.goto(`${origin}${pathname}${hash}`);
      await page.getByRole("heading", { name: "Endpoints" }).waitFor();
      found.cold.push(await firstPaint(page));
      await page.reload();
      await page.getByRole("heading", { name: "Endpoints" }).waitFor();
      found.warm.push(await firstPaint(page));
      await page.evaluate(`location.hash = "#/${endpoint}"`);
      await page.getByRole("row").nth(25).waitFor();
      const clicks: number[] = [];
      for (let at = 0; at < CLICKS; at++) clicks.push(await choiceDrawn(page, at % 2 === 0 ? "Waiting" : "All"));
      found.click.push(Math.max(...clicks));
      // Wait for stray requests.
      await sleep(200);
      found.strays.push(strays);
      await context.close();
      options.note(`round ${round} of ${rounds}: ${found.cold.at(-1)!.toFixed(0)} ms until the first paint`);
    }
  } finally {
    await browser.close();
    await daemon.stop();
    remove(dir);
  }
  const measures = new Measures("portal");
  measures.add("first paint, nothing cached", "ms", found.cold, atMost("", 300));
  measures.add("first paint after a reload", "ms", found.warm, atMost("", 300));
  measures.add(`slowest click, ${DELIVERIES.toLocaleString("en-US")} deliveries`, "ms", found.click, atMost("", 100));
  measures.add("requests to other hosts", "", found.strays, none(""));
  return measures.all;
}

/** Returns the id of an endpoint for which this many deliveries are held. */
async function filled(origin: string, key: string): Promise<string> {
  const draft = { url: "http://127.0.0.1:61999/nowhere", events: [EVENT_TYPE], enabled: false };
  const { id } = await call(origin, key, "/v1/webhooks", draft);
  const events = Array.from({ length: BATCH }, (_, at) => ({ type: EVENT_TYPE, data: { at } }));
  for (let sent = 0; sent < DELIVERIES; sent += BATCH) await call(origin, key, "/v1/webhooks/events/batch", { events });
  return id;
}

async function call(origin: string, key: string, path: string, body: object): Promise<{ id: string; url: string }> {
  const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
  const response = await fetch(origin + path, { method: "POST", headers, body: JSON.stringify(body) });
  if (!response.ok) throw new Error(`${path} was answered ${response.status}: ${await response.text()}`);
  return (await response.json()) as { id: string; url: string };
}
