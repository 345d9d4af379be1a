/** How long the page takes, as the browser itself measures it: for the tests, and for the bench. */
import type { Page } from "playwright-core";

/** From the navigation until there is something to see, in milliseconds. */
export async function firstPaint(page: Page): Promise<number> {
  return Number(await page.evaluate("performance.getEntriesByName('first-contentful-paint')[0].startTime"));
}

/** From a click on one of a list's choices until the next frame is drawn, in milliseconds. */
export async function choiceDrawn(page: Page, name: string): Promise<number> {
  const click = `new Promise((resolve) => {
    const button = [...document.querySelectorAll(".choices button")].find((one) => one.textContent === "${name}");
    const start = performance.now();
    button.click();
    requestAnimationFrame(() => setTimeout(() => resolve(performance.now() - start)));
  })`;
  return Number(await page.evaluate(click));
}
