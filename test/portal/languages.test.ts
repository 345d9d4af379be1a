/**
 * The page in each of its languages, on a phone: nothing is left in English, nothing sticks out, and axe finds no
 * fault.
 */
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import type { Key, Language } from "../../src/portal/language/catalogue.ts";
import { english } from "../../src/portal/language/english.ts";
import { FRENCH } from "../../src/portal/language/french.ts";
import { GERMAN } from "../../src/portal/language/german.ts";
import { JAPANESE } from "../../src/portal/language/japanese.ts";
import { SPANISH } from "../../src/portal/language/spanish.ts";
import { hasChromium, PATIENCE_MS } from "./chromium.ts";
import { Site } from "./site.ts";

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"];
const PHONE = { viewport: { width: 360, height: 740 } };

/** The texts, labels and the like that the page shows, but for those that are marked as English. */
const SHOWN = `(() => {
  const found = [document.title];
  const all = document.createTreeWalker(document.body, NodeFilter.SHOW_ELEMENT | NodeFilter.SHOW_TEXT);
  for (let node = all.nextNode(); node !== null; node = all.nextNode()) {
    const element = node.nodeType === Node.TEXT_NODE ? node.parentElement : node;
    if (element.closest("body [lang=en], pre, code")) continue;
    if (node === element) for (const name of ["aria-label", "title", "placeholder", "alt"]) found.push(node.getAttribute(name));
    else found.push(node.textContent);
  }
  return found.filter(Boolean).map((text) => text.trim()).filter((text) => text !== "");
})()`;

/** Returns a pattern for each English text that the language has other words for. */
function englishBut({ texts }: Language): RegExp[] {
  return (Object.keys(english) as Key[]).flatMap((key) => {
    const [own, theirs] = [english[key], texts[key]].map((text) =>
      typeof text === "string" ? [text] : Object.values(text),
    );
    const others = own!.filter((text) => !theirs!.includes(text) && /\p{L}{3}/u.test(text.replaceAll(/\{\w+\}/g, "")));
    return others.map((text) => {
      const plain = text.replaceAll(/<\/?\w+>/g, "").trim();
      const parts = plain.split(/\{\w+\}/).map((part) => part.replaceAll(/[.*+?^$()|[\]\\{}]/g, String.raw`\$&`));
      return new RegExp(`^${parts.join(".+")}$`, "s");
    });
  });
}

describe.skipIf(!hasChromium)("the page", () => {
  let site: Site;
  let paths: readonly string[];

  beforeAll(async () => {
    site = await Site.start({ RETRY_DELAYS: "10ms" });
    await site.register({ description: "Ledger" });
    await site.publish();
    await site.receiver.next();
    site.receiver.answer(...Array.from({ length: 20 }, () => ({ status: 503 })));
    const url = `${site.receiver.url}/${encodeURIComponent("通知".repeat(60))}`;
    const { id } = await site.register({
      events: ["goal.*"],
      url,
      signatures: ["hmac", "ed25519"],
      ordering: "by_key",
    });
    await site.publish({ note: "n" }, "goal.achieved");
    const list = `/v1/webhooks/deliveries?endpoint=${id}&status=failed`;
    await vi.waitFor(async () => expect((await site.request("GET", list)).data.length).toBe(1), PATIENCE_MS);
    const [delivery] = (await site.request("GET", list)).data;
    const ofEndpoint = ["", "/replays", "/verify", "/secret", "/edit", `/${delivery.id}`].map((part) => `${id}${part}`);
    paths = ["", "deliveries", "types", "new", ...ofEndpoint];
  });
  afterAll(() => site.stop());

  const linkIn = async (locale: string) => (await site.link()).replace("#", `?locale=${locale}#`);

  it.each([GERMAN, FRENCH, SPANISH, JAPANESE])("is whole in $tag", { timeout: 60_000 }, async (language) => {
    const page = await site.open(await linkIn(language.tag), PHONE);
    await page.getByRole("heading", { name: String(language.texts["common.endpoints"]), exact: true }).waitFor();
    expect(await page.evaluate("document.documentElement.lang")).toBe(language.tag);
    const patterns = englishBut(language);
    await page.evaluate(AXE);
    for (const path of paths) {
      await page.evaluate(`location.hash = "#/${path}"`);
      await page.getByRole("heading", { level: 1 }).waitFor();
      await settled(page);
      const texts = (await page.evaluate(SHOWN)) as string[];
      expect({ path, left: texts.filter((text) => patterns.some((one) => one.test(text))) }).toEqual({
        path,
        left: [],
      });
      expect({ path, width: await page.evaluate("document.documentElement.scrollWidth") }).toEqual({
        path,
        width: 360,
      });
      expect({ path, faults: await page.evaluate(`(${FAULTS})(${JSON.stringify(RULES)})`) }).toEqual({
        path,
        faults: [],
      });
    }
    await page.context().close();
  });

  it("shows a long URL in other letters in two lines", async () => {
    const page = await site.open(await linkIn("ja"), PHONE);
    await page.evaluate(`location.hash = "#/${paths[4]}"`);
    const heading = page.getByRole("heading", { level: 1 });
    await heading.getByText("通知通知").waitFor();
    const lines = await heading.evaluate(
      (one) => one.clientHeight / Number.parseFloat(getComputedStyle(one).lineHeight),
    );
    expect(Math.round(lines)).toBeLessThanOrEqual(2);
    await page.context().close();
  });

  it("is in the browser's language if the address asks for none, and in English if there is no other", async () => {
    const french = await site.open(await site.link(), { locale: "fr-CA" });
    await french.getByRole("link", { name: "Ajouter un endpoint" }).waitFor();
    await french.context().close();
    const dutch = await site.open(await site.link(), { locale: "nl-NL" });
    await dutch.getByRole("link", { name: "Add an endpoint" }).waitFor();
    const texts = (await dutch.evaluate(SHOWN)) as string[];
    const patterns = englishBut(GERMAN);
    // Otherwise the tests above would find nothing anywhere.
    expect(texts.filter((text) => patterns.some((one) => one.test(text))).length).toBeGreaterThan(8);
    await dutch.context().close();
    const asked = await site.open(await linkIn("en"), { locale: "fr-CA" });
    await asked.getByRole("link", { name: "Add an endpoint" }).waitFor();
    await asked.context().close();
    expect(site.strays).toEqual([]);
  });
});

const FAULTS = `async (rules) => {
  const { violations } = await axe.run(document, { runOnly: rules });
  return violations.map(({ id, nodes }) => id + ": " + nodes.map(({ html }) => html.slice(0, 120)).join(" "));
}`;

/** Waits until nothing is being loaded. */
async function settled(page: Page): Promise<void> {
  await expect.poll(() => page.locator(".loading").count(), { timeout: PATIENCE_MS }).toBe(0);
  await page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))");
}
