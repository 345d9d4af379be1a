import { expect, it } from "vitest";
import { aHealth } from "../../src/api/endpoints/schemas.ts";
import { anEndpoint } from "../../src/api/endpoints/fields.ts";
import type { Endpoint } from "../../src/client/operations.ts";
import { stateOf } from "../../tui/screens/endpoints.ts";

it("an endpoint of which something cannot be read is shown as damaged, however its last attempts went", () => {
  const endpoint = anEndpoint as Endpoint;
  const health = new Map([[anEndpoint.id, { value: { health: aHealth } }]]);
  const state = { known: { health } } as never;
  const damaged = { parts: ["signing_secret" as const], reason: "its signing secret cannot be unsealed" };
  expect(stateOf(state, endpoint)).toBe("ok");
  expect(stateOf(state, { ...endpoint, damaged })).toBe("damaged");
  expect(stateOf(state, { ...endpoint, enabled: false, damaged })).toBe("damaged");
});
