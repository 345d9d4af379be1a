import { existsSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { expect, it } from "vitest";
import { withKeys } from "../../scripts/screens/keys.ts";

const PAGE = "docs/dashboard.md";

it("the page has every key of the dashboard as it is", async () => {
  const page = withKeys(readFileSync(PAGE, "utf8"));
  await expect(page, "write them with: vitest run test/docs/dashboard.test.ts --update").toMatchFileSnapshot(
    resolve(PAGE),
  );
});

it("every picture that a page shows is there", () => {
  for (const [page, folder] of [
    [PAGE, "docs"],
    ["README.md", "."],
  ] as const) {
    const pictures = [...readFileSync(page, "utf8").matchAll(/!\[[^\]]*\]\(([^)]+)\)/g)].map(([, file]) => file!);
    expect(pictures, page).not.toEqual([]);
    for (const file of pictures) expect(existsSync(join(folder, file)), `${page} shows ${file}`).toBe(true);
  }
});
