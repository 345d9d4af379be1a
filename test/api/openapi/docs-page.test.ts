import axe from "axe-core";
import { expect, it } from "vitest";
import { hasChromium, startChromium } from "../../portal/chromium.ts";
import { FakeStore } from "../fake-store.ts";
import { aConfig, ApiServer } from "../server.ts";

const visible = "details.item:not([hidden])";

it.runIf(hasChromium)(
  "the page of the API is searched, folded and linked into, fits a phone, and is accessible",
  async () => {
    const api = await ApiServer.start(new FakeStore().asStore());
    const browser = await startChromium();
    try {
      for (const [width, colorScheme] of [
        [1440, "light"],
        [360, "dark"],
      ] as const) {
        // Long pages without a key are paced.
        api.clock.advance("1m");
        const context = await browser.newContext({ viewport: { width, height: 900 }, colorScheme, bypassCSP: true });
        const page = await context.newPage();
        const faults: string[] = [];
        page.on("pageerror", (error) => faults.push(String(error)));
        await page.goto(`http://127.0.0.1:${api.port}/docs#registerEndpoint`);
        expect(await page.locator("#registerEndpoint").getAttribute("open")).toBe("");
        expect(await page.locator("#registerEndpoint .sample.curl").isVisible()).toBe(true);
        await page.check("#in-python");
        expect(await page.locator("#registerEndpoint .sample:visible").allTextContents()).toEqual([
          expect.stringContaining('client.call("registerEndpoint"'),
        ]);
        const all = await page.locator(visible).count();
        await page.fill("#find", "rotate-secret/complete");
        expect(await page.locator(visible).count()).toBeLessThan(5);
        await page.fill("#find", "");
        expect(await page.locator(visible).count()).toBe(all);
        expect(await page.evaluate("document.documentElement.scrollWidth")).toBeLessThanOrEqual(width);
        await page.evaluate(axe.source);
        const { violations } = (await page.evaluate("axe.run()")) as axe.AxeResults;
        expect(violations.map(({ id, nodes }) => `${id}: ${nodes[0]!.html}`)).toEqual([]);
        expect(faults).toEqual([]);
        await context.close();
      }
    } finally {
      await browser.close();
    }
  },
  60_000,
);

it.runIf(hasChromium)(
  "behind a key, the page can be searched as soon as the key opens it",
  async () => {
    const api = await ApiServer.start(new FakeStore().asStore(), { config: aConfig({ SERVER_DOCS: "key" }) });
    const browser = await startChromium();
    try {
      const page = await browser.newPage();
      await page.goto(`http://127.0.0.1:${api.port}/docs`);
      await page.fill("input[name=key]", await api.addKey(["read"]));
      await page.click("button");
      await page.fill("#find", "rotate-secret/complete");
      await expect.poll(() => page.locator(visible).count()).toBeLessThan(5);
    } finally {
      await browser.close();
    }
  },
  60_000,
);
