/** Makes the pictures of `docs/portal.md`: the page in Chromium, with a daemon that has two days of history. */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createClient } from "../../src/client/client.ts";
import { version } from "../../src/build.ts";
import { startChromium } from "../../test/portal/chromium.ts";
import { SCREENS, show } from "../../test/portal/screens.ts";
import { root } from "../root.ts";
import { Stage } from "./stage.ts";

const SIZES = [
  { width: 360, height: 740 },
  { width: 768, height: 900 },
  { width: 1440, height: 900 },
] as const;
/** The host of the endpoint with failed deliveries. */
const FAILING = "billing.fabrikam.example";

const pictures = join(root, "docs/portal");
mkdirSync(pictures, { recursive: true });
const stage = new Stage();
const browser = await startChromium();
const painter = await browser.newPage();

/** Converts to WebP, which is a third as large and just as clear. */
async function asWebp(png: Buffer): Promise<Buffer> {
  const url = await painter.evaluate(`(async () => {
    const bytes = Uint8Array.from(atob("${png.toString("base64")}"), (char) => char.charCodeAt(0));
    const image = await createImageBitmap(new Blob([bytes]));
    const canvas = new OffscreenCanvas(image.width, image.height);
    canvas.getContext("2d").drawImage(image, 0, 0);
    const made = await canvas.convertToBlob({ type: "image/webp", quality: 0.85 });
    return btoa(String.fromCharCode(...new Uint8Array(await made.arrayBuffer())));
  })()`);
  return Buffer.from(String(url), "base64");
}

try {
  await stage.open();
  const key = readFileSync(join(stage.dir, "admin.key"), "utf8").trim();
  const client = createClient({ url: new URL(stage.url), key }, { version });
  const { data: endpoints } = await client.call("listEndpoints");
  const endpoint = endpoints.find(({ url }) => url.includes(FAILING))!.id;
  const query = { endpoint, status: "pending", limit: 1 };
  const { data: deliveries } = await client.call("listDeliveries", { query });
  const shown = { endpoint, delivery: deliveries[0]!.id };
  const { url } = await client.call("createPortalLink", { body: { can: ["manage", "secrets"] } });
  const { pathname, hash } = new URL(url);
  for (const screen of SCREENS) {
    // Each picture has a separate page, so that none depends on the previous one.
    const page = await browser.newPage({ reducedMotion: "reduce", locale: "en-GB" });
    await page.goto(new URL(pathname + hash, stage.url).href);
    await show(page, screen, shown);
    for (const viewport of SIZES) {
      await page.setViewportSize(viewport);
      const { from } = screen;
      if (from !== undefined)
        await page
          .getByText(from, { exact: true })
          .first()
          .evaluate("(one) => { one.scrollIntoView(); scrollBy(0, -16); }");
      const path = join(pictures, `${screen.name}-${viewport.width}.webp`);
      writeFileSync(path, await asWebp(await page.screenshot()));
      console.log(path);
    }
    await page.close();
  }
} finally {
  await browser.close();
  await stage.close();
}
