import { describe, expect, it } from "vitest";
import { ForeignApi } from "../../../cli/import/foreign-api.ts";
import { foreignServer } from "../../harness/foreign-server.ts";
import { FakeIo } from "../fake-io.ts";

const KEY = "foreign-key";

async function api(answer: () => unknown, budget?: { requests: number; bytes: number }) {
  const { url } = await foreignServer(KEY, answer);
  return new ForeignApi(new URL(url), { key: KEY, whereKeyIs: "KEY" }, new FakeIo(), budget);
}

describe("the API of another sender", () => {
  it("is asked only so often in a run", async () => {
    const one = await api(() => ({}), { requests: 3, bytes: 1000 });
    for (let at = 0; at < 3; at++) await one.get(`/${at}`);
    await expect(one.get("/3")).rejects.toThrow("answers more than one command reads");
  });

  it("is read only so far in a run, whichever list it is", async () => {
    const one = await api(() => ({ text: "x".repeat(400) }), { requests: 100, bytes: 1000 });
    await one.get("/a");
    await one.get("/b");
    await expect(one.get("/c")).rejects.toThrow("answers more than one command reads");
  });

  it.each([
    ["nested too deeply", `{"a":${"[".repeat(101)}${"]".repeat(101)}}`],
    ["ambiguous", '{"a":1,"a":2}'],
  ])("is refused if its JSON is %s, as an export file is", async (_what, text) => {
    await expect((await api(() => text)).get("/")).rejects.toThrow("does not answer with JSON");
  });
});
