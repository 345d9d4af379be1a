import { expect, it } from "vitest";
import { FIELDS } from "../../../src/api/endpoints/fields.ts";
import { DEFAULT_SETTINGS } from "../../../src/domain/endpoints/endpoint.ts";
import { EVERY_SETTING } from "../../store/every-setting.ts";
import { ApiServer } from "../server.ts";
import { aStore } from "../sqlite.ts";

const PATH = "/v1/webhooks";
const NEEDED = { url: "https://example.com/h", events: ["budget.exceeded"] };
const given = Object.fromEntries(FIELDS.map(([setting, { wire }]) => [wire, EVERY_SETTING[setting]]));
const shown = {
  ...given,
  headers: { "X-Changed": "***" },
  auth: { type: "basic", username: "changed", password: "***" },
};
const nulls = Object.fromEntries(
  FIELDS.filter(([setting, { resets }]) => setting in DEFAULT_SETTINGS && resets !== false).map(([, { wire }]) => [
    wire,
    null,
  ]),
);

it("every field is taken and shown by a registration, a change and a replacement, and null gives its default back", async () => {
  const api = await ApiServer.start(await aStore());
  const plain = await api.post(PATH, NEEDED);
  const path = `${PATH}/${plain.body.id}`;
  const { signing_secret: _, updated_at: __, ...before } = plain.body;
  const send = async (method: string, body: object) =>
    (await api.request(method, path, { body: JSON.stringify(body) })).body;

  expect(await send("PATCH", given)).toMatchObject(shown);
  expect((await api.get(path)).body).toMatchObject(shown);
  expect(await send("PATCH", { ...nulls, ...NEEDED, enabled: true })).toMatchObject(before);
  expect(await send("PUT", given)).toMatchObject(shown);
  expect(await send("PUT", { ...NEEDED, enabled: true })).toMatchObject(before);
  await api.request("DELETE", path);
  expect((await api.post(PATH, given)).body).toMatchObject(shown);
});
