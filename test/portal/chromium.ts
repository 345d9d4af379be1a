/** Headless Chromium, from the package that the lockfile names. */
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { chromium as playwright, type Browser } from "playwright-core";

const CACHE = join(import.meta.dirname, "../../.cache");
/** The package's version. */
const VERSION = "153.0.0";

/** Only a test that hangs waits this long. */
export const PATIENCE_MS = 120_000;

/** The package has builds for no other platform. */
export const hasChromium = process.platform === "linux" && process.arch === "x64";
if (!hasChromium) {
  console.warn(`NOT TESTED: the page in a browser: there is no Chromium for ${process.platform}-${process.arch}`);
}

export async function startChromium(): Promise<Browser> {
  return playwright.launch({
    executablePath: await unpacked(),
    // The package's own flags are not used, because they turn off what the page relies on, such as the same-origin
    // policy.
    timeout: PATIENCE_MS,
    args: ["--no-sandbox", "--no-zygote", "--disable-webgl", "--font-render-hinting=none"],
  });
}

/** Unpacking takes two seconds, so all runs share the result. */
async function unpacked(): Promise<string> {
  const directory = join(CACHE, `chromium-${VERSION}`);
  const file = join(directory, "chromium");
  if (existsSync(file)) return file;
  mkdirSync(CACHE, { recursive: true });
  const draft = mkdtempSync(join(CACHE, "chromium-draft-"));
  const before = process.env.TMPDIR;
  try {
    // The package unpacks into the temporary directory, and two test files may do that at the same time.
    process.env.TMPDIR = draft;
    const { default: chromium } = await import("@sparticuz/chromium");
    await chromium.executablePath();
  } finally {
    if (before === undefined) delete process.env.TMPDIR;
    else process.env.TMPDIR = before;
  }
  try {
    renameSync(draft, directory);
  } catch {
    // Another test file has unpacked it first.
    rmSync(draft, { recursive: true });
  }
  return file;
}
