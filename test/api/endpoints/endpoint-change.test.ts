import { describe, expect, it } from "vitest";
import { aStore } from "../sqlite.ts";
import { ApiServer } from "../server.ts";

const PATH = "/v1/webhooks";
const GIVEN = {
  url: "https://example.com/h",
  events: ["budget.exceeded"],
  description: "d",
  headers: { "X-Api-Key": "hunter2", "X-Team": "a" },
  rate_per_second: 5,
  max_in_flight: 3,
  when_disabled: "skip",
  uid: "mine",
  metadata: { team: { name: "a", size: 3 } },
};

async function anEndpoint() {
  const api = await ApiServer.start(await aStore());
  const { id, signing_secret: _, ...endpoint } = (await api.post(PATH, GIVEN)).body;
  const patch = (body: unknown, options: { type?: string; key?: string } = {}) =>
    api.request("PATCH", `${PATH}/${id}`, {
      body: typeof body === "string" ? body : JSON.stringify(body),
      headers: { "content-type": options.type ?? "application/json" },
      ...(options.key !== undefined && { key: options.key }),
    });
  return { api, id, patch, endpoint: { id, ...endpoint } };
}

describe("changing an endpoint", () => {
  it.each(["application/json", "application/merge-patch+json", "application/merge-patch+json; charset=utf-8"])(
    "takes %s and leaves alone what it does not name",
    async (type) => {
      const { api, id, patch, endpoint } = await anEndpoint();
      api.clock.advance("1m");
      const { status, body } = await patch({ url: "https://EXAMPLE.com/other" }, { type });
      expect(status).toBe(200);
      const updated_at = "2026-11-20T09:56:00.000Z";
      expect(body).toEqual({ ...endpoint, url: "https://example.com/other", updated_at });
      expect((await api.get(`${PATH}/${id}`)).body).toMatchObject(body);
    },
  );

  it("reaches the sender before the response is sent", async () => {
    const { api, id, patch } = await anEndpoint();
    await patch({ enabled: false });
    expect(api.refreshed).toEqual([id]);
  });

  it("gives a field its default back for null", async () => {
    const { patch } = await anEndpoint();
    const nulls = { description: null, headers: null, rate_per_second: null, max_in_flight: null };
    const more = { when_disabled: null, uid: null, metadata: null };
    expect((await patch({ ...nulls, ...more })).body).toMatchObject({
      description: "",
      headers: {},
      rate_per_second: null,
      max_in_flight: null,
      when_disabled: "hold",
      uid: null,
      metadata: {},
    });
  });

  it("merges headers, whatever their case, and metadata", async () => {
    const { api, id, patch } = await anEndpoint();
    const { body } = await patch({
      headers: { "x-api-key": "new", "X-TEAM": null, "X-More": "m" },
      metadata: { team: { size: null, lead: "b" }, plan: "pro" },
    });
    expect(body.headers).toEqual({ "x-api-key": "***", "X-More": "***" });
    expect(body.metadata).toEqual({ team: { name: "a", lead: "b" }, plan: "pro" });
    expect(await api.store.endpoints.target(id)).toMatchObject({ headers: { "x-api-key": "new", "X-More": "m" } });
  });

  it.each([
    [{ nope: 1 }, "/nope unknown_field"],
    [{ signing_secret: "whsec_c2VjcmV0" }, "/signing_secret unknown_field"],
    [{ tenant: "acme" }, "/tenant unknown_field"],
    [{ url: null }, "/url invalid_type"],
    [{ events: null }, "/events invalid_type"],
    [{ enabled: null }, "/enabled invalid_type"],
    [{ url: "http://example.com/" }, "/url url_scheme"],
    [{ events: ["budget.exceeded", "goal*"] }, "/events/1 invalid_events"],
    [{ headers: { host: "x" } }, "/headers/host invalid_header"],
    [{ headers: { "X-Object": {} } }, "/headers/X-Object invalid_header"],
    // A masked value stays as it is, so there must be one.
    [{ headers: { "X-Other": "***", "X-More": "m" } }, "/headers/X-Other invalid_header"],
    [
      { headers: Object.fromEntries(Array.from({ length: 15 }, (_, at) => [`x-${at}`, "v"])) },
      "/headers invalid_header",
    ],
    [{ metadata: { big: "x".repeat(4096) } }, "/metadata too_long"],
    [{ uid: "" }, "/uid too_few"],
    [{ held: "release" }, "/held conflicting_fields"],
    [{ enabled: false, held: "release" }, "/held conflicting_fields"],
    [{ enabled: true, held: "drop" }, "/held invalid_type"],
    [[], " invalid_body"],
  ])("refuses %j", async (body, fault) => {
    const { api, id, patch, endpoint } = await anEndpoint();
    const answer = await patch(body);
    expect(answer.status).toBe(422);
    const faults = answer.body.errors.map(
      ({ pointer, code }: { pointer: string; code: string }) => `${pointer} ${code}`,
    );
    expect(faults).toContain(fault);
    expect((await api.get(`${PATH}/${id}`)).body).toMatchObject(endpoint);
    expect(api.refreshed).toEqual([]);
  });

  it("refuses a uid that the tenant has, another content type, and a key without scope manage", async () => {
    const { api, patch } = await anEndpoint();
    await api.post(PATH, { ...GIVEN, uid: "theirs" });
    expect((await patch({ uid: "theirs" })).body.code).toBe("already_created");
    expect((await patch({ uid: "mine" })).status).toBe(200);
    expect((await patch({}, { type: "application/json-patch+json" })).status).toBe(415);
    expect((await patch({}, { key: await api.addKey(["publish", "read"]) })).body.code).toBe("forbidden");
    // No other route accepts this content type.
    const headers = { "content-type": "application/merge-patch+json" };
    expect((await api.post(PATH, GIVEN, { headers })).status).toBe(415);
  });

  it("clears the reason when it is enabled, and keeps it through other changes", async () => {
    const { api, id, patch } = await anEndpoint();
    await api.store.endpoints.disable(id, "https://example.com/h", "gone", 0);
    expect((await patch({ description: "x" })).body).toMatchObject({ enabled: false, disabled_reason: "gone" });
    expect((await patch({ enabled: true, held: "cancel" })).body).toMatchObject({
      enabled: true,
      disabled_reason: null,
    });
  });
});
