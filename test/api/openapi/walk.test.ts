import { describe, expect, it } from "vitest";
import { SCENARIOS } from "./scenarios.ts";
import { PIPELINE, Walk } from "./walk.ts";

const walk = await Walk.start();
const ids = walk.description.operations().map(({ operation }): string => operation.operationId);
const steps = new Map<string, object>();

describe.each(ids)("%s", (id) => {
  it("answers all that is described of it, and nothing else", async () => {
    expect(SCENARIOS, "has no scenario: see test/api/openapi/scenarios.ts").toHaveProperty(id);
    const step = await SCENARIOS[id]!(walk);
    steps.set(id, step);
    const described = walk.description.answers(walk.routeOf(id)).filter((answer) => answer !== "rate_limited");
    for (const answer of described) {
      if (!walk.seen.get(id)!.has(answer)) await PIPELINE[answer]?.(walk, id, step);
    }
    expect([...walk.seen.get(id)!].toSorted()).toEqual(described.toSorted());
    // The faults are taken out, so that the next operation does not report them.
    expect(walk.faults.splice(0)).toEqual([]);
  });
});

it("a peer that tried too many keys is told when to retry, whatever it requests", async () => {
  for (let index = 0; index < 31; index++) await walk.api.get("/v1/webhooks", { key: "whk_no" });
  // By then the peer has as many responses available at once again.
  walk.api.clock.advance("10s");
  for (const { method, path, operation } of walk.description.operations()) {
    if (!walk.description.answers(walk.routeOf(operation.operationId)).includes("rate_limited")) continue;
    const { status, headers } = await walk.call(operation.operationId, {
      ...steps.get(operation.operationId),
      key: "whk_no",
    });
    expect({ status, wait: Number(headers["retry-after"]) > 0 }, `${method} ${path}`).toEqual({
      status: 429,
      wait: true,
    });
  }
  expect(walk.faults).toEqual([]);
});
