/** A link ends while somebody is filling in a form. A new link goes on with it, and nothing that was typed is lost. */
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { hasChromium } from "./chromium.ts";
import { Site } from "./site.ts";

describe.skipIf(!hasChromium)("a link that ends in the middle of a form", () => {
  let site: Site;
  const typed = "https://example.com/half-written";

  beforeAll(async () => {
    site = await Site.start();
  });
  afterAll(() => site.stop());

  /** Opens a page with a form that is half filled in, and revokes its link. */
  async function interrupted(): Promise<Page> {
    const { url, key_id: key } = await site.request("POST", "/v1/portal-links", LINK);
    const page = await site.open(new URL(`/portal${new URL(url).hash}`, site.daemon.url).href);
    await page.getByRole("link", { name: "Add an endpoint" }).first().click();
    await page.getByLabel("URL").fill(typed);
    await page.getByRole("checkbox", { name: "goal.achieved" }).click();
    await site.request("DELETE", `/v1/keys/${key}`);
    await page.getByRole("heading", { name: "This link no longer works" }).waitFor();
    await page.getByText("What you typed here is kept.").waitFor();
    return page;
  }

  async function expectWhole(page: Page): Promise<void> {
    await page.getByRole("heading", { name: "Add an endpoint" }).waitFor();
    expect(await page.getByLabel("URL").inputValue()).toBe(typed);
    await page.getByLabel("Description").fill("Sent with the new link");
    await page.getByRole("button", { name: "Add the endpoint" }).click();
    await page.getByRole("heading", { name: "The endpoint was added" }).waitFor();
    const { data } = await site.request("GET", "/v1/webhooks?tenant=acme");
    expect(data[0]).toMatchObject({ url: typed, events: ["goal.achieved"], description: "Sent with the new link" });
    await page.getByText("live", { exact: true }).waitFor();
  }

  it("goes on with a new link in the same tab", async () => {
    const page = await interrupted();
    const link = await site.link(LINK);
    await page.evaluate(`location.hash = ${JSON.stringify(new URL(link).hash)}`);
    await expectWhole(page);
    expect(new URL(page.url()).hash).toBe("#/new");
    await page.context().close();
  });

  it("goes on with a new link in another tab", async () => {
    const page = await interrupted();
    const other = await page.context().newPage();
    await other.goto(await site.link(LINK));
    await other.getByRole("heading", { name: "Endpoints" }).waitFor();
    await expectWhole(page);
    await page.context().close();
  });

  it("does not go on with a link for somebody else", async () => {
    const page = await interrupted();
    const other = await page.context().newPage();
    await other.goto(await site.link({ ...LINK, tenant: "other" }));
    await other.getByRole("heading", { name: "No endpoints yet" }).waitFor();
    await other.reload();
    await other.getByRole("heading", { name: "No endpoints yet" }).waitFor();
    expect(await page.getByRole("heading", { name: "This link no longer works" }).isVisible()).toBe(true);
    await page.context().close();
  });

  it("goes on with no link for other endpoints of the same tenant", async () => {
    const page = await interrupted();
    const ids: string[] = [];
    for (const at of [1, 2]) {
      const draft = { url: `https://example.com/${at}`, events: ["goal.achieved"] };
      ids.push((await site.request("POST", "/v1/webhooks?tenant=acme", draft)).id);
    }
    const other = await page.context().newPage();
    await other.goto(await site.link({ ...LINK, endpoints: ids }));
    await expect.poll(() => other.getByRole("main").getByRole("listitem").count()).toBe(2);
    await other.reload();
    await expect.poll(() => other.getByRole("main").getByRole("listitem").count()).toBe(2);
    expect(await page.getByRole("heading", { name: "This link no longer works" }).isVisible()).toBe(true);
    await page.context().close();
  });

  it("takes from other tabs only the link that ends last, and swaps none", async () => {
    const { context, open, keyOf, asked } = await tabs();
    const first = await open(200);
    await open(180);
    const last = await open(240);
    await expect.poll(() => keyOf(first)).toBe(await keyOf(last));
    await open(160);
    await first.getByText("live", { exact: true }).waitFor();
    // Four tabs, and each of the first two takes the last link, perhaps more than once.
    expect(asked.length).toBeLessThanOrEqual(4 + 2 + 2);
    expect(await keyOf(first)).toBe(await keyOf(last));
    await context.close();
  });

  /** Opens tabs whose links end soon, and counts what all of them ask about their links. */
  async function tabs() {
    const context = await site.browser.newContext();
    const asked: string[] = [];
    context.on("request", (request) => {
      if (new URL(request.url()).pathname === "/v1/portal") asked.push(request.url());
    });
    const open = async (seconds: number) => {
      const page = await context.newPage();
      await page.goto(await site.link({ ...LINK, expires_in: seconds }));
      await page.getByText("live", { exact: true }).waitFor();
      return page;
    };
    const keyOf = (page: Page) => page.evaluate("sessionStorage.getItem('webhookd.key')");
    return { context, open, keyOf, asked };
  }

  it("keeps its link for a reload if another does not work", async () => {
    const page = await site.open(await site.link(LINK));
    await page.getByText("live", { exact: true }).waitFor();
    const refused = page.waitForResponse((response) => response.status() === 401);
    await page.evaluate(`location.hash = "#whk_nothing"`);
    await (await refused).finished();
    await page.getByText("live", { exact: true }).waitFor();
    await page.reload();
    await page.getByText("live", { exact: true }).waitFor();
    await page.context().close();
  });

  it("begins at the first screen with a link for somebody else in the same tab", async () => {
    const page = await interrupted();
    const link = await site.link({ ...LINK, tenant: "third" });
    await page.evaluate(`location.hash = ${JSON.stringify(new URL(link).hash)}`);
    await page.getByRole("heading", { name: "No endpoints yet" }).waitFor();
    expect(new URL(page.url()).hash).toBe("#/");
    await page.context().close();
  });

  it("asks for a key again after a reload if the key does not expire", async () => {
    const page = await site.open(await site.link(LINK));
    await page.getByText("live", { exact: true }).waitFor();
    await page.evaluate(`location.hash = "#${site.key}"`);
    await page.getByLabel("Tenant").waitFor();
    await page.reload();
    await page.getByRole("heading", { name: "Open this page with a link" }).waitFor();
    await page.getByText("I run this service and have a key").click();
    await page.getByLabel("Key").fill(site.key);
    await page.getByRole("button", { name: "Open", exact: true }).click();
    await page.getByLabel("Tenant").waitFor();
    await page.reload();
    await page.getByRole("heading", { name: "Open this page with a link" }).waitFor();
    await page.context().close();
  });

  it("has the way back on every screen, and in the title the screen", async () => {
    const page = await site.open(await site.link({ ...LINK, return_url: "https://app.example/settings" }));
    const back = page.getByRole("link", { name: "Back to app.example" });
    expect(await back.getAttribute("href")).toBe("https://app.example/settings");
    expect(await page.title()).toBe("Endpoints · Webhooks");
    await page.getByRole("link", { name: "Add an endpoint" }).first().click();
    await expect.poll(() => page.title()).toBe("Add an endpoint · Webhooks");
    await back.waitFor();
    // After a refusal the focus is on the first field to correct; after success, on the result.
    await page.getByLabel("URL").fill("ftp://example.com");
    await page.getByRole("button", { name: "Add the endpoint" }).click();
    await expect.poll(() => page.evaluate("document.activeElement.id")).toBe("url");
    await page.getByLabel("URL").fill("https://example.com/done");
    await page.getByRole("checkbox", { name: "goal.achieved" }).click();
    await page.getByRole("button", { name: "Add the endpoint" }).click();
    await expect.poll(() => page.evaluate("document.activeElement.textContent")).toBe("The endpoint was added");
    await page.context().close();
  });

  it("lets an operator of more tenants than fit a list type the name of one", async () => {
    for (let at = 0; at < 101; at++) {
      const draft = { url: "https://example.com/hook", events: ["goal.achieved"] };
      await site.request("POST", `/v1/webhooks?tenant=t${String(at).padStart(3, "0")}`, draft);
    }
    const page = await site.open(await site.link({ tenant: "*", can: ["manage"] }));
    const rows = page.getByRole("main").getByRole("listitem");
    await page.getByRole("button", { name: "Older" }).click();
    await page.getByRole("button", { name: "Newer" }).waitFor();
    // The first page of that tenant follows, and not the second.
    await page.getByRole("combobox", { name: "Tenant" }).fill("t100");
    await page.keyboard.press("Enter");
    await expect.poll(() => rows.count()).toBe(1);
    expect(await page.getByRole("button", { name: "Newer" }).count()).toBe(0);
    await page.context().close();
  });
});

const LINK = { tenant: "acme", can: ["manage"], new_tenant: true };
