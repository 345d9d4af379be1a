import { describe, expect, it } from "vitest";
import { FakeIo } from "../cli/fake-io.ts";
import { webhookd } from "../cli/runs.ts";

async function type(io: FakeIo, ...words: string[]) {
  const code = await webhookd(io, "tui", "--socket", "/nowhere", ...words);
  return { code, out: io.out, err: io.err };
}

describe("webhookd tui", () => {
  it("says what it does", async () => {
    const { code, out } = await type(new FakeIo(), "--help");
    expect(code).toBe(0);
    for (const flag of ["--screen", "--filter", "--read-only", "--refresh", "--ascii"]) expect(out).toContain(flag);
  });

  it("refuses what is no terminal, and names what works there", async () => {
    for (const io of [new FakeIo(), new FakeIo({ isTTY: true, env: { TERM: "dumb" } })]) {
      const { code, out, err } = await type(io);
      expect(code).toBe(2);
      expect(out).toBe("");
      expect(err).toMatch(/needs a terminal: .*\n.*`webhookd events tail` and `webhookd status`/);
    }
  });

  it("refuses a filter and a refresh that mean nothing", async () => {
    expect((await type(new FakeIo({ isTTY: true }), "--filter", "statsu:failed")).err).toContain(
      "Did you mean status?",
    );
    expect((await type(new FakeIo({ isTTY: true }), "--refresh", "1ms")).err).toContain("from 100ms to 1m");
  });
});
