import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { operations, types } from "../../scripts/clients/go.ts";

it("the Go client has the types and operations of the published description; --update writes them", async () => {
  await expect(types()).toMatchFileSnapshot("../../src/client/go/types.go");
  await expect(operations()).toMatchFileSnapshot("../../src/client/go/operations.go");
});

it("the Go client has the version of all the rest", () => {
  const { version } = JSON.parse(readFileSync("package.json", "utf8")) as { version: string };
  expect(readFileSync("src/client/go/version.go", "utf8")).toContain(`const Version = "${version}"\n`);
});
