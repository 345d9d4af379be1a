/** A daemon, a receiver and a browser for all tests of a file. */
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Browser, BrowserContextOptions, Page, Request } from "playwright-core";
import { expect } from "vitest";
import { PassingClock } from "../../scripts/screens/passing-clock.ts";
import { startDaemon, type Daemon } from "../../src/daemon.ts";
import { silentLog } from "../../src/log.ts";
import { testConfig } from "../harness/daemon.ts";
import { TestReceiver } from "../harness/receiver.ts";
import { PATIENCE_MS, startChromium } from "./chromium.ts";

export interface LinkOptions {
  readonly tenant?: string;
  readonly new_tenant?: boolean;
  readonly expires_in?: number;
  readonly can?: readonly string[];
  readonly endpoints?: readonly string[];
  readonly return_url?: string;
}

export class Site {
  /** The daemon's clock. */
  readonly clock: PassingClock;
  readonly daemon: Daemon;
  readonly receiver: TestReceiver;
  readonly browser: Browser;
  readonly key: string;
  /** Requests of pages to other hosts than the daemon, and what their policy refused. */
  readonly strays: string[] = [];
  readonly #dir: string;

  private constructor(dir: string, clock: PassingClock, daemon: Daemon, receiver: TestReceiver, browser: Browser) {
    this.#dir = dir;
    this.clock = clock;
    this.daemon = daemon;
    this.receiver = receiver;
    this.browser = browser;
    this.key = readFileSync(join(dir, "admin.key"), "utf8").trim();
  }

  /** The daemon's clock is `behindMs` behind that of the browser. */
  static async start(settings: Readonly<Record<string, string>> = {}, behindMs = 0): Promise<Site> {
    const dir = mkdtempSync(join(tmpdir(), "webhookd-portal-"));
    const clock = new PassingClock(behindMs);
    const config = testConfig(dir, { clock, settings });
    const [daemon, receiver, browser] = await Promise.all([
      startDaemon(config, { log: silentLog, clock }),
      TestReceiver.start(),
      startChromium(),
    ]);
    return new Site(dir, clock, daemon, receiver, browser);
  }

  async stop(): Promise<void> {
    await this.browser.close();
    await this.daemon.stop();
    await this.receiver.close();
    rmSync(this.#dir, { recursive: true, force: true });
  }

  async request(method: string, path: string, body?: unknown): Promise<any> {
    const response = await fetch(new URL(path, this.daemon.url), {
      method,
      headers: {
        authorization: `Bearer ${this.key}`,
        ...(body !== undefined && { "content-type": "application/json" }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path} was answered ${response.status}: ${text}`);
    return text === "" ? null : JSON.parse(text);
  }

  async register(more: object = {}): Promise<{ id: string; signing_secret: string }> {
    const draft = { url: this.receiver.url, events: ["budget.exceeded"], ...more };
    return this.request("POST", "/v1/webhooks", draft);
  }

  async publish(data: object = { budget_id: "bud_1" }, type = "budget.exceeded"): Promise<string> {
    return (await this.request("POST", "/v1/webhooks/events", { type, data })).id;
  }

  async link(options: LinkOptions = {}): Promise<string> {
    return (await this.#makeLink(options)).link;
  }

  async #makeLink(options: LinkOptions): Promise<{ link: string; ends: number }> {
    const draft = { tenant: "default", can: ["manage", "secrets"], ...options };
    const { url, expires_at } = await this.request("POST", "/v1/portal-links", draft);
    // The link has the daemon's configured name, by which this browser cannot reach it.
    const { pathname, hash } = new URL(url);
    return { link: new URL(pathname + hash, this.daemon.url).href, ends: Date.parse(expires_at) };
  }

  /** Opens a page in a separate browser context. */
  async open(url: string, options: BrowserContextOptions = {}): Promise<Page> {
    const context = await this.browser.newContext({ reducedMotion: "reduce", ...options });
    context.setDefaultTimeout(PATIENCE_MS);
    const page = await context.newPage();
    page.on("request", (request) => {
      if (!request.url().startsWith(this.daemon.url)) this.strays.push(request.url());
    });
    page.on("console", (message) => {
      if (/Content Security Policy|Refused to/.test(message.text())) this.strays.push(message.text());
    });
    page.on("pageerror", (error) => this.strays.push(String(error)));
    await page.goto(url);
    return page;
  }

  /** Opens a page whose link is about to expire. The test then moves the page's clock. */
  async openBeforeTheEnd(options: Omit<LinkOptions, "expires_in">): Promise<{ page: Page; ends: number }> {
    // Longer than a slow machine takes to open the page, but short enough for the warning to show at once.
    const { link, ends } = await this.#makeLink({ ...options, expires_in: 240 });
    const page = await this.open("about:blank");
    await page.clock.install();
    const asked = new Set<Request>();
    page.on("request", (request) => asked.add(request));
    page.on("response", (response) => asked.delete(response.request()));
    page.on("requestfailed", (request) => asked.delete(request));
    await page.goto(link);
    await page.getByText("This link is about to expire.").waitFor();
    // The page sets its clock by the time in each response, so from here on it gets none.
    await page.route("**/v1/**", (route) => void asked.delete(route.request()));
    await expect.poll(() => asked.size).toBe(0);
    await page.evaluate(() => null);
    return { page, ends };
  }
}
