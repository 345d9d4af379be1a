import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { operations, types } from "../../scripts/clients/python.ts";

it("the Python client has the types and operations of the published description; --update writes them", async () => {
  await expect(types()).toMatchFileSnapshot("../../src/client/python/webhookd/_types.py");
  await expect(operations()).toMatchFileSnapshot("../../src/client/python/webhookd/_operations.py");
});

it("the Python client has the version of all the rest", () => {
  const { version } = JSON.parse(readFileSync("package.json", "utf8")) as { version: string };
  expect(readFileSync("src/client/python/webhookd/_version.py", "utf8")).toBe(`__version__ = "${version}"\n`);
});
