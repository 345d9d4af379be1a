/**
 * The page in other surroundings: with an operator's name and colour, in a frame, and over a connection that breaks.
 */
import { once } from "node:events";
import { createServer, type Server } from "node:http";
import { connect, createServer as createTcpServer, type AddressInfo, type Socket } from "node:net";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { signingKey } from "../../src/domain/endpoints/secret.ts";
import { hasChromium } from "./chromium.ts";
import { Site } from "./site.ts";

/** On yellow, white text cannot be read. */
const ACCENT = "#ffcc00";
const LOGO = '<svg xmlns="http://www.w3.org/2000/svg" width="48" height="24"><rect width="48" height="24"/></svg>';

/** Starts another site. It has a logo, and a page with a frame for the URL in its path. */
async function startApp(): Promise<Server> {
  const app = createServer(({ url = "" }, response) => {
    const isLogo = url === "/logo.svg";
    response.setHeader("content-type", isLogo ? "image/svg+xml" : "text/html");
    const frame = `<iframe src="${decodeURIComponent(url.slice(1))}" allow="clipboard-write" width="800" height="600"></iframe>`;
    response.end(isLogo ? LOGO : `<!doctype html>${frame}`);
  });
  await once(app.listen(0, "127.0.0.1"), "listening");
  return app;
}

/** A relay between the page and the daemon, which can be cut. */
class Cable {
  isCut = false;
  readonly #server;
  readonly #sockets = new Set<Socket>();

  constructor(port: number) {
    this.#server = createTcpServer((near) => {
      if (this.isCut) return void near.resetAndDestroy();
      const far = connect(port, "127.0.0.1");
      for (const socket of [near, far]) {
        this.#sockets.add(socket);
        socket.on("error", () => {}).on("close", () => this.#sockets.delete(socket));
      }
      near.pipe(far).pipe(near);
    }).listen(0, "127.0.0.1");
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  cut(): void {
    this.isCut = true;
    for (const socket of this.#sockets) socket.destroy();
  }

  close(): void {
    this.cut();
    this.#server.close();
  }
}

describe.skipIf(!hasChromium)("the page", () => {
  let app: Server;
  let site: Site;
  let page: Page;
  const at = (host: string, path: string) => `http://${host}:${(app.address() as AddressInfo).port}/${path}`;

  beforeAll(async () => {
    app = await startApp();
    site = await Site.start({
      PORTAL_NAME: "Northwind & Søn",
      PORTAL_ACCENT: ACCENT,
      PORTAL_LOGO_URL: at("127.0.0.1", "logo.svg"),
      PORTAL_HEADER_COLOR: "#12304a",
      PORTAL_RADIUS: "2",
      PORTAL_FONT: "Own Sans, serif",
      PORTAL_FONT_URL: at("127.0.0.1", "own.woff2"),
      PORTAL_FOOTER: "Northwind A/S",
      PORTAL_TERMS_URL: "https://northwind.example/terms",
      PORTAL_HELP_URL: "https://northwind.example/help",
      PORTAL_FRAME_ANCESTORS: at("127.0.0.1", "").slice(0, -1),
    });
  });
  afterAll(async () => {
    await site.stop();
    app.close();
  });

  it("has the operator's name and logo, and its colour, darker where text could not be read", async () => {
    page = await site.open(await site.link(), { permissions: ["clipboard-read", "clipboard-write"] });
    await page.getByRole("link", { name: "Northwind & Søn" }).waitFor();
    expect(await page.title()).toBe("Endpoints · Northwind & Søn");
    await expect.poll(() => page.evaluate("document.querySelector('.brand img').naturalWidth")).toBe(48);
    const button = page.getByRole("link", { name: "Add an endpoint" }).first();
    const color = () => button.evaluate((one) => getComputedStyle(one).backgroundColor);
    await page.emulateMedia({ colorScheme: "dark" });
    await expect.poll(color).toBe("rgb(255, 204, 0)");
    await page.emulateMedia({ colorScheme: "light" });
    await expect.poll(color).toBe("rgb(128, 102, 0)");
    expect(site.strays.toSorted()).toEqual([at("127.0.0.1", "logo.svg"), at("127.0.0.1", "own.woff2")]);
  });

  it("has the operator's second colour, fonts, corners, and links at its foot", async () => {
    const styleOf = (selector: string, name: string) =>
      page.evaluate(`getComputedStyle(document.querySelector(${JSON.stringify(selector)})).${name}`);
    expect(await styleOf(".top", "backgroundColor")).toBe("rgb(18, 48, 74)");
    expect(await styleOf(".brand", "color")).toBe("rgb(255, 255, 255)");
    expect(await styleOf("html", "fontFamily")).toMatch(/^"Own Sans", serif, ui-sans-serif/);
    expect(await styleOf(".empty .button", "borderRadius")).toBe("0px");
    await page.getByRole("contentinfo").getByText("Northwind A/S").waitFor();
    for (const [name, url] of [
      ["Help", "https://northwind.example/help"],
      ["Terms", "https://northwind.example/terms"],
    ]) {
      const link = page.getByRole("contentinfo").getByRole("link", { name });
      expect([await link.getAttribute("href"), await link.getAttribute("target")]).toEqual([url, "_blank"]);
    }
  });

  it("copies a secret, and a request as a curl command that a receiver takes for genuine", async () => {
    const copied = () => page.evaluate("navigator.clipboard.readText()") as Promise<string>;
    const { id, signing_secret: secret } = await site.register();
    await site.publish();
    await page.evaluate(`location.hash = "#/${id}/secret"`);
    await page.getByRole("button", { name: "Show the secret" }).click();
    await page.getByRole("button", { name: /^Copy: / }).click();
    await page.getByText(/^Copied: /).waitFor();
    expect(await copied()).toBe(secret);
    await page.getByRole("tab", { name: "Deliveries" }).click();
    await page.getByRole("link", { name: /budget.exceeded/ }).click();
    await page.getByRole("button", { name: /^Copy the body/ }).click();
    const body = site.receiver.requests.at(-1)!.body.toString();
    await expect.poll(copied).toBe(body);
    await page.getByRole("button", { name: /^Copy as curl/ }).click();
    await expect.poll(copied).toContain(`X-Service-Signature: ${signingKey(secret).signBody(body)}`);
  });

  it("is shown in a frame by the site that may, and by no other", async () => {
    const link = encodeURIComponent(await site.link());
    const outer = await site.browser.newPage();
    await outer.goto(at("127.0.0.1", link));
    await outer.frameLocator("iframe").getByRole("heading", { name: "Endpoints" }).waitFor();
    const refused = outer.waitForEvent("console", (message) => message.text().includes("frame-ancestors"));
    await outer.goto(at("localhost", link));
    await refused;
    expect(await outer.frameLocator("iframe").getByRole("heading").count()).toBe(0);
    await outer.close();
  });

  it("in a frame is as light or dark as asked, tells its height and screen, and takes a new link by message", async () => {
    await site.register({ description: "Framed" });
    const draft = { tenant: "default", can: ["manage"], return_url: "https://app.example/settings" };
    const { url, key_id: key } = await site.request("POST", "/v1/portal-links", draft);
    const framed = (link: string) => {
      const { hash } = new URL(link);
      return new URL(`/portal?theme=dark&header=off${hash}`, site.daemon.url).href;
    };
    const outer = await site.browser.newPage({ colorScheme: "light" });
    await outer.goto(at("127.0.0.1", encodeURIComponent(framed(url))));
    const said = `(window.said ??= [], addEventListener("message", ({ data }) => said.push(data)), 0)`;
    await outer.evaluate(said);
    const frame = outer.frameLocator("iframe");
    await frame.getByRole("link", { name: "Add an endpoint" }).first().click();
    const heard = (what: string) => outer.evaluate(`said.filter(({ portal }) => portal === "${what}").at(-1)`);
    await expect.poll(() => heard("navigate")).toEqual({ portal: "navigate", path: "/new" });
    await expect.poll(() => heard("height")).toMatchObject({ height: expect.any(Number) });
    const color = await frame.locator("html").evaluate((one) => getComputedStyle(one).backgroundColor);
    expect(color).toBe("rgb(13, 15, 18)");
    expect(await frame.getByRole("link", { name: "Northwind & Søn", exact: true }).count()).toBe(0);
    expect(await frame.getByRole("link", { name: "Back to Northwind & Søn" }).getAttribute("target")).toBe("_top");
    await frame.getByLabel("URL").fill("https://example.com/half");
    await site.request("DELETE", `/v1/keys/${key}`);
    await expect.poll(() => heard("ended")).toEqual({ portal: "ended" });
    const next = await site.link();
    const target = "document.querySelector('iframe').contentWindow";
    await outer.evaluate(`${target}.postMessage({ portal: "link", url: ${JSON.stringify(next)} }, "*")`);
    await frame.getByRole("heading", { name: "Add an endpoint" }).waitFor();
    expect(await frame.getByLabel("URL").inputValue()).toBe("https://example.com/half");
    await outer.close();
  });

  it("in a frame says that the link has ended if it was dead from the start, and takes another", async () => {
    const { url, key_id: key } = await site.request("POST", "/v1/portal-links", { tenant: "default" });
    await site.request("DELETE", `/v1/keys/${key}`);
    const outer = await site.browser.newPage();
    await outer.addInitScript("addEventListener('message', ({ data }) => (window.said ??= []).push(data))");
    const framed = new URL(`/portal${new URL(url).hash}`, site.daemon.url).href;
    await outer.goto(at("127.0.0.1", encodeURIComponent(framed)));
    await outer.frameLocator("iframe").getByRole("heading", { name: "This link no longer works" }).waitFor();
    await expect.poll(() => outer.evaluate("said.some(({ portal }) => portal === 'ended')")).toBe(true);
    const message = JSON.stringify({ portal: "link", url: await site.link() });
    await outer.evaluate(`document.querySelector("iframe").contentWindow.postMessage(${message}, "*")`);
    await outer.frameLocator("iframe").getByRole("heading", { name: "Endpoints" }).waitFor();
    await outer.close();
  });

  it("shows an operator every tenant, or the one that is chosen, live too", async () => {
    const url = `${site.receiver.url}/acme`;
    const draft = { url, events: ["carbon.threshold"] };
    const { id } = await site.request("POST", "/v1/webhooks?tenant=acme", draft);
    const { url: link } = await site.request("POST", "/v1/portal-links", { tenant: "*", can: ["manage"] });
    const all = await site.open(new URL(`/portal${new URL(link).hash}`, site.daemon.url).href);
    const rows = all.getByRole("main").getByRole("listitem");
    await rows.filter({ hasText: "default · " }).first().waitFor();
    await rows.filter({ hasText: "acme · " }).getByText("never succeeded").waitFor();
    await all.getByLabel("Tenant").selectOption("acme");
    await rows.filter({ hasText: "default · " }).first().waitFor({ state: "detached" });
    await rows.getByText("never succeeded").waitFor();
    expect(await rows.count()).toBe(1);
    await site.request("POST", "/v1/webhooks/events?tenant=acme", { type: "carbon.threshold", data: {} });
    await rows.getByText(/^succeeded/).waitFor();
    // A new endpoint belongs to the tenant that is chosen.
    await all.getByRole("link", { name: "Add an endpoint" }).click();
    await all.getByLabel("URL").fill(`${url}/2`);
    await all.getByRole("checkbox", { name: "goal.achieved" }).click();
    await all.getByRole("button", { name: "Add the endpoint" }).click();
    await all.getByRole("heading", { name: "The endpoint was added" }).waitFor();
    const { data } = await site.request("GET", "/v1/webhooks?tenant=acme");
    expect(data).toHaveLength(2);
    expect(data.map((one: { id: string }) => one.id)).toContain(id);
    await all.getByLabel("Tenant").selectOption("default");
    await rows.first().waitFor();
    await rows.filter({ hasText: "/acme" }).first().waitFor({ state: "detached" });
    await all.context().close();
  });

  it("goes on after a break: what happened meanwhile shows, once", async () => {
    const { id } = await site.register({ events: ["goal.achieved"] });
    await site.publish({ number: 1 }, "goal.achieved");
    const cable = new Cable(Number(new URL(site.daemon.url).port));
    const link = new URL(await site.link());
    link.port = String(cable.port);
    const cut = await site.open(link.href);
    const resumed: string[] = [];
    cut.on("request", (request) => resumed.push(request.headers()["last-event-id"] ?? ""));
    await cut.evaluate(`location.hash = "#/${id}"`);
    const rows = cut.getByRole("row").filter({ hasText: "Delivered" });
    await expect.poll(() => rows.count()).toBe(1);
    await cut.getByText("live", { exact: true }).waitFor();
    cable.cut();
    await cut.getByText("reconnecting").waitFor();
    for (const number of [2, 3]) await site.publish({ number }, "goal.achieved");
    await expect.poll(() => site.receiver.requests.length).toBeGreaterThanOrEqual(3);
    expect(await rows.count()).toBe(1);
    cable.isCut = false;
    await expect.poll(() => rows.count()).toBe(3);
    await cut.getByText("live", { exact: true }).waitFor();
    expect(resumed.some((lastEventId) => lastEventId !== "")).toBe(true);
    await site.publish({ number: 4 }, "goal.achieved");
    await expect.poll(() => rows.count()).toBe(4);
    await cut.context().close();
    cable.close();
  });
});
