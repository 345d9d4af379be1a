/** Measures the page's speed in the browser itself, for the tests and the bench. */
import type { Page } from "playwright-core";

/** Returns the milliseconds from the navigation until something is visible. */
export async function firstPaint(page: Page): Promise<number> {
  const paint = await page.waitForFunction("performance.getEntriesByName('first-contentful-paint')[0]?.startTime");
  return Number(await paint.jsonValue());
}

/** Returns the milliseconds from a click on one of a list's choices until the next frame is drawn. */
export async function choiceDrawn(page: Page, name: string): Promise<number> {
  const click = `new Promise((resolve) => {
    const button = [...document.querySelectorAll(".choices button")].find((one) => one.textContent === "${name}");
    const start = performance.now();
    button.click();
    requestAnimationFrame(() => setTimeout(() => resolve(performance.now() - start)));
  })`;
  return Number(await page.evaluate(click));
}
