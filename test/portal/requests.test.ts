/** Counts the requests of the page. Each costs the daemon work, and with many customers they add up. */
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { hasChromium } from "./chromium.ts";
import { Site } from "./site.ts";

const ENDPOINTS = Number(process.env.WEBHOOKD_ENDPOINTS ?? 120);
const EVENTS = 9;

/** Counts requests to the API from now on, by path. */
function counting(page: Page): string[] {
  const asked: string[] = [];
  page.on("request", (request) => {
    const { pathname, search } = new URL(request.url());
    if (pathname.startsWith("/v1/")) asked.push(pathname + search);
  });
  return asked;
}

describe.skipIf(!hasChromium)("the page asks", () => {
  let site: Site;
  const rows = (page: Page) => page.getByRole("main").getByRole("listitem");

  beforeAll(async () => {
    site = await Site.start({ ENDPOINTS_MAX_PER_TENANT: String(ENDPOINTS + 10) });
    for (let at = 0; at < ENDPOINTS; at++) await site.register({ url: `${site.receiver.url}/${at}` });
  });
  afterAll(() => site.stop());

  it("at most four times to open a list of 20, with the state and the last day of each", async () => {
    const page = await site.open("about:blank");
    const asked = counting(page);
    // On a busy machine the page would stop waiting for the stream, and would have to read again what it read before.
    await page.clock.install();
    await page.clock.pauseAt(Date.now() + 1000);
    await page.goto(await site.link());
    await expect.poll(() => rows(page).count()).toBe(20);
    await page.getByText("live", { exact: true }).waitFor();
    expect(await rows(page).getByText("New", { exact: true }).count()).toBe(20);
    expect(await rows(page).getByRole("img", { name: "No attempts in the last 24 hours" }).count()).toBe(20);
    // A change must show, and nothing else may have been asked by then.
    const before = [...asked];
    await page.clock.resume();
    await site.publish();
    await rows(page).getByText("Working", { exact: true }).nth(19).waitFor();
    expect(before.length, before.join("\n")).toBeLessThanOrEqual(4);
    await page.context().close();
  });

  it("at most 25 times in ten seconds in which every endpoint gets nine events, and shows them all", async () => {
    const page = await site.open(await site.link());
    await expect.poll(() => rows(page).count()).toBe(20);
    const asked = counting(page);
    const seen = site.receiver.requests.length;
    const start = Date.now();
    for (let event = 1; event <= EVENTS; event++) {
      await site.publish({ event });
      await expect
        .poll(() => site.receiver.requests.length - seen, { timeout: 60_000 })
        .toBeGreaterThanOrEqual(event * ENDPOINTS);
      // The events are spread over ten seconds, as the measured load is.
      await new Promise((resolve) => setTimeout(resolve, Math.max(0, start + (event * 10_000) / EVENTS - Date.now())));
    }
    const inTen = asked.length;
    await rows(page)
      .getByRole("img", { name: /^Last 24 hours: 10 attempts succeeded, 0 failed$/ })
      .nth(19)
      .waitFor();
    expect(inTen, asked.join("\n")).toBeLessThanOrEqual(25);
    await page.context().close();
  });

  it("and waits where there were too many requests, says so, and goes on by itself", async () => {
    const slow = await Site.start({ SERVER_RATE_LIMIT: "4" });
    await slow.register();
    const page = await slow.open("about:blank");
    const refused: string[] = [];
    page.on("response", (response) => {
      if (response.status() === 429) refused.push(response.url());
    });
    await page.goto(await slow.link());
    await page.getByText("There are too many requests right now.").waitFor();
    await rows(page).getByText("New", { exact: true }).waitFor();
    await page.getByText("There are too many requests right now.").waitFor({ state: "detached" });
    // Whatever was refused waited, and was not sent again and again.
    expect(refused.length).toBeLessThanOrEqual(8);
    await slow.stop();
  });
});
