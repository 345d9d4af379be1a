import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { OPERATIONS } from "../../src/client/operations.ts";

type Path = Record<string, { operationId: string }>;

it("a client knows every operation of the published description, and no other", () => {
  const file = new URL("../../docs/openapi.json", import.meta.url);
  const { paths } = JSON.parse(readFileSync(file, "utf8")) as { paths: Record<string, Path> };
  const published = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, { operationId }]) => [operationId, `${method.toUpperCase()} ${path}`]),
  );
  expect(OPERATIONS).toEqual(Object.fromEntries(published));
});
