/** A customer has events sent in order and in another format, and frees a key that a failed event holds. */
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { hasChromium } from "./chromium.ts";
import { Site } from "./site.ts";

describe.skipIf(!hasChromium)("a customer", () => {
  let site: Site;
  let page: Page;
  let id: string;
  const button = (name: string) => page.getByRole("button", { name, exact: true });
  const publish = (order: number) => {
    const draft = { type: "budget.exceeded", data: { order }, ordering_key: "order_7" };
    return site.request("POST", "/v1/webhooks/events", draft);
  };
  const orders = () => site.receiver.requests.map(({ body }) => (JSON.parse(String(body)) as { order: number }).order);

  beforeAll(async () => {
    site = await Site.start({ RETRY_DELAYS: "10ms" });
    page = await site.open(await site.link());
  });
  afterAll(() => site.stop());

  it("chooses the format and the order of an endpoint", async () => {
    await page.getByRole("link", { name: "Add an endpoint" }).click();
    await page.getByLabel("URL").fill(site.receiver.url);
    await page.getByRole("checkbox", { name: "budget.exceeded" }).click();
    await page.getByText("Format of the body, order of events").click();
    await page.getByLabel("Format of the body").selectOption({ label: "CloudEvents, binary" });
    await page.getByLabel("Order of events").selectOption({ label: "In order, by key" });
    await page.getByLabel("If an event has failed for good").selectOption({ label: "Hold the later ones" });
    await button("Add a header").click();
    await page.getByLabel("Name of header 1").fill("ce-id");
    await page.getByLabel("Value of ce-id").fill("mine");
    await button("Add the endpoint").click();
    await page.getByRole("link", { name: "Go to the endpoint" }).click();
    await page.getByText("In order, by key").waitFor();
    id = (await site.request("GET", "/v1/webhooks")).data[0].id;
    expect(await site.request("GET", `/v1/webhooks/${id}`)).toMatchObject({
      format: "cloudevents_binary",
      ordering: "by_key",
      after_failure: "hold",
    });
  });

  it("is shown which key is held, and replays the event that holds it", async () => {
    site.receiver.answer({ status: 503 }, { status: 503 });
    await publish(1);
    const note = page.locator(".alert", { hasText: "Nothing with the ordering key order_7 is sent" });
    await note.waitFor();
    await publish(2);
    await button("Replay the event").click();
    await note.waitFor({ state: "detached" });
    await expect.poll(orders).toEqual([1, 1, 1, 2]);
  });

  it("leaves an event out, and the next one of its key is sent", async () => {
    site.receiver.answer({ status: 503 }, { status: 503 });
    await publish(3);
    await button("Leave it out, and go on").waitFor();
    await publish(4);
    await button("Leave it out, and go on").click();
    await expect.poll(orders).toEqual([1, 1, 1, 2, 3, 3, 4]);
  });

  it("sees the headers that were sent, and is told where the endpoint has changed since", async () => {
    const [delivery] = (await site.request("GET", `/v1/webhooks/deliveries?endpoint=${id}&limit=1`)).data;
    await page.evaluate(`location.hash = "#/${id}/${delivery.id}"`);
    const head = page.getByRole("region", { name: "Request line and main headers" });
    await head.waitFor();
    expect(await head.textContent()).toContain(`ce-id: ${delivery.event}`);
    expect(await head.textContent()).not.toContain("your own value");
    expect(await head.textContent()).toContain("webhook-sequence: 4");
    const changed = page.getByText("The endpoint was changed after this attempt.");
    expect(await changed.count()).toBe(0);
    await site.request("PATCH", `/v1/webhooks/${id}`, { format: "envelope" });
    await changed.waitFor();
  });

  it("checks a signature of an earlier format", async () => {
    const { headers } = site.receiver.requests.at(-1)!;
    await page.evaluate(`location.hash = "#/${id}/verify"`);
    for (const name of ["x-service-signature", "webhook-signature"]) {
      await page.getByLabel("Signature", { exact: true }).fill(String(headers[name]));
      await button("Check it").click();
      await page.getByText("in the format that this endpoint had before").waitFor();
    }
    expect(site.strays).toEqual([]);
  });
});
