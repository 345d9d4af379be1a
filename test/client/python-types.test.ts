import { expect, it } from "vitest";
import { publishingTypes } from "../../scripts/clients/python.ts";

it("the Python client has the types of the published description; --update writes them", async () => {
  await expect(publishingTypes()).toMatchFileSnapshot("../../src/client/python/webhookd/_types.py");
});
