/**
 * A customer who has never seen our filters wants only budgets above 1,000 in EUR: sets that, tries it on yesterday's
 * events, and saves it. The test counts the clicks, and takes the time from the keystroke-level model.
 */
import type { Locator, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { hasChromium } from "./chromium.ts";
import { Site } from "./site.ts";

const DAY_MS = 86_400_000;
/** In seconds: to point at something, to press, to type a character, to think first (Card, Moran and Newell). */
const TIMES = { point: 1.1, press: 0.2, key: 0.28, think: 1.35 };

class Person {
  clicks = 0;
  seconds = 0;

  /** Finds something, thinks, points and clicks. */
  async click(what: Locator): Promise<void> {
    this.#clicked(TIMES.think);
    await what.click();
  }

  /** Opens the list and clicks on one of its lines. */
  async choose(from: Locator, word: string | RegExp): Promise<void> {
    this.#clicked(TIMES.think);
    this.#clicked(TIMES.think);
    const options = await from.locator("option").allTextContents();
    const label = options.find((text) => (typeof word === "string" ? text === word : word.test(text)));
    expect(label, `${String(word)} among ${options.join(", ")}`).toBeDefined();
    await from.selectOption({ label: label! });
  }

  async type(into: Locator, text: string): Promise<void> {
    await this.click(into);
    this.seconds += text.length * TIMES.key;
    await into.pressSequentially(text);
  }

  #clicked(thought: number): void {
    this.clicks++;
    this.seconds += thought + TIMES.point + TIMES.press;
  }
}

describe.skipIf(!hasChromium)("a customer", () => {
  let site: Site;
  let page: Page;
  let id: string;
  /** Shaped like the sample of the specification: money is a text. */
  const budget = (value: number, currency: string) => ({
    budget_id: "bud_1",
    spent: { value: value.toFixed(2), currency },
  });
  const events = Array.from({ length: 30 }, (_, at) => budget(100 * (at + 1), at % 3 === 0 ? "USD" : "EUR"));
  const wanted = events.filter(({ spent }) => Number(spent.value) > 1000 && spent.currency === "EUR").length;

  beforeAll(async () => {
    site = await Site.start({}, DAY_MS);
    ({ id } = await site.register({ description: "Ledger" }));
    const drafts = events.map((data) => ({ type: "budget.exceeded", data }));
    await site.request("POST", "/v1/webhooks/events/batch", { events: drafts });
    // The trial asks for the chosen types, so newer events of other types do not crowd them out.
    const others = Array.from({ length: 150 }, () => ({ type: "goal.achieved", data: {} }));
    await site.request("POST", "/v1/webhooks/events/batch", { events: others });
    site.clock.pass(DAY_MS);
    await site.publish(budget(5000, "EUR"));
  });
  afterAll(() => site.stop());

  it("gets only budgets above 1,000 in EUR, within 90 seconds and 20 clicks", async () => {
    page = await site.open(await site.link());
    const person = new Person();
    const list = page.getByRole("list", { name: "The events" });
    const field = (number: number) => page.getByLabel(`Field of condition ${number}`);
    const value = (number: number) => page.getByLabel(`Value of condition ${number}`);
    await person.click(page.getByRole("link", { name: /Ledger/ }));
    await person.click(page.getByRole("link", { name: "Edit" }));
    await person.click(page.getByRole("button", { name: "Only some" }));
    await field(1).locator("option", { hasText: "spent.value" }).waitFor({ state: "attached" });
    await person.choose(field(1), /^spent\.value/);
    expect(await page.getByLabel("Comparison of condition 1").locator("option:checked").textContent()).toBe(
      "is more than",
    );
    await person.type(value(1), "1,000");
    await person.click(page.getByRole("button", { name: "Add a condition" }));
    await person.choose(field(2), /^spent\.currency/);
    await person.type(value(2), "EUR");
    await person.choose(page.getByLabel("Try it on"), "yesterday");
    const summary = page.getByText(/^Of 30 events/);
    await summary.waitFor();
    expect(await summary.textContent()).toContain(`this endpoint would have received ${wanted}.`);
    expect(await list.getByText("Received").count()).toBeGreaterThan(0);
    await list.getByText("but must be EUR").first().waitFor();
    await list.getByText('spent.value is "900.00", but must be more than 1,000').waitFor();
    await person.click(page.getByRole("button", { name: "Save" }));
    await page.getByText("Saved", { exact: true }).waitFor();
    await page.getByText("spent.value is more than 1000, and spent.currency is EUR").waitFor();
    expect((await site.request("GET", `/v1/webhooks/${id}`)).filter).toEqual({
      data: { spent: { value: { $gt: 1000 }, currency: "EUR" } },
    });
    console.log(`${person.clicks} clicks, ${person.seconds.toFixed(0)} s`);
    expect(person.clicks).toBeLessThanOrEqual(20);
    expect(person.seconds).toBeLessThanOrEqual(90);
  });

  it("gets from then on what the trial said", async () => {
    const before = site.receiver.requests.length;
    const get = async (data: object) => (await site.publish(data), data);
    await get(budget(999, "EUR"));
    await get(budget(2000, "USD"));
    await get(budget(1001, "EUR"));
    await expect.poll(() => site.receiver.requests.length).toBe(before + 1);
    expect(site.receiver.requests.at(-1)!.body.toString()).toContain('"value":"1001.00"');
  });
});
