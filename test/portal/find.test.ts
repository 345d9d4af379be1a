/** A customer finds an endpoint among many, one delivery among many, and an event type. The address holds the filter. */
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { foundBy, queryOf } from "../../src/portal/deliveries/search.ts";
import { hasChromium } from "./chromium.ts";
import { Site } from "./site.ts";

describe("a free text of a search for deliveries", () => {
  const id = `evt_${"0".repeat(26)}`;
  it.each([
    ["", {}],
    [` ${id} `, { event: id }],
    ["order-12", { publisher_id: "order-12" }],
    ["urn:order:12", { data: "urn:order:12" }],
    ["customer.id:cus_123", { data: "customer.id:cus_123" }],
    ["evt_short", { publisher_id: "evt_short" }],
  ])("is what it looks like: %j", (text, query) => {
    expect(foundBy(text)).toEqual(query);
  });

  it("goes with the other filters of the address", () => {
    const filters = new URLSearchParams({ show: "failed", find: "order-12", type: "a.b", since: "2026-11-20T09:00Z" });
    expect(queryOf(filters)).toEqual({
      status: "failed",
      publisher_id: "order-12",
      type: "a.b",
      error: undefined,
      since: "2026-11-20T09:00Z",
      until: undefined,
    });
    expect(queryOf(new URLSearchParams({ show: "constructor" }))).toMatchObject({ type: undefined });
  });
});

describe.skipIf(!hasChromium)("a customer", () => {
  let site: Site;
  let page: Page;
  const rows = () => page.getByRole("main").getByRole("listitem");
  const hash = () => new URL(page.url()).hash;

  beforeAll(async () => {
    site = await Site.start({ RETRY_DELAYS: "1h" });
    for (let at = 0; at < 22; at++)
      await site.register({ url: `${site.receiver.url}/quiet-${at}`, events: ["carbon.threshold"] });
    await site.register({ url: `${site.receiver.url}/broken`, description: "Ledger", events: ["goal.*"] });
    site.receiver.answer(...Array.from({ length: 9 }, () => ({ status: 503 })));
    for (const order of [11, 12, 13])
      await site.request("POST", "/v1/webhooks/events", {
        type: "goal.achieved",
        data: { customer: { id: `cus_${order}` } },
        publisher_id: `order-${order}`,
      });
    // An attempt that is cut off on a busy machine is repeated, and takes one more answer.
    const failing = async () => (await site.request("GET", "/v1/webhooks?include=failing&limit=1")).failing;
    await vi.waitFor(async () => expect(await failing()).toBe(1), 60_000);
    page = await site.open(await site.link());
  });
  afterAll(() => site.stop());

  it("sees how many endpoints fail, and finds them by state, by text, by type and in order", async () => {
    await page.getByRole("link", { name: "1 of 23 failing" }).click();
    await expect.poll(() => rows().count()).toBe(1);
    await rows().getByText("Failing", { exact: true }).waitFor();
    expect(hash()).toBe("#/?state=failing");
    await page.getByText("1 endpoint found.").waitFor();
    await page.getByLabel("State").selectOption("All");
    await page.getByLabel("Order").selectOption("Most failures first");
    await rows().first().getByText("Ledger").waitFor();
    await page.getByLabel("Find").fill("QUIET-7");
    await expect.poll(() => rows().count()).toBe(1);
    expect(hash()).toContain("find=QUIET-7");
    // The field keeps the focus while the list changes.
    expect(await page.evaluate("document.activeElement.type")).toBe("search");
    await page.reload();
    await expect.poll(() => rows().count()).toBe(1);
    expect(await page.getByLabel("Find").inputValue()).toBe("QUIET-7");
    await page.getByLabel("Find").fill("no such thing");
    await page.getByText("Nothing was found").waitFor();
    await page.getByRole("button", { name: "Clear" }).click();
    await expect.poll(() => rows().count()).toBe(20);
    expect(await page.getByLabel("Find").inputValue()).toBe("");
    await page.getByLabel("Event type").selectOption("goal.achieved");
    await expect.poll(() => rows().count()).toBe(1);
  });

  it("finds why order 12 did not arrive, by the id that they know, among all endpoints", async () => {
    await page.getByRole("link", { name: "Deliveries" }).click();
    await page.getByRole("heading", { name: "Deliveries" }).waitFor();
    const found = page.getByRole("row").filter({ hasText: "goal.achieved" });
    await expect.poll(() => found.count()).toBe(3);
    await page.getByLabel("Find").fill("order-12");
    await expect.poll(() => found.count()).toBe(1);
    await found.getByText("/broken").waitFor();
    await page.getByLabel("Find").fill("customer.id:cus_13");
    await expect.poll(() => found.count()).toBe(1);
    await page.getByLabel("Find").fill("");
    await page.getByLabel("Last error").selectOption("timeout");
    await page.getByText("Nothing was found").waitFor();
    await page.getByLabel("Last error").selectOption("http_status");
    await expect.poll(() => found.count()).toBe(3);
    await page.getByLabel("From").fill("2099-01-01T00:00");
    await page.getByText("Nothing was found").waitFor();
    expect(hash()).toMatch(/since=2\d{3}-/);
    await page.getByRole("button", { name: "Clear" }).first().click();
    await expect.poll(() => found.count()).toBe(3);
    await page.getByRole("button", { name: "Delivered", exact: true }).click();
    await page.getByText("Nothing has been delivered yet").waitFor();
    await page.getByRole("button", { name: "Not delivered" }).click();
    await expect.poll(() => found.count()).toBe(3);
    await found.first().getByRole("link").click();
    await page.getByRole("heading", { name: "goal.achieved" }).waitFor();
    await page
      .locator(".facts")
      .getByText(/^order-1\d$/)
      .waitFor();
    await page
      .getByRole("region", { name: "Request line and main headers" })
      .getByText(/x-webhookd-delivery: dlv_/)
      .waitFor();
    await page.getByRole("button", { name: "Copy: the delivery's id" }).waitFor();
    await page.goBack();
    // The way back keeps the filter.
    await expect.poll(() => found.count()).toBe(3);
    expect(hash()).toBe("#/deliveries?show=open");
  });

  it("sees how an endpoint fares over an hour, a day and a week, part by part and as a table", async () => {
    await page.evaluate(`location.hash = "#/?state=failing"`);
    await rows().getByRole("link").click();
    const chart = page.getByRole("region", { name: "Attempts" });
    await chart.getByRole("img", { name: "0 attempts succeeded, 3 failed" }).waitFor();
    for (const name of ["1 hour", "7 days"]) {
      await chart.getByRole("button", { name }).click();
      await chart.getByRole("img", { name: "0 attempts succeeded, 3 failed" }).waitFor();
    }
    const bars = (await chart.getByRole("img").first().boundingBox())!;
    await page.mouse.move(bars.x + bars.width - 2, bars.y + 10);
    await chart.getByText(/: 0 succeeded, 3 failed; half took up to/).waitFor();
    await chart.getByText("As a table").click();
    await expect.poll(() => chart.getByRole("row").count()).toBe(2);
    await chart.getByRole("row").last().getByText("3", { exact: true }).waitFor();
  });

  it("reads the catalogue: description, sample, schema, and which endpoints get a type", async () => {
    await page.getByRole("link", { name: "Event types" }).click();
    await page.getByRole("heading", { name: "Event types" }).waitFor();
    await page.getByLabel("Find").fill("goal.ach");
    await page.getByText("1 event type found").waitFor();
    await page.getByText("Sample, schema, and who gets it").click();
    await page.getByText("1 endpoint gets it").waitFor();
    await page.getByRole("region", { name: "Schema of goal.achieved" }).waitFor();
    await page.getByRole("region", { name: "Sample of goal.achieved" }).waitFor();
    await page.getByRole("link", { name: /broken/ }).click();
    await page.getByRole("heading", { name: /broken/ }).waitFor();
  });

  it("cancels what waits, and erases an event's data, after a question", async () => {
    const { data } = await site.request("GET", "/v1/webhooks/events?publisher_id=order-13");
    await page.evaluate(`location.hash = "#/deliveries?find=order-13"`);
    await page.getByRole("row").getByRole("link").click();
    await page.getByRole("button", { name: "Cancel", exact: true }).click();
    await page.getByRole("button", { name: "Cancel the delivery" }).click();
    await page.locator(".facts").getByText("Cancelled", { exact: true }).waitFor();
    await page.getByRole("button", { name: "Erase the data" }).click();
    await page.getByRole("button", { name: "Erase it" }).click();
    await page.getByText("the body that was sent is no longer kept").waitFor();
    expect(await page.getByRole("button", { name: "Erase the data" }).count()).toBe(0);
    expect((await site.request("GET", `/v1/webhooks/events/${data[0].id}`)).data).toBeNull();
  });

  it("who has a link for several endpoints is not offered the deliveries of all", async () => {
    const ids = (await site.request("GET", "/v1/webhooks?limit=2")).data.map(({ id }: { id: string }) => id);
    const narrow = await site.open(await site.link({ endpoints: ids }));
    await narrow.getByRole("link", { name: "Event types" }).waitFor();
    expect(await narrow.getByRole("link", { name: "Deliveries" }).count()).toBe(0);
    await narrow.context().close();
  });

  it("made no request to any other host, and nothing that the policy refuses", () => {
    expect(site.strays).toEqual([]);
  });
});
