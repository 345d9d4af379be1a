/** Every screen of the page and how to open it, for the tests and the pictures. */
import type { Page } from "playwright-core";

export interface Shown {
  /** The id of an endpoint that fails and has a delivery that failed for good. */
  readonly endpoint: string;
  /** The id of one of its deliveries. */
  readonly delivery: string;
}

export interface Screen {
  readonly name: string;
  readonly title: string;
  /** The path after `#/`. */
  readonly path: (shown: Shown) => string;
  /** Opens the screen from there. */
  readonly act?: (page: Page) => Promise<void>;
  /** A text that only this screen shows. */
  readonly shows: string;
  /** The text that a picture begins with, if that is not the top. */
  readonly from?: string;
}

const press = (page: Page, name: string) => page.getByRole("button", { name, exact: true }).first().click();

export const SCREENS: readonly Screen[] = [
  { name: "endpoints", title: "All endpoints, and how each stands", path: () => "", shows: "succeeded" },
  {
    name: "add",
    title: "A URL is refused at once, with the reason",
    path: () => "new",
    async act(page) {
      await page.getByLabel("URL").fill("https://10.0.0.7/hook");
      await page.getByRole("checkbox", { name: "budget.exceeded" }).click();
      await page.getByText("A sample of its data").nth(2).click();
    },
    shows: "not public",
  },
  {
    name: "filter",
    title: "Only some events: the conditions, and what they make of recent events",
    path: () => "new",
    async act(page) {
      for (const name of ["goal.achieved", "carbon.threshold"]) await page.getByRole("checkbox", { name }).click();
      await press(page, "Only some");
      await page.getByLabel("Field of condition 1").selectOption({ label: "footprint_kg (251.4)" });
      await page.getByLabel("Value of condition 1").fill("250");
      await press(page, "Add a condition");
      await page.getByLabel("Field of condition 2").selectOption({ label: "largest_category (travel.flights)" });
      await page.getByLabel("Comparison of condition 2").selectOption({ label: "begins with" });
      await page.getByLabel("Value of condition 2").fill("travel.");
    },
    shows: "Try it on",
    from: "Which of these events",
  },
  { name: "endpoint", title: "What is wrong, and what to do", path: ({ endpoint }) => endpoint, shows: "Last answer" },
  {
    name: "delivery",
    title: "One delivery: its ladder, every attempt, the request",
    path: ({ endpoint, delivery }) => `${endpoint}/${delivery}`,
    shows: "Copy as curl",
  },
  {
    name: "test-event",
    title: "A test event, and what came back",
    path: ({ endpoint }) => endpoint,
    async act(page) {
      await press(page, "Send a test event");
      await press(page, "Send it");
    },
    shows: "See the whole request",
  },
  {
    name: "plan",
    title: "Before a replay: the plan",
    path: ({ endpoint }) => endpoint,
    act: (page) => press(page, "Replay all that failed"),
    shows: "One is tried first, as a canary.",
  },
  {
    name: "replays",
    title: "After the canary",
    path: ({ endpoint }) => endpoint,
    async act(page) {
      await press(page, "Replay all that failed");
      await page.getByRole("button", { name: /^Replay [\d,]+ deliver/ }).click();
    },
    shows: "The canary was not accepted",
    from: "Replay what was delivered",
  },
  {
    name: "secret",
    title: "A rotation, in two steps",
    path: ({ endpoint }) => `${endpoint}/secret`,
    act: (page) => press(page, "Create the next secret"),
    shows: "A rotation is in progress.",
    from: "Current secret",
  },
  {
    name: "verify",
    title: "Why a signature does not match",
    path: ({ endpoint }) => `${endpoint}/verify`,
    async act(page) {
      await page
        .getByLabel("Signature", { exact: true })
        .fill("757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17");
      await press(page, "Check it");
    },
    shows: "different secret",
    from: "It does not match?",
  },
];

export async function show(page: Page, { path, act, shows }: Screen, shown: Shown): Promise<void> {
  // Escape closes a dialog that is still open.
  await page.keyboard.press("Escape");
  await page.evaluate(`location.hash = "#/${path(shown)}"`);
  // A dialog covers the buttons until it is gone.
  await page.getByRole("dialog").waitFor({ state: "detached" });
  await act?.(page);
  await page.getByText(shows).first().waitFor();
}
