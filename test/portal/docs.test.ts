/** The description of the API in a real browser, where the configuration closes it. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { hasChromium } from "./chromium.ts";
import { Site } from "./site.ts";

describe.skipIf(!hasChromium)("the page at /docs", () => {
  let site: Site;
  beforeAll(async () => {
    site = await Site.start({ SERVER_DOCS: "key" });
  });
  afterAll(() => site.stop());

  it("asks for a key, refuses a wrong one, and shows the description for a right one", async () => {
    const page = await site.browser.newPage();
    const said: string[] = [];
    const asked: string[] = [];
    page.on("console", (message) => said.push(message.text()));
    page.on("request", (request) => asked.push(request.url()));
    await page.goto(`${site.daemon.url}/docs`);
    const key = page.getByLabel("API key");
    await key.fill("whk_wrong");
    await page.getByRole("button").click();
    await page.getByText("This key does not open it.").waitFor();
    await key.fill(site.key);
    await page.getByRole("button").click();
    await page.getByRole("heading", { name: "Make a link to the portal" }).waitFor();
    const columns = await page.evaluate(() => getComputedStyle(document.body).display);
    expect(columns, "its style is taken too").toBe("grid");
    expect(said.filter((text) => /Content Security Policy/i.test(text))).toEqual([]);
    expect(asked.filter((url) => url.includes("whk_"))).toEqual([]);
  });
});
