import { existsSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { EXIT } from "../../../cli/exit-code.ts";
import { FakeIo } from "../fake-io.ts";
import { webhookd } from "../runs.ts";
import { unawaited } from "../../../src/domain/unawaited.ts";

function folderOf({ out }: FakeIo): string {
  return / in (\S*webhookd-demo-\w+);/.exec(out)![1]!;
}

async function until(io: FakeIo, pattern: RegExp, ended: Promise<unknown>): Promise<void> {
  const isOver = { over: false };
  unawaited(ended.finally(() => (isOver.over = true)));
  while (!pattern.test(io.out) && !isOver.over) await new Promise((resolve) => setImmediate(resolve));
  expect(io.out).toMatch(pattern);
}

describe("webhookd demo", () => {
  it("delivers to a good receiver and to one that fails at first, and leaves nothing behind", async () => {
    const io = new FakeIo({ env: { LANG: "C", WEBHOOKD_DATA_DIR: "/nonexistent", WEBHOOKD_RETRY_DELAYS: "nonsense" } });
    const ended = webhookd(io, "demo", "--for", "40s");
    await until(io, /^good {2}\d\d:\d\d:\d\dZ \+ signature ok {2}evt_\S+ transaction\.enriched .* -> 200/m, ended);
    await until(io, /^flaky .* -> 500/m, ended);
    expect(await ended).toBe(EXIT.ok);
    expect(io.err).toBe("");
    const dir = folderOf(io);
    expect(io.out).toContain(`  webhookd tui --socket ${dir}/webhookd.sock\n`);
    expect(io.out).toContain(`  webhookd replay --all-failed --socket ${dir}/webhookd.sock\n`);
    expect(io.out).toContain("flaky has recovered.");
    expect(io.out).toMatch(/\n40 events: \d+ requests answered 200, \d+ refused\.\nStopped, and removed \S+\.\n$/);
    expect(io.out).toMatch(/^[\n\x20-\x7e]+$/);
    expect([existsSync(dir), io.watchesSignals]).toEqual([false, false]);
  });

  it("ends at Ctrl-C, and at once at the second", async () => {
    const io = new FakeIo();
    const ended = webhookd(io, "demo");
    await until(io, /^good .* -> 200/m, ended);
    io.signal("SIGINT");
    io.signal("SIGINT");
    expect([io.exits, existsSync(folderOf(io))]).toEqual([[EXIT.sigint], false]);
    expect(await ended).toBe(EXIT.ok);
    expect(existsSync(folderOf(io))).toBe(false);
  });

  it("does nothing when it does not know for how long", async () => {
    const io = new FakeIo();
    expect(await webhookd(io, "demo", "--for", "ever")).toBe(EXIT.usage);
    expect(io.out).toBe("");
  });
});
