import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { publishingTypes } from "../../scripts/clients/python.ts";

it("the Python client has the types of the published description; --update writes them", async () => {
  await expect(publishingTypes()).toMatchFileSnapshot("../../src/client/python/webhookd/_types.py");
});

it("the Python client has the version of all the rest", () => {
  const { version } = JSON.parse(readFileSync("package.json", "utf8")) as { version: string };
  expect(readFileSync("src/client/python/webhookd/_version.py", "utf8")).toBe(`__version__ = "${version}"\n`);
});
