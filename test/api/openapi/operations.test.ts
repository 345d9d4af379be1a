import { describe, expect, it } from "vitest";
import * as v from "valibot";
import type { Route } from "../../../src/api/pipeline/route.ts";
import { FakeStore } from "../fake-store.ts";
import { ApiServer } from "../server.ts";

const { routes } = await ApiServer.start(new FakeStore().asStore());
const named = (route: Route) => [`${route.method} ${route.path}`, route] as const;

describe.each(routes.map(named))("%s", (_, { path, body, operation }) => {
  it("answers something", () => {
    expect(Object.keys(operation.replies).length).toBeGreaterThan(0);
  });

  it("describes its parameters", () => {
    const inPath = [...path.matchAll(/:(\w+)/g)].map(([, name]) => name);
    expect(Object.keys(operation.params ?? {})).toEqual(inPath);
  });

  it("shows a body that it takes", () => {
    if (body === undefined) return expect(operation.example).toBeUndefined();
    expect(body.schema).toBeDefined();
    expect(v.safeParse(body.schema!, operation.example).issues ?? []).toEqual([]);
  });

  it("shows each of its answers", () => {
    for (const [status, { schema, example }] of Object.entries(operation.replies)) {
      if (schema === undefined) expect(example, status).toBeUndefined();
      else expect(v.parse(schema, example), status).toEqual(example);
    }
  });
});

it("no two routes share an operation's id", () => {
  const ids = routes.map(({ operation }) => operation.id);
  expect(ids).toEqual([...new Set(ids)]);
});
