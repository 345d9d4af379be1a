import { globSync, readFileSync } from "node:fs";
import { expect, it } from "vitest";
import * as original from "../../src/client/exchange.ts";
import * as page from "../../src/portal/server/exchange.ts";

/** The bundler puts the page's module in the place of the client's, so the compiler would not notice a difference. */
const replacement: Pick<typeof original, keyof typeof page> = page;

it("has all that the client takes from the module that it replaces", () => {
  const taken = globSync("src/client/*.ts").flatMap((file) =>
    [...readFileSync(file, "utf8").matchAll(/import \{([^}]*)\} from "\.\/exchange\.ts"/g)].flatMap(([, names]) =>
      names!
        .split(",")
        .map((name) => name.trim())
        .filter((name) => name !== "" && !name.startsWith("type ")),
    ),
  );
  expect(taken.length).toBeGreaterThan(0);
  expect(Object.keys(replacement)).toEqual(expect.arrayContaining(taken));
});
