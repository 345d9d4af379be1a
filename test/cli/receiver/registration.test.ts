import { afterEach, describe, expect, it } from "vitest";
import { EXIT } from "../../../cli/exit-code.ts";
import { BUILT_IN_TYPES } from "../../../src/domain/events/event-type.ts";
import { TestDaemon } from "../../harness/daemon.ts";
import { ownPort } from "../../harness/port.ts";
import { FakeIo } from "../fake-io.ts";
import { webhookd } from "../runs.ts";
import { Listening } from "./listening.ts";

const open: Listening[] = [];
afterEach(async () => {
  for (const listening of open.splice(0)) await listening.stop().catch(() => {});
});

async function listen(daemon: TestDaemon, ...words: string[]): Promise<Listening> {
  const listening = await Listening.start(["--register", "--socket", daemon.config.server.socket, ...words]);
  open.push(listening);
  return listening;
}

async function endpoints(daemon: TestDaemon): Promise<{ id: string; url: string; events: string[] }[]> {
  return (await daemon.request("GET", "/v1/webhooks")).body.data;
}

describe("webhookd listen --register", () => {
  it("gets every event with a genuine signature, and is gone from the daemon at the end", async () => {
    const daemon = await TestDaemon.start();
    const listening = await listen(daemon);
    const [endpoint] = await endpoints(daemon);
    expect(endpoint).toMatchObject({ url: `${listening.url}/`, events: { length: BUILT_IN_TYPES.length } });
    expect(listening.io.out).toBe(
      `Listening on ${listening.url}/, registered as ${endpoint!.id} for all types. Ctrl-C stops and removes it.\n`,
    );
    const id = await daemon.publish();
    await listening.until(/-> 200/);
    expect(listening.lines[0]).toMatch(new RegExp(`✓ signature ok  ${id} budget.exceeded \\d+ B -> 200 in \\d+ ms$`));
    expect(await listening.stop()).toBe(EXIT.ok);
    expect(listening.io.out).toContain(`Removed ${endpoint!.id}.\n`);
    expect(await endpoints(daemon)).toEqual([]);
  });

  it("is removed after --once too, and not with --keep; the next run finds it and takes what waits", async () => {
    const daemon = await TestDaemon.start();
    const port = String(await ownPort());
    const kept = await listen(daemon, "--keep", "--events", "budget.exceeded", "--port", port);
    const [before] = await endpoints(daemon);
    expect(await kept.stop()).toBe(EXIT.ok);
    expect(await endpoints(daemon)).toHaveLength(1);
    const again = await listen(daemon, "--once", "--port", port);
    expect(again.io.out).toContain(`${before!.id} was left by an earlier run and is reused.\n`);
    const [after] = await endpoints(daemon);
    expect(after).toMatchObject({ id: before!.id, events: { length: BUILT_IN_TYPES.length } });
    await daemon.publish();
    expect(await again.code).toBe(EXIT.ok);
    expect(again.io.out).toContain("signature ok");
    expect(await endpoints(daemon)).toEqual([]);
  });

  it("neither changes nor removes an endpoint that somebody else registered", async () => {
    const daemon = await TestDaemon.start();
    const port = String(await ownPort());
    const theirs = await daemon.register(`http://127.0.0.1:${port}/`);
    const listening = await listen(daemon, "--port", port);
    expect(listening.io.out).toContain(
      `${theirs.id} was not registered by webhookd listen: it is used as it is, and will not be removed.`,
    );
    await daemon.publish();
    await listening.until(/signature ok/);
    await listening.stop();
    expect(await endpoints(daemon)).toMatchObject([{ id: theirs.id, events: ["budget.exceeded"] }]);
  });

  it("goes on through a rotation of its secret", async () => {
    const daemon = await TestDaemon.start();
    const listening = await listen(daemon);
    const [endpoint] = await endpoints(daemon);
    await daemon.request("POST", `/v1/webhooks/${endpoint!.id}/rotate-secret`, { overlap_seconds: 0 });
    await daemon.publish();
    await listening.until(/-> /);
    expect(listening.lines[0]).toContain("signature ok");
  });

  it("says that the daemon has to run with --dev when it refuses this machine, and leaves nothing open", async () => {
    const daemon = await TestDaemon.start({ dev: false });
    const io = new FakeIo();
    const words = ["listen", "--register", "--port", "0", "--socket", daemon.config.server.socket];
    expect(await webhookd(io, ...words)).toBe(EXIT.usage);
    expect(io.err).toMatch(
      /^webhookd: the daemon does not deliver to this machine: url: .*\n {2}Start it with `webhookd serve --dev`/,
    );
    expect([io.out, io.watchesSignals]).toEqual(["", false]);
  });

  it("passes on which event type there is not", async () => {
    const daemon = await TestDaemon.start();
    const io = new FakeIo();
    const words = ["--events", "budget.exceded", "--port", "0", "--socket", daemon.config.server.socket];
    expect(await webhookd(io, "listen", "--register", ...words)).toBe(EXIT.usage);
    expect(io.err).toContain("events[0]: ");
    expect(io.err).not.toContain("--dev");
  });

  it("says what stays behind when the daemon is gone before it", async () => {
    const daemon = await TestDaemon.start();
    const listening = await listen(daemon);
    const [endpoint] = await endpoints(daemon);
    await daemon.stop();
    expect(await listening.stop()).toBe(EXIT.unreachable);
    expect(listening.io.err).toContain(`${endpoint!.id} is still registered`);
    expect(listening.io.err).toContain(`webhookd endpoints rm ${endpoint!.id}`);
  });
});
