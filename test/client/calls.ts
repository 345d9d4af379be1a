import { join } from "node:path";
import { afterAll, beforeEach, describe, expect, it } from "vitest";
import { aDirectory, TestDaemon } from "../harness/daemon.ts";
import { type Asked, type Language } from "./languages.ts";

/** The rest of the interface, which each client must offer alike. */
export function calls(languages: readonly Language[]): void {
  let socket: string;
  beforeEach(async () => {
    socket = join((await TestDaemon.start({ dir: aDirectory() })).dir, "webhookd.sock");
  });
  afterAll(() => languages.forEach((language) => language.end()));

  describe.each(languages)("the rest of the interface, in $name", ({ name, ask }: Language) => {
    const tenant = name.toLowerCase().replaceAll(" ", "-");
    const call = async (operation: string, asked: NonNullable<Asked["call"]>[1] = {}) => {
      const query = { ...asked.query, ...(operation !== "getStatus" && { tenant }) };
      return ask({ socket, call: [operation, { ...asked, query }] });
    };

    it("is called by its names: an endpoint is registered, changed, shown and deleted", async () => {
      const body = { url: "https://example.com/hook", events: ["goal.achieved"], uid: "the/hook é" };
      const made = (await call("registerEndpoint", { body })).answer as { id: string; signing_secret: string };
      expect(made.signing_secret).toMatch(/^whsec_/);
      const id = `uid:${body.uid}`;
      expect((await call("changeEndpoint", { id, body: { description: "ours" } })).answer).toMatchObject({
        id: made.id,
      });
      expect((await call("getEndpoint", { id })).answer).toMatchObject({ description: "ours", health: { pending: 0 } });
      const listed = (await call("listEndpoints", { query: { enabled: true } })).answer;
      expect(listed).toMatchObject({ data: [{ id: made.id }], next_cursor: null });
      expect(await call("deleteEndpoint", { id: made.id })).toEqual({ answer: null });
    });

    it("changes only what it read, and makes only what is not there yet", async () => {
      const body = { url: "https://example.com/hook", events: ["goal.achieved"] };
      const id = "uid:once";
      const [made] = (
        await ask({ socket, withEtag: ["putEndpoint", { id, query: { tenant }, body, ifNoneMatch: "*" }] })
      ).answer as [object, string];
      expect(made).toMatchObject({ uid: "once" });
      const again = await call("putEndpoint", { id, body, ifNoneMatch: "*" });
      expect(again.error).toMatchObject({ code: "precondition_failed" });
      const [, etag] = (await ask({ socket, withEtag: ["getEndpoint", { id, query: { tenant } }] })).answer as [
        object,
        string,
      ];
      expect(etag).toMatch(/^".+"$/);
      const change = (description: string) => call("changeEndpoint", { id, body: { description }, ifMatch: etag });
      expect((await change("first")).answer).toMatchObject({ description: "first" });
      expect((await change("second")).error).toMatchObject({ code: "precondition_failed", retryable: false });
    });

    it("yields a list to its end, page after page", async () => {
      const events = Array.from({ length: 3 }, (_, n) => ({ type: "goal.achieved", data: { n }, tenant }));
      const { answer } = await ask({ socket, batch: events });
      const ids = (answer as { id: string }[]).map((event) => event.id);
      const query = { tenant, limit: 1, order: "oldest" };
      const all = (await ask({ socket, every: ["listEvents", { query }] })).answer as { id: string }[];
      expect(all.map((event) => event.id)).toEqual(ids);
    });

    it("makes a link to the portal", async () => {
      const body = { tenant, can: ["manage"], new_tenant: true };
      const link = (await ask({ socket, call: ["createPortalLink", { body }] })).answer;
      expect(link).toMatchObject({ tenant, url: expect.stringContaining("/portal#whk_") });
    });

    it("says of an error what it is, and whether a repeat can succeed", async () => {
      expect((await call("getEvent", { id: `evt_${"0".repeat(26)}` })).error).toMatchObject({
        code: "not_found",
        retryable: false,
      });
      const refused = await call("registerEndpoint", { body: { url: "https://example.com/", events: ["no.such"] } });
      expect(refused.error).toMatchObject({
        code: "validation_failed",
        retryable: false,
        faults: ["unknown_event_type"],
      });
      const gone = await ask({ socket: `${socket}.gone`, call: ["getStatus", {}] });
      expect(gone.error).toMatchObject({ code: "unreachable", retryable: true });
      const unknown = await ask({ socket, call: ["getStatuss", {}] });
      expect(unknown.error).toMatchObject({ code: "unknown_operation", hint: expect.stringContaining("getStatus?") });
    });
  });
}
