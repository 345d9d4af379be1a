import { expect, it, vi } from "vitest";
import { ApiServer } from "../server.ts";
import { aStore } from "../sqlite.ts";

// Pretends that receivers verify with a value other than the secret, such as a public key.
vi.mock("../../../src/domain/endpoints/secret.ts", async (original) => ({
  ...(await original<object>()),
  shownOf: (secret: string) => `public:${secret.length}`,
}));

const PATH = "/v1/webhooks";
const ENDPOINT = { url: "https://example.com/h", events: ["budget.exceeded"] };

it("no answer shows more of a secret than receivers verify with", async () => {
  const api = await ApiServer.start(await aStore());
  const under = (key: string) => ({ headers: { "idempotency-key": key } });
  const first = await api.post(PATH, ENDPOINT, under("register"));
  const one = `${PATH}/${first.body.id}`;
  const rotation = `${one}/rotate-secret`;
  const answers = {
    registered: first,
    "registered again": await api.post(PATH, ENDPOINT, under("register")),
    put: await api.request("PUT", `${PATH}/uid:crm`, { body: JSON.stringify(ENDPOINT) }),
    shown: await api.get(`${one}/secret`),
    rotated: await api.post(rotation, {}, under("rotate")),
    "rotated again": await api.post(rotation, {}, under("rotate")),
    "shown in a rotation": await api.get(`${one}/secret`),
    completed: await api.post(`${rotation}/complete`, "", under("complete")),
    "completed again": await api.post(`${rotation}/complete`, "", under("complete")),
  };
  for (const [name, { status, text, body }] of Object.entries(answers)) {
    expect([name, status, body.signing_secret]).toEqual([name, expect.toBeOneOf([200, 201]), "public:50"]);
    expect(text).not.toContain("whsec_");
  }
  for (const rotating of [answers.rotated, answers["rotated again"], answers["shown in a rotation"]]) {
    expect(rotating.body.next_signing_secret).toBe("public:50");
  }
});
