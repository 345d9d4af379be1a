/** A customer uses the page, from opening the link until it expires, in a real browser and with the real daemon. */
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { signingKey } from "../../src/domain/endpoints/secret.ts";
import type { Received } from "../harness/receiver.ts";
import { hasChromium } from "./chromium.ts";
import { Site } from "./site.ts";

/** Long enough for the countdown to be seen on a slow machine. */
const RUNG_S = 59;

describe.skipIf(!hasChromium)("a customer", () => {
  let site: Site;
  let page: Page;
  const button = (name: string) => page.getByRole("button", { name, exact: true });
  const dialog = () => page.getByRole("dialog");
  const question = () => page.getByRole("alertdialog");

  beforeAll(async () => {
    // There are two attempts, so a delivery fails for good after this time.
    site = await Site.start({ RETRY_DELAYS: `${RUNG_S}s` });
  });
  afterAll(() => site.stop());

  it("adds an endpoint, once its URL is one that may be called", async () => {
    page = await site.open(await site.link());
    await page.getByRole("link", { name: "Add an endpoint" }).click();
    await page.getByLabel("URL").fill("https://10.0.0.7/hook");
    await page.getByText("The address is not public.", { exact: true }).waitFor();
    expect(site.receiver.requests).toEqual([]);
    expect((await site.request("GET", "/v1/webhooks")).data).toEqual([]);

    await page.getByLabel("URL").fill(site.receiver.url);
    await page.getByText("The address looks right. A test event shows if it can be reached.").waitFor();
    await page.getByRole("checkbox", { name: "budget.exceeded" }).click();
    await button("Add the endpoint").click();
    await page.getByRole("heading", { name: "The endpoint was added" }).waitFor();
    const [endpoint] = (await site.request("GET", "/v1/webhooks")).data;
    const { signing_secret: secret } = await site.request("GET", `/v1/webhooks/${endpoint.id}/secret`);
    expect(await page.getByRole("region", { name: "Signing secret" }).textContent()).toBe(secret);
    await page.getByRole("link", { name: "Go to the endpoint" }).click();
    await page.getByText("No event has been sent yet").waitFor();
  });

  it("has its key in the link alone: not in the address, nor in any request's address", async () => {
    expect(new URL(page.url()).hash).toMatch(/^#\/ep_/);
    const entries = await page.evaluate("performance.getEntriesByType('resource').map(({ name }) => name).join()");
    expect(entries).not.toContain("whk_");
    await page.reload();
    await page.getByText("No event has been sent yet").waitFor();
  });

  it("sends a test event, and sees the answer to it", async () => {
    await button("Send a test event").click();
    await button("Send it").click();
    await dialog().getByText("It arrived: your receiver answered 200").waitFor();
    expect(site.receiver.requests.at(-1)!.headers["x-webhookd-test"]).toBe("1");
    await button("Close").click();
    // A test does not count as an event, but the page must not deny that it was sent.
    await page.getByText("No event has been sent to it yet. Test events do not count.").waitFor();
    await page.getByText("test events have their own list").waitFor();
    await page.getByRole("tab", { name: "Verify" }).click();
    await page.getByRole("option", { name: /test event/ }).waitFor({ state: "attached" });
    await page.getByRole("tab", { name: "Deliveries" }).click();
  });

  it("sees a delivery fail by itself, with the next attempt counted down, and why", async () => {
    site.receiver.answer(...Array.from({ length: 7 }, () => ({ status: 503, body: "database is down" })));
    for (let number = 1; number <= 3; number++) await site.publish({ budget_id: `bud_${number}` });
    await page
      .getByText(/next attempt in \d+\ss/)
      .first()
      .waitFor();
    await page.getByText("Your server says that it is unavailable").waitFor();
    await page
      .getByRole("link", { name: /budget.exceeded/ })
      .first()
      .click();
    await page
      .getByRole("list", { name: "Attempts of this round" })
      .getByText(/^in \d+\ss$/)
      .waitFor();
    expect(await page.getByRole("region", { name: "Response body" }).first().textContent()).toBe("database is down");
  });

  it("is told when the link has expired, and where to go, within two seconds", async () => {
    const { page: short, ends } = await site.openBeforeTheEnd({ return_url: "https://app.example/settings" });
    await short.getByRole("heading", { name: "Endpoints" }).waitFor();
    await short.clock.pauseAt(ends - 2000);
    expect(await short.getByRole("heading", { name: "This link has expired" }).count()).toBe(0);
    await short.clock.runFor(4000);
    await short.getByRole("heading", { name: "This link has expired" }).waitFor();
    expect(await short.getByRole("link", { name: /Back to/ }).getAttribute("href")).toBe(
      "https://app.example/settings",
    );
    await short.unrouteAll({ behavior: "ignoreErrors" });
    // A reload does not forget where to get another link, and shows a customer nothing that is for operators.
    await short.reload();
    await short.getByRole("heading", { name: "This link has expired" }).waitFor();
    expect(await short.getByRole("link", { name: /Back to/ }).getAttribute("href")).toBe(
      "https://app.example/settings",
    );
    expect(await short.getByText("I run this service").count()).toBe(0);
    await short.context().close();
  });

  it("sees that it has failed for good after the last attempt", async () => {
    site.clock.pass(1000 * RUNG_S);
    await page.getByText("Retry 1", { exact: true }).waitFor();
    await page.locator(".facts").getByText("Failed", { exact: true }).waitFor();
    await page.goBack();
  });

  let arrived: number;
  it("replays all that failed: the canary is not accepted and the rest waits, until the receiver is mended", async () => {
    await expect.poll(() => page.getByRole("row").getByText("Failed").count()).toBe(3);
    // Two attempts of each of three deliveries got six of the seven scripted answers. The canary gets the last.
    await button("Replay all that failed").click();
    await dialog().getByText("3 deliveries").first().waitFor();
    await button("Replay 3 deliveries").click();
    await page.getByText("The canary was not accepted").waitFor();
    await page.getByText("0 delivered").waitFor();

    arrived = site.receiver.requests.length;
    await button("Try another canary").click();
  });

  it("is not offered what the link does not allow", async () => {
    const reader = await site.open(await site.link({ can: ["read"] }));
    await reader.getByRole("link", { name: /127.0.0.1/ }).click();
    await reader.getByRole("tab", { name: "Verify" }).waitFor();
    for (const name of ["Send a test event", "Disable", "Delete", "Replay all that failed"])
      expect(await reader.getByRole("button", { name }).count()).toBe(0);
    for (const name of ["Signing secret", "Replays"]) expect(await reader.getByRole("tab", { name }).count()).toBe(0);
    expect(await reader.getByRole("link", { name: "Edit" }).count()).toBe(0);
    await reader.context().close();
  });

  it("sees the replay end, and all of it delivered", async () => {
    // The canary that was not accepted is retried as well.
    site.clock.pass(1000 * RUNG_S);
    await page.getByText("Done").waitFor();
    expect(site.receiver.requests.length - arrived).toBeGreaterThanOrEqual(2);
    await page.getByRole("tab", { name: "Deliveries" }).click();
    await expect.poll(() => page.getByRole("row").getByText("Delivered").count()).toBe(3);
    await page.getByText("Working").waitFor();
  });

  it("replays one that was delivered", async () => {
    const before = site.receiver.requests.length;
    await page
      .getByRole("link", { name: /budget.exceeded/ })
      .first()
      .click();
    await button("Replay").click();
    await expect.poll(() => site.receiver.requests.length).toBe(before + 1);
    await page.getByText("replay", { exact: true }).first().waitFor();
    await page.goBack();
  });

  it("rotates the secret while a verifying receiver refuses nothing", async () => {
    const secrets = new Set<string>();
    const refused: Received[] = [];
    const accepted: Received[] = [];
    site.receiver.onRequest = (request) => {
      const isGenuine = [...secrets].some((secret) => site.receiver.verify(request, secret));
      (isGenuine ? accepted : refused).push(request);
    };
    await page.getByRole("tab", { name: "Signing secret" }).click();
    await button("Show the secret").click();
    const shown = (which: string) => page.getByRole("region", { name: `${which} secret` });
    secrets.add((await shown("Current").textContent())!);
    await site.publish();
    await button("Create the next secret").click();
    secrets.add((await shown("Next").textContent())!);
    await site.publish();
    await button("Complete the rotation").click();
    await button("Yes, complete the rotation").click();
    await button("Create the next secret").waitFor();
    secrets.delete([...secrets][0]!);
    await site.publish();
    await expect.poll(() => accepted.length).toBe(3);
    expect(refused).toEqual([]);
  });

  it("finds out why a signature does not match", async () => {
    await page.getByRole("tab", { name: "Verify" }).click();
    const { body, headers } = site.receiver.requests.at(-1)!;
    const [endpoint] = (await site.request("GET", "/v1/webhooks")).data;
    const { signing_secret: secret } = await site.request("GET", `/v1/webhooks/${endpoint.id}/secret`);
    const check = async (signature: string) => {
      await page.getByLabel("Signature", { exact: true }).fill(signature);
      await button("Check it").click();
    };
    await check(headers["x-service-signature"]!);
    await page.getByText("It matches with the current secret.").waitFor();
    await check(signingKey(secret).signBody(`${body.toString()}\n`));
    await page.getByText("There is a newline after the body.").waitFor();
  });

  it("reads that an event was erased, and is not told that its genuine signature is wrong", async () => {
    const event = await site.publish();
    await expect.poll(() => site.receiver.requests.at(-1)!.body.toString()).toContain(event);
    const signature = site.receiver.requests.at(-1)!.headers["x-service-signature"]!;
    await page.getByRole("tab", { name: "Deliveries" }).click();
    await page.getByRole("tab", { name: "Verify" }).click();
    await page.getByLabel("Request").selectOption(event);
    await site.request("DELETE", `/v1/webhooks/events/${event}/data`);
    await page.getByLabel("Signature", { exact: true }).fill(signature);
    await button("Check it").click();
    await page.getByText("The data of this event was erased, so its signature can no longer be checked here").waitFor();
    await page.getByRole("tab", { name: "Deliveries" }).click();
    await page.getByRole("link", { name: new RegExp(event) }).click();
    await page.getByText("the body that was sent is no longer kept").waitFor();
    expect(await page.getByRole("button", { name: /Copy as curl/ }).count()).toBe(0);
    await page.goBack();
  });

  it("asks why an event is not in the list", async () => {
    const body = { type: "goal.achieved", data: {}, publisher_id: "order-9" };
    const { id } = await site.request("POST", "/v1/webhooks/events", body);
    await page.getByRole("tab", { name: "Deliveries" }).click();
    await page.getByText("Is an event missing here?").click();
    for (const name of [id, "order-9"]) {
      await page.getByLabel("Its id, or the publisher's id for it").fill(name);
      await button("Why did it not arrive?").click();
      await page.getByText("the endpoint had not chosen goal.achieved; it had chosen budget.exceeded.").waitFor();
    }
    await page.getByLabel("Its id, or the publisher's id for it").fill("order-10");
    await button("Why did it not arrive?").click();
    await page.getByText("There is no such event").waitFor();
  });

  let moved: string;
  it("changes an endpoint: a bad URL is refused, a good one is saved, and so are headers", async () => {
    const { id } = await site.register({ events: ["carbon.threshold"], headers: { "X-Old": "1" } });
    moved = id;
    await page.evaluate(`location.hash = "#/${id}/edit"`);
    await page.getByRole("heading", { name: "Edit the endpoint" }).waitFor();
    await page.getByLabel("URL").fill("https://10.0.0.7/hook");
    await page.getByText("The address is not public.", { exact: true }).waitFor();
    await button("Save").click();
    await expect.poll(() => button("Save").isEnabled()).toBe(true);
    expect((await site.request("GET", `/v1/webhooks/${id}`)).url).toBe(site.receiver.url);

    await page.getByLabel("URL").fill(`${site.receiver.url}/moved`);
    await page.getByText("The address looks right. A test event shows if it can be reached.").waitFor();
    await button("Remove X-Old").click();
    await button("Add a header").click();
    await page.getByLabel("Name of header 1").fill("Host");
    await page.getByLabel("Value of Host").fill("ledger");
    await button("Save").click();
    await page.locator("fieldset").getByRole("alert").waitFor();
    await page.getByLabel("Name of header 1").fill("X-Team");
    await button("Save").click();
    await page.getByText("Saved").waitFor();
    await page.getByRole("heading", { name: /moved/ }).waitFor();
    await site.publish({}, "carbon.threshold");
    await expect.poll(() => site.receiver.requests.at(-1)!.path).toMatch(/\/moved$/);
    const { headers } = site.receiver.requests.at(-1)!;
    expect([headers["x-team"], headers["x-old"]]).toEqual(["ledger", undefined]);
    // A header's value is not shown again. A new value replaces it, and the other headers stay.
    await page.getByRole("link", { name: "Edit" }).click();
    expect(await page.getByLabel("Value of X-Team").inputValue()).toBe("");
    await page.getByLabel("Description").fill("Ledger of carbon");
    await button("Save").click();
    await page.getByText("Ledger of carbon").waitFor();
    expect(Object.keys((await site.request("GET", `/v1/webhooks/${id}`)).headers)).toEqual(["X-Team"]);
  });

  it("chooses a pattern, and sees which types it matches today", async () => {
    await page.getByRole("link", { name: "Edit" }).click();
    await page.getByText("Also receive types that are added later").click();
    await page.getByText("also those added later. It matches today: carbon.threshold.").waitFor();
    await page.getByRole("checkbox", { name: "carbon.threshold" }).click();
    await page.getByRole("checkbox", { name: "carbon.*" }).click();
    await page.getByText("Received through carbon.*.").waitFor();
    await button("Save").click();
    await page.getByText("Saved", { exact: true }).waitFor();
    expect((await site.request("GET", `/v1/webhooks/${moved}`)).events).toEqual(["carbon.*"]);
    await page.getByText("carbon.* matches today: carbon.threshold.").waitFor();
    await button("Send a test event").click();
    expect(await dialog().getByLabel("Event type").locator("option").allTextContents()).toEqual(["carbon.threshold"]);
    await button("Close").click();
  });

  it("sees which of its types are on their way out, in the list, on the page and in the form", async () => {
    await site.request("PUT", "/v1/webhooks/event-types/goal.missed", {});
    const { id } = await site.register({ events: ["goal.missed"] });
    const sunset = { deprecated: true, sunset_at: "2099-01-31T00:00:00Z" };
    await site.request("PUT", "/v1/webhooks/event-types/goal.missed", sunset);
    const other = await site.open(await site.link());
    await other.getByText("receives a deprecated event type").waitFor();
    await other.evaluate(`location.hash = "#/${id}"`);
    await other.getByText(/^goal\.missed is deprecated since .* expected to end on 2099-01-31\.$/).waitFor();
    await other.getByRole("link", { name: "Edit" }).click();
    await other.getByRole("checkbox", { name: "goal.missed Deprecated" }).waitFor();
    await other.context().close();
    await site.request("DELETE", `/v1/webhooks/${id}`);
  });

  it("sets a filter, and sees at once which of the newest events it takes", async () => {
    await site.publish({ tonnes: 5 }, "carbon.threshold");
    await site.publish({ tonnes: 50 }, "carbon.threshold");
    await page.getByRole("link", { name: "Edit" }).click();
    await button("Only some").click();
    await button("Save").click();
    await page.getByText("Choose a field.").waitFor();
    await button("Write it as JSON").click();
    await page.getByLabel("Filter", { exact: true }).fill('{"data": {"tonnes": {"$gte2": 10}}}');
    await page.getByText("/data/tonnes/$gte2 is not an operator; did you mean $gte?").waitFor();
    await page.getByLabel("Filter", { exact: true }).fill('{"data": {"tonnes": {"$gte": 10}}}');
    const trial = page.getByRole("region", { name: "Try it" });
    await trial.getByText("tonnes is 5, at /data/tonnes/$gte").waitFor();
    await trial.getByText("this endpoint would have received 1.").waitFor();
    await button("Show it as conditions").click();
    await trial.getByText("tonnes is 5, but must be at least 10").waitFor();
    await page.getByLabel("Value of condition 1").fill("9007199254740993");
    const fault = page.getByRole("listitem").filter({ has: page.getByLabel("Value of condition 1") });
    await fault.getByText("/data/tonnes/$gte has a number beyond 2^53 - 1").waitFor();
    await page.getByLabel("Value of condition 1").fill("10");
    await button("Save").click();
    const filterOf = async () => (await site.request("GET", `/v1/webhooks/${moved}`)).filter;
    await expect.poll(filterOf).toEqual({ data: { tonnes: { $gte: 10 } } });
    await page.getByRole("link", { name: "Edit" }).click();
    await button("All of them").click();
    await button("Save").click();
    await expect.poll(filterOf).toBeNull();
  });

  it("asks for Ed25519 too, and verifies with the public key, also after a rotation", async () => {
    const keys = () => site.request("GET", "/v1/webhooks/keys");
    const shown = (which: string) => page.getByRole("region", { name: which, exact: true });
    await page.getByRole("link", { name: "Edit" }).click();
    await page.getByRole("checkbox", { name: "Ed25519, with a public key" }).click();
    await page.getByText("The key is made when the first endpoint with Ed25519 is saved.").waitFor();
    await button("Save").click();
    await page.getByRole("heading", { name: "Verify what arrives" }).waitFor();
    expect((await site.request("GET", `/v1/webhooks/${moved}`)).signatures).toEqual(["hmac", "ed25519"]);
    const { public_key: first } = await keys();
    expect(await shown("Public key").textContent()).toBe(first);
    expect(await page.getByRole("region", { name: "Code for Node" }).textContent()).toContain("v1a,");

    const check = async (by: string) => {
      const event = await site.publish({ tonnes: 1 }, "carbon.threshold");
      await expect.poll(() => site.receiver.requests.at(-1)!.body.toString()).toContain(event);
      const header = site.receiver.requests.at(-1)!.headers["webhook-signature"]!;
      await page.getByRole("tab", { name: "Verify" }).click();
      await page.getByLabel("Request").selectOption(event);
      await page.getByLabel("Signature", { exact: true }).fill(header.split(" ").at(-1)!);
      await button("Check it").click();
      await page.getByText(`It matches with the ${by} public key.`).waitFor();
    };
    await check("current");

    await page.getByRole("tab", { name: "Signing keys" }).click();
    await page.getByText("Rotate the key").click();
    await button("Create the next key").click();
    await shown("Next public key").waitFor();
    const { next_public_key: second } = await keys();
    expect(await shown("Next public key").textContent()).toBe(second);
    await check("next");
    await page.getByRole("tab", { name: "Signing keys" }).click();
    await button("Complete the rotation of the key").click();
    await question().getByRole("button", { name: "Yes, complete it" }).click();
    await shown("Next public key").waitFor({ state: "detached" });
    await expect.poll(async () => (await keys()).public_key).toBe(second);
  });

  it("disables an endpoint, and enables it with what was held meanwhile", async () => {
    await page.evaluate(`location.hash = "#/${moved}"`);
    await button("Disable").click();
    await question().getByRole("button", { name: "Hold them for later" }).click();
    await page.locator(".facts").getByText("Disabled", { exact: true }).waitFor();
    const before = site.receiver.requests.length;
    await site.publish({ held: true }, "carbon.threshold");
    await page.getByRole("row").getByText("Held").waitFor();
    expect(site.receiver.requests.length).toBe(before);
    await button("Enable").click();
    await question().getByText("1 delivery is held").waitFor();
    await button("Enable, and send the held events").click();
    await page.getByRole("row").getByText("Held").waitFor({ state: "detached" });
    await expect.poll(() => site.receiver.requests.length).toBe(before + 1);
    await button("Disable").waitFor();
  });

  it("gives up a rotation, after which the secret is the one from before", async () => {
    const secrets = () => site.request("GET", `/v1/webhooks/${moved}/secret`);
    const before = await secrets();
    await page.getByRole("tab", { name: "Signing keys" }).click();
    await button("Create the next secret").click();
    await page.getByText("A rotation is in progress.").waitFor();
    expect(await secrets()).toHaveProperty("next_signing_secret");
    await button("Discard it").click();
    await question().getByRole("button", { name: "Discard it" }).click();
    await button("Create the next secret").waitFor();
    expect(await secrets()).toEqual(before);
  });

  it("deletes an endpoint, but only after having been asked", async () => {
    const left = async () => (await site.request("GET", "/v1/webhooks")).data.length;
    const before = await left();
    await button("Delete").click();
    await question().getByText("To stop only for a while").waitFor();
    await page.keyboard.press("Escape");
    await question().waitFor({ state: "detached" });
    expect(await left()).toBe(before);
    await button("Delete").click();
    await button("Delete it").click();
    await page.getByText("The endpoint was deleted").waitFor();
    await page.getByRole("heading", { name: "Endpoints" }).waitFor();
    expect(await left()).toBe(before - 1);
    await page.getByRole("link", { name: /moved/ }).waitFor({ state: "detached" });
  });

  it("sees the endpoints of the link alone, and all of what was sent to them", async () => {
    const other = await site.register({ events: ["goal.achieved"], description: "Another one" });
    await site.publish({}, "goal.achieved");
    const narrow = await site.open(await site.link({ can: ["manage"], endpoints: [other.id] }));
    await narrow.getByText("Another one").waitFor();
    expect(await narrow.getByRole("listitem").count()).toBe(1);
    expect(await narrow.getByRole("link", { name: "Add an endpoint" }).count()).toBe(0);
    await narrow.getByRole("link", { name: /127.0.0.1/ }).click();
    await narrow.getByRole("link", { name: /goal.achieved/ }).click();
    await narrow.getByRole("region", { name: "Body, indented" }).waitFor();
    await narrow.getByText("200 in time").waitFor();
    await narrow.context().close();
  });

  it("made no request to any other host, and nothing that the policy refuses", () => {
    expect(site.strays).toEqual([]);
  });
});
