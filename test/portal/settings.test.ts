/**
 * A customer uses what few need: limits, an id and metadata of an endpoint, a secret of their own, and missed events.
 */
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { hasChromium } from "./chromium.ts";
import { Site } from "./site.ts";

describe.skipIf(!hasChromium)("a customer", () => {
  let site: Site;
  let page: Page;
  let id: string;
  const button = (name: string) => page.getByRole("button", { name, exact: true });
  const more = () => page.getByText("Limits, an id of your own, metadata").click();
  const stored = () => site.request("GET", `/v1/webhooks/${id}`);

  beforeAll(async () => {
    site = await Site.start();
    for (const order of [1, 2, 3]) await site.publish({ order });
    page = await site.open(await site.link());
  });
  afterAll(() => site.stop());

  it("sets limits, an id and metadata of an endpoint, and is told what is wrong with them", async () => {
    await page.getByRole("link", { name: "Add an endpoint" }).click();
    await page.getByLabel("URL").fill(site.receiver.url);
    await page.getByRole("checkbox", { name: "budget.exceeded" }).click();
    await more();
    await page.getByLabel("Requests per second").fill("fast");
    await page.getByLabel("Requests at once").fill("3");
    await page.getByLabel("Your own id").fill("ledger");
    await page.getByLabel("Metadata").fill('{"team": ');
    await button("Add the endpoint").click();
    await page.getByText("This is not JSON.").waitFor();
    expect(await page.evaluate("document.activeElement.id")).toBe("metadata");
    await page.getByLabel("Metadata").fill('{"team": "billing", "floor": 2}');
    await button("Add the endpoint").click();
    await page.getByText(/^Must be a number/).waitFor();
    await page.getByLabel("Requests per second").fill("12.5");
    await button("Add the endpoint").click();
    await page.getByRole("heading", { name: "The endpoint was added" }).waitFor();
    await page.getByRole("link", { name: "Go to the endpoint" }).click();
    await page.getByText("12.5 requests per second, 3 at once").waitFor();
    id = (await site.request("GET", "/v1/webhooks")).data[0].id;
    const metadata = { team: "billing", floor: 2 };
    expect(await stored()).toMatchObject({ rate_per_second: 12.5, max_in_flight: 3, uid: "ledger", metadata });
  });

  it("changes some of them, and takes others away", async () => {
    await page.getByRole("link", { name: "Edit" }).click();
    await page.getByLabel("Requests per second").fill("");
    await page.getByLabel("Metadata").fill('{"team": "treasury"}');
    await button("Save").click();
    await page.getByText("Saved").waitFor();
    await page.getByText("3 at once", { exact: true }).waitFor();
    const metadata = { team: "treasury" };
    expect(await stored()).toMatchObject({ rate_per_second: null, max_in_flight: 3, uid: "ledger", metadata });
  });

  it("begins a form with what was saved last, also if the daemon takes long to answer", async () => {
    // The page behind the form is the one from before the change until the daemon answers.
    const answers = Promise.withResolvers<void>();
    await page.getByRole("link", { name: "Edit" }).click();
    await page.getByLabel("Description").fill("Ledger");
    await page.route(`**/v1/webhooks/${id}`, async (route) => {
      if (route.request().method() === "GET") await answers.promise;
      await route.continue();
    });
    await button("Save").click();
    await page.getByRole("link", { name: "Edit" }).click();
    await page
      .getByRole("heading", { name: "Edit the endpoint" })
      .or(page.getByRole("status", { name: "Loading" }))
      .waitFor();
    expect(await page.getByLabel("Description").count(), "the form waits for the answer").toBe(0);
    answers.resolve();
    await page.getByLabel("Description").waitFor();
    expect(await page.getByLabel("Description").inputValue()).toBe("Ledger");
    await page.unrouteAll({ behavior: "wait" });
    await page.getByRole("link", { name: "Cancel" }).click();
  });

  it("has sent what was published before the endpoint was added, and nothing from a time without events", async () => {
    await page.getByRole("tab", { name: "Replays" }).click();
    await button("Send what it missed").click();
    await page.getByText("3 events", { exact: true }).waitFor();
    await page.getByLabel("Events that were never sent here since").selectOption("a time of your own…");
    await page.getByLabel("To", { exact: true }).fill("2020-01-01T00:00");
    await page.getByText("It missed nothing in this period.").waitFor();
    await page.getByLabel("To", { exact: true }).fill("");
    await button("Send 3 events").click();
    await page.getByRole("heading", { name: "Sending of 3 events that it missed" }).waitFor();
    await page.getByText("3 delivered").waitFor();
    expect(site.receiver.requests.length).toBe(3);
  });

  it("has delivered events sent once more", async () => {
    await button("Replay what was delivered").click();
    await button("Replay 3 deliveries").click();
    await expect.poll(() => site.receiver.requests.length).toBe(6);
  });

  it("cancels what waits, after a plan", async () => {
    site.receiver.answer({ status: 503 }, { status: 503 });
    for (const order of [4, 5]) await site.publish({ order });
    await button("Cancel what waits").click();
    await button("Cancel 2 deliveries").click();
    await page.getByRole("heading", { name: "Cancellation of 2 deliveries" }).waitFor();
    await page.getByText("2 cancelled").waitFor();
    const list = `/v1/webhooks/deliveries?endpoint=${id}&status=cancelled`;
    expect((await site.request("GET", list)).data.length).toBe(2);
  });

  it("turns the pages of many replays, to steer each of them", async () => {
    const draft = { action: "replay", filter: { status: "failed", endpoint: id } };
    for (let at = 0; at < 18; at++) await site.request("POST", "/v1/webhooks/jobs?tenant=default", draft);
    await page.reload();
    await button("Older").click();
    await page.getByRole("heading", { name: "Sending of 3 events that it missed" }).waitFor();
    await button("Newer").click();
  });

  it("rotates to a secret of its own, and reads why one is refused", async () => {
    await page.getByRole("tab", { name: "Signing secret" }).click();
    await page.getByText("Use a secret of your own").click();
    await page.getByLabel("The next secret").fill("short");
    await button("Create the next secret").click();
    await page.getByText(/^Must be /).waitFor();
    const own = `whsec_${Buffer.from("any 32 bytes will do, such as it").toString("base64")}`;
    await page.getByLabel("The next secret").fill(own);
    await button("Create the next secret").click();
    const shown = page.getByRole("region", { name: "Next secret" });
    await shown.waitFor();
    expect(await shown.textContent()).toBe(own);
  });

  it("is offered only what the link allows", async () => {
    const other = await site.open(await site.link({ can: ["replay"] }));
    await other.evaluate(`location.hash = "#/${id}/replays"`);
    await other.getByRole("button", { name: "Replay what was delivered" }).waitFor();
    expect(await other.getByRole("button", { name: "Send what it missed" }).count()).toBe(0);
    await other.context().close();
    const some = await site.open(await site.link({ endpoints: [id] }));
    await some.evaluate(`location.hash = "#/${id}/edit"`);
    await some.getByText("so it cannot change this").waitFor();
    expect(await some.getByLabel("Your own id").isEditable()).toBe(false);
    await some.context().close();
    expect(site.strays).toEqual([]);
  });
});
