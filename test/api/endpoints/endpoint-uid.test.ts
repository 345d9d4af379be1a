import { describe, expect, it } from "vitest";
import { aConfig, ApiServer, type RequestOptions } from "../server.ts";
import { aStore } from "../sqlite.ts";

const PATH = "/v1/webhooks";
const GIVEN = { url: "https://example.com/h", events: ["budget.exceeded"] };

async function serve(env: Record<string, string> = {}) {
  const api = await ApiServer.start(await aStore(), { config: aConfig(env) });
  const put = (path: string, body: object, options: Omit<RequestOptions, "body"> = {}) =>
    api.request("PUT", `${PATH}/${path}`, { ...options, body: JSON.stringify(body) });
  return { api, put };
}

describe("an endpoint's uid", () => {
  it("stands for its id wherever that is in a path", async () => {
    const { api } = await serve();
    const { id } = (await api.post(PATH, { ...GIVEN, uid: "crm" })).body;
    const at = (path: string) => [`${PATH}/uid:crm${path}`, `${PATH}/${id}${path}`] as const;
    const [byUid, byId] = at("");
    expect((await api.get(byUid)).body).toEqual((await api.get(byId)).body);
    const patched = await api.request("PATCH", byUid, { body: '{"description":"b"}' });
    expect(patched).toMatchObject({ status: 200, body: { id, description: "b" } });
    expect(api.refreshed).toEqual([id]);
    expect((await api.get(at("/secret")[0])).body).toEqual((await api.get(at("/secret")[1])).body);
    expect((await api.get(at("/attempts")[0])).body).toEqual({ data: [], next_cursor: null });
    expect((await api.request("POST", at("/test")[0])).status).toBe(202);
    expect((await api.request("POST", at("/rotate-secret")[0])).status).toBe(200);
    expect((await api.request("POST", at("/rotate-secret/complete")[0])).status).toBe(200);
    await api.request("POST", at("/rotate-secret")[0]);
    expect((await api.request("DELETE", at("/rotate-secret")[0])).status).toBe(204);
    expect(new Set(api.refreshed)).toEqual(new Set([id]));
    expect((await api.request("DELETE", byUid)).status).toBe(204);
    expect(api.dropped).toEqual([id]);
    expect((await api.get(byUid)).status).toBe(404);
    const { data } = (await api.get("/v1/audit")).body;
    for (const { action, object } of data) expect(object, action).toBe(id);
  });

  it.each(["a b", "50%", "a/b", "é€", "ep_1", "..", "a?b#c", "%41", "uid:x"])("may be %j", async (uid) => {
    const { api, put } = await serve();
    const path = `uid:${encodeURIComponent(uid)}`;
    const { status, body } = await put(path, GIVEN);
    expect({ status, uid: body.uid }).toEqual({ status: 201, uid });
    expect((await api.get(`${PATH}/${path}`)).body.id).toBe(body.id);
  });

  it("is looked for in the key's tenant, or the one that a key of * names", async () => {
    const { api, put } = await serve();
    const ours = await api.addKey(["manage"], "acme");
    const theirs = await api.addKey(["manage"], "globex");
    const { id } = (await put("uid:crm", GIVEN, { key: ours })).body;
    expect((await api.get(`${PATH}/uid:crm`, { key: ours })).body.id).toBe(id);
    expect((await api.get(`${PATH}/uid:crm?tenant=acme`)).body.id).toBe(id);
    const foreign = await api.get(`${PATH}/uid:crm`, { key: theirs });
    const nobodys = await api.get(`${PATH}/uid:none`, { key: theirs });
    expect({ ...foreign.body, request_id: "" }).toEqual({ ...nobodys.body, request_id: "" });
    expect((await api.get(`${PATH}/uid:crm`)).status).toBe(404);
    expect((await api.get(`${PATH}/uid:crm?tenant=acme`, { key: theirs })).status).toBe(403);
    expect((await put("uid:crm", GIVEN, { key: theirs })).status).toBe(201);
  });
});

describe("PUT", () => {
  it("makes an endpoint and shows its secret, then replaces it and does not", async () => {
    const { api, put } = await serve();
    const made = await put("uid:crm", { ...GIVEN, description: "a", headers: { "x-a": "b" }, rate_per_second: 5 });
    expect(made).toMatchObject({ status: 201, body: { uid: "crm", description: "a", headers: { "x-a": "***" } } });
    expect(made.body.signing_secret).toMatch(/^whsec_/);
    expect(made.headers.location).toBe(`${PATH}/${made.body.id}`);
    const again = await put("uid:crm", { ...GIVEN, url: "https://example.com/2" });
    expect(again.status).toBe(200);
    expect(again.body).toMatchObject({
      id: made.body.id,
      uid: "crm",
      url: "https://example.com/2",
      description: "",
      headers: {},
      rate_per_second: null,
      created_at: made.body.created_at,
    });
    expect(again.body.signing_secret).toBeUndefined();
    expect(again.headers.etag).toBe((await api.get(`${PATH}/uid:crm`)).headers.etag);
    expect(made.headers.etag).not.toBe(again.headers.etag);
    expect((await api.get(`${PATH}/uid:crm/secret`)).body.signing_secret).toBe(made.body.signing_secret);
    expect(api.refreshed).toEqual([made.body.id]);
  });

  it("makes one endpoint of twenty at once, and shows its secret once", async () => {
    const { api, put } = await serve();
    const answers = await Promise.all(Array.from({ length: 20 }, () => put("uid:crm", GIVEN)));
    expect(answers.map(({ status }) => status).toSorted()).toEqual([...Array<number>(19).fill(200), 201]);
    expect(answers.filter(({ body }) => body.signing_secret !== undefined)).toHaveLength(1);
    expect(new Set(answers.map(({ body }) => body.id)).size).toBe(1);
    expect((await api.get(PATH)).body.data).toHaveLength(1);
  });

  it("leaves an endpoint that was disabled so, unless it says otherwise", async () => {
    const { api, put } = await serve();
    await put("uid:crm", GIVEN);
    await api.request("PATCH", `${PATH}/uid:crm`, { body: '{"enabled":false}' });
    expect((await put("uid:crm", GIVEN)).body.enabled).toBe(false);
    expect((await put("uid:crm", { ...GIVEN, enabled: true })).body.enabled).toBe(true);
  });

  it("keeps to If-Match and If-None-Match", async () => {
    const { api, put } = await serve();
    const under = (name: string, value: string) => put("uid:crm", GIVEN, { headers: { [name]: value } });
    expect((await under("if-match", "*")).body.code).toBe("precondition_failed");
    expect((await api.get(PATH)).body.data).toEqual([]);
    const made = await under("if-none-match", "*");
    expect(made.status).toBe(201);
    expect((await under("if-none-match", "*")).status).toBe(412);
    const replaced = await under("if-match", String(made.headers.etag));
    expect(replaced.status).toBe(200);
    expect((await under("if-match", String(made.headers.etag))).status).toBe(412);
    expect((await under("if-match", String(replaced.headers.etag))).status).toBe(200);
  });

  it("replaces what an id names, and makes nothing there", async () => {
    const { api, put } = await serve();
    const { id } = (await api.post(PATH, { ...GIVEN, uid: "a" })).body;
    expect((await put(id, { ...GIVEN, uid: "b" })).body).toMatchObject({ id, uid: "b" });
    expect((await put(`ep_${"0".repeat(26)}`, GIVEN)).status).toBe(404);
    expect((await put("nonsense", GIVEN)).status).toBe(404);
    await put("uid:c", GIVEN);
    expect((await put(id, { ...GIVEN, uid: "c" })).body.code).toBe("already_created");
  });

  it("is refused for another uid in its body, and for what a registration is refused for", async () => {
    const { api, put } = await serve();
    const faults = async (path: string, body: object) => {
      const answer = await put(path, body);
      expect(answer.status).toBe(422);
      return answer.body.errors.map(({ pointer, code }: any) => `${pointer} ${code}`);
    };
    expect(await faults("uid:a", { ...GIVEN, uid: "b" })).toEqual(["/uid conflicting_fields"]);
    expect(await faults("uid:a", { ...GIVEN, uid: null })).toEqual(["/uid conflicting_fields"]);
    expect(await faults("uid:a", { events: ["budget.exceeded"] })).toEqual(["/url missing_field"]);
    expect(await faults(`uid:${"a".repeat(65)}`, GIVEN)).toEqual(["/uid too_long"]);
    expect(await faults("uid:a%0Ab", GIVEN)).toEqual(["/uid forbidden_char"]);
    expect(await faults("uid:", GIVEN)).toEqual(["/uid too_few"]);
    expect(await faults("uid:a", { ...GIVEN, headers: { a: "b", c: "***" } })).toEqual(["/headers/c invalid_header"]);
    expect((await put("uid:a", { ...GIVEN, uid: "a" })).status).toBe(201);
    const key = await api.addKey(["manage"]);
    expect((await put("uid:x", { ...GIVEN, headers: { a: "b" } }, { key })).body.code).toBe("forbidden");
    expect((await put("uid:x", GIVEN, { key: await api.addKey(["read"]) })).status).toBe(403);
  });
});

describe("a dry run", () => {
  it("checks a replacement as the real one does, and stores nothing", async () => {
    const { api, put } = await serve();
    expect(await put("uid:crm?dry_run=true", GIVEN)).toMatchObject({ status: 204, text: "" });
    expect((await api.get(`${PATH}/uid:crm`)).status).toBe(404);
    const bad = { ...GIVEN, url: "http://example.com/", events: ["no.such"] };
    const [tried, done] = [await put("uid:crm?dry_run=true", bad), await put("uid:crm", bad)];
    expect({ ...tried.body, request_id: "" }).toEqual({ ...done.body, request_id: "" });
    const { body } = await put("uid:crm", GIVEN);
    const change = { ...GIVEN, description: "changed", uid: "crm" };
    for (const name of ["uid:crm", body.id]) expect((await put(`${name}?dry_run=true`, change)).status).toBe(204);
    expect((await put("uid:crm?dry_run=true", GIVEN, { headers: { "if-none-match": "*" } })).status).toBe(412);
    expect((await api.get(`${PATH}/uid:crm`)).body.description).toBe("");
    const { data } = (await api.get("/v1/audit")).body;
    expect(data.filter(({ outcome }: { outcome: string }) => outcome === "ok")).toHaveLength(1);
  });

  it("answers each refused request as the real one does", async () => {
    const { api, put } = await serve({ ENDPOINTS_MAX_PER_TENANT: "2" });
    const make = async (uid: string, more: object = {}) =>
      (await put(`uid:${uid}?tenant=acme`, { ...GIVEN, uid, ...more })).body.id as string;
    const own = await make("own", { headers: { authorization: "secret" } });
    await make("taken");
    const foreign = (await put("uid:theirs?tenant=globex", GIVEN)).body.id as string;
    const [bound, limited] = [
      await api.addKey(["manage"], "acme"),
      await api.addKey(["manage"], "acme", {
        portal: { endpoints: [own], returnUrl: null, madeBy: null },
      }),
    ];
    const nobodys = `ep_${"0".repeat(26)}`;
    const kept = { ...GIVEN, uid: "own" };
    const masked = { authorization: "***" };
    const elsewhere = { ...kept, url: "https://example.net/h", headers: masked };
    const refused: readonly [what: string, path: string, body: object, key: string | undefined, answer: string][] = [
      ["an unknown id, with a bound key", nobodys, GIVEN, bound, "404 not_found"],
      ["an unknown id, with ?tenant=", `${nobodys}?tenant=acme`, GIVEN, undefined, "404 not_found"],
      ["another tenant's id, with a bound key", foreign, GIVEN, bound, "404 not_found"],
      ["another tenant's id, with ?tenant=", `${foreign}?tenant=acme`, GIVEN, undefined, "404 not_found"],
      [
        "a masked header that is not there",
        own,
        { ...kept, headers: { "x-a": "***" } },
        bound,
        "422 validation_failed",
      ],
      ["the same, by uid", "uid:own", { ...GIVEN, headers: { "x-a": "***" } }, bound, "422 validation_failed"],
      ["the id of another", own, { ...kept, id: foreign }, bound, "422 validation_failed"],
      ["an id for a new endpoint", "uid:new", { ...GIVEN, id: own }, bound, "422 validation_failed"],
      ["another tenant", own, { ...kept, tenant: "globex" }, bound, "422 validation_failed"],
      ["headers for another host", own, elsewhere, bound, "403 forbidden"],
      ["the same, by uid", "uid:own", elsewhere, bound, "403 forbidden"],
      ["a new uid, with a limited key", own, { ...kept, uid: "else", headers: masked }, limited, "403 forbidden"],
      ["a uid that is taken", own, { ...kept, uid: "taken", headers: masked }, bound, "409 already_created"],
      ["one endpoint too many", "uid:new", GIVEN, bound, "409 endpoint_limit"],
      ["a new endpoint, with a limited key", "uid:new", GIVEN, limited, "404 not_found"],
    ];
    const before = (await api.get(`${PATH}?tenant=acme`)).body;
    for (const [what, path, body, key, expected] of refused) {
      const dry = await put(`${path}${path.includes("?") ? "&" : "?"}dry_run=true`, body, { key });
      const real = await put(path, body, { key });
      expect(`${real.status} ${real.body.code}`, what).toBe(expected);
      expect({ status: dry.status, ...dry.body, request_id: "" }, what).toEqual({
        status: real.status,
        ...real.body,
        request_id: "",
      });
    }
    expect((await api.get(`${PATH}?tenant=acme`)).body).toEqual(before);
    const good = await put("uid:own?dry_run=true", { ...kept, headers: masked }, { key: bound });
    expect(good).toMatchObject({ status: 204, text: "" });
  });
});
