import { describe, expect, it } from "vitest";
import { ApiServer } from "../server.ts";
import { aStore } from "../sqlite.ts";

const PATH = "/v1/webhooks";
const GIVEN = { url: "https://example.com/h", events: ["budget.exceeded"], description: "a" };

async function anEndpoint() {
  const api = await ApiServer.start(await aStore());
  const { headers, body } = await api.post(PATH, GIVEN);
  const path = `${PATH}/${body.id}`;
  const patch = (change: object, ifMatch?: string) =>
    api.request("PATCH", path, {
      body: JSON.stringify(change),
      ...(ifMatch !== undefined && { headers: { "if-match": ifMatch } }),
    });
  const tag = async () => String((await api.get(path)).headers.etag);
  return { api, id: body.id as string, path, patch, tag, first: String(headers.etag) };
}

describe("the ETag of an endpoint", () => {
  it("is strong, and the same from whichever answer it comes", async () => {
    const { tag, first, patch } = await anEndpoint();
    expect(first).toMatch(/^"[\w-]{16}"$/);
    expect(await tag()).toBe(first);
    const changed = await patch({ description: "b" });
    expect(changed.headers.etag).not.toBe(first);
    expect(await tag()).toBe(changed.headers.etag);
  });

  it("is another one after every change, within one millisecond and back to what was too", async () => {
    const { api, id, path, patch, tag, first } = await anEndpoint();
    const seen = new Set([first]);
    const changes = [
      () => patch({ description: "b" }),
      () => patch({ description: "a" }),
      () => patch({ description: "a" }),
      () => patch({ headers: { "x-a": "secret" } }),
      () => patch({ headers: { "x-a": "other" } }),
      () => api.request("POST", `${path}/rotate-secret`),
      () => api.request("POST", `${path}/rotate-secret/complete`),
      () => api.store.endpoints.disable(id, GIVEN.url, "gone", api.clock.now()),
    ];
    for (const change of changes) {
      await change();
      seen.add(await tag());
    }
    expect(seen.size).toBe(1 + changes.length);
  });

  it("stays as it is while nothing is changed, whatever is delivered", async () => {
    const { api, path, tag, first } = await anEndpoint();
    await api.post("/v1/webhooks/events", { type: "budget.exceeded", data: {} });
    await api.get(`${path}/secret`);
    api.clock.advance("1h");
    expect(await tag()).toBe(first);
  });
});

describe("If-Match", () => {
  it("lets a change in whose tag is the endpoint's", async () => {
    const { patch, tag } = await anEndpoint();
    expect((await patch({ description: "b" }, await tag())).status).toBe(200);
    expect((await patch({ description: "c" }, `"x", ${await tag()}`)).status).toBe(200);
    expect((await patch({ description: "d" }, "*")).status).toBe(200);
  });

  it("refuses any other, and changes nothing", async () => {
    const { api, path, patch, first } = await anEndpoint();
    await patch({ description: "b" });
    const now = (await api.get(path)).body;
    for (const tag of [first, `W/${first}`, "x", '""', first.slice(1, -1)]) {
      const { status, body } = await patch({ description: "c" }, tag);
      expect({ status, code: body.code }, tag).toEqual({ status: 412, code: "precondition_failed" });
      expect(body.detail).toMatch(/changed.*ETag/);
    }
    const weak = String((await api.get(path)).headers.etag);
    expect((await patch({ description: "c" }, `W/${weak}`)).status).toBe(412);
    expect((await api.get(path)).body).toEqual(now);
    expect(api.refreshed).toHaveLength(1);
  });

  it("comes after what is wrong with the change, and after what is not there", async () => {
    const { api, patch } = await anEndpoint();
    expect((await patch({ nope: 1 }, '"x"')).status).toBe(422);
    const none = await api.request("PATCH", `${PATH}/ep_${"0".repeat(26)}`, {
      body: "{}",
      headers: { "if-match": '"x"' },
    });
    expect(none.status).toBe(404);
  });

  it("lets one of twenty in that read the same", async () => {
    const { api, path, patch, first } = await anEndpoint();
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, n) => patch({ metadata: { [`n${n}`]: true } }, first)),
    );
    expect(answers.map(({ status }) => status).toSorted()).toEqual([200, ...Array<number>(19).fill(412)]);
    expect(Object.keys((await api.get(path)).body.metadata)).toHaveLength(1);
  });
});
