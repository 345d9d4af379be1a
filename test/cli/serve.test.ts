import { describe, expect, it } from "vitest";
import type { ArgsOf } from "../../cli/command.ts";
import { EXIT } from "../../cli/exit-code.ts";
import { report } from "../../cli/failure.ts";
import { parse } from "../../cli/front/parse.ts";
import { runServe, serve as command } from "../../cli/daemon/serve.ts";
import type { Config, Reread } from "../../src/config.ts";
import type { Daemon, startDaemon } from "../../src/daemon.ts";
import { StoreDamaged, StoreRefused } from "../../src/store/files/refused.ts";
import { FakeIo } from "./fake-io.ts";

type Start = typeof startDaemon;

/** A daemon that records its calls and ends when the test says so. */
function fakeDaemon(created = false) {
  const calls: string[] = [];
  const rereads: Reread[] = [];
  const [stopped, failed, started] = [
    Promise.withResolvers<void>(),
    Promise.withResolvers<Error>(),
    Promise.withResolvers<Config>(),
  ];
  const daemon: Daemon = {
    url: "http://127.0.0.1:8420",
    socket: "unix:/d/webhookd.sock",
    created,
    adminKeyFile: created ? "/d/admin.key" : null,
    idle: () => Promise.resolve(),
    tick: () => Promise.resolve(),
    reload: async (reread) => void rereads.push(reread),
    stop: () => (calls.push("stop"), stopped.promise),
    abort: () => void calls.push("abort"),
    failed: failed.promise,
  };
  const start: Start = async (config) => {
    started.resolve(config);
    return daemon;
  };
  return { calls, rereads, stopped, failed, started: started.promise, start };
}

/** Runs `webhookd serve` and returns the exit code of the process. */
function serve(io: FakeIo, start: Start, ...words: string[]): Promise<number> {
  const attempt = async () => {
    const args = parse("webhookd serve", command.args, words) as ArgsOf<typeof command.args>;
    return runServe(args, io, async () => start);
  };
  return attempt().catch((error: unknown) => report(error, io, false));
}

/** Waits until the daemon has started and its command waits for signals. */
async function turns(): Promise<void> {
  for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => setImmediate(resolve));
}

describe("webhookd serve", () => {
  it("stops at the first signal and exits 0", async () => {
    const [io, daemon] = [new FakeIo(), fakeDaemon()];
    const code = serve(io, daemon.start);
    await daemon.started;
    await turns();
    expect(daemon.calls).toEqual([]);
    io.signal("SIGTERM");
    await turns();
    expect(daemon.calls).toEqual(["stop"]);
    daemon.stopped.resolve();
    expect(await code).toBe(EXIT.ok);
    expect(io.watchesSignals).toBe(false);
  });

  it("starts again in place, on the same port and not paused anew, when the database must be mended", async () => {
    const [io, first, second] = [new FakeIo(), fakeDaemon(), fakeDaemon()];
    const starts: Config[] = [];
    const start: Start = async (config, parts) => {
      starts.push(config);
      return starts.length === 1 ? first.start(config, parts) : second.start(config, parts);
    };
    const code = serve(io, start, "--listen", "127.0.0.1:0", "--paused");
    await first.started;
    // In a FakeIo every deadline has passed after one turn, so the stop is resolved before the failure.
    first.stopped.resolve();
    first.failed.resolve(new StoreDamaged("/d/webhookd.db", new Error("database disk image is malformed")));
    const again = await second.started;
    expect(first.calls).toEqual(["stop"]);
    expect(again).toMatchObject({ paused: false, server: { listen: { port: 8420 } } });
    await turns();
    io.signal("SIGTERM");
    second.stopped.resolve();
    expect(await code).toBe(EXIT.ok);
    expect(second.calls).toEqual(["stop"]);
  });

  it("ends with 74, and says that the next start mends it, when it cannot start again in place", async () => {
    const [io, daemon] = [new FakeIo(), fakeDaemon()];
    const code = serve(io, daemon.start);
    await daemon.started;
    daemon.failed.resolve(new StoreDamaged("/d/webhookd.db", new Error("database disk image is malformed")));
    expect(await code).toBe(EXIT.storage_failed);
    expect(io.err).toContain("/d/webhookd.db is damaged: database disk image is malformed");
    expect(io.err).toContain("Start it again");
  });

  it.each([
    ["SIGINT", EXIT.sigint],
    ["SIGTERM", EXIT.sigterm],
  ] as const)("aborts at the second signal: %s exits %s, even if the daemon hangs", async (signal, exit) => {
    const [io, daemon] = [new FakeIo(), fakeDaemon()];
    const code = serve(io, daemon.start);
    await daemon.started;
    await turns();
    io.signal("SIGTERM");
    io.signal(signal);
    const abortedAt = io.monotonic();
    expect(await code).toBe(exit);
    expect(daemon.calls).toEqual(["stop", "abort"]);
    expect(io.monotonic() - abortedAt).toBe(1000);
  });

  it("takes a signal that comes twice at once, as under npm, for one", async () => {
    const [io, daemon] = [new FakeIo(), fakeDaemon()];
    const code = serve(io, daemon.start);
    await daemon.started;
    await turns();
    io.signal("SIGINT", { echoes: 1 });
    await turns();
    expect(daemon.calls).toEqual(["stop"]);
    io.signal("SIGINT");
    expect(await code).toBe(EXIT.sigint);
  });

  it("ends on the spot at the third", async () => {
    const [io, daemon] = [new FakeIo(), fakeDaemon()];
    const code = serve(io, daemon.start);
    await daemon.started;
    await turns();
    for (const signal of ["SIGINT", "SIGINT", "SIGINT"] as const) io.signal(signal);
    expect(io.exits).toEqual([EXIT.sigint]);
    await code;
  });

  it("that is still starting stops once it has started, or ends on the spot at the second signal", async () => {
    const [io, daemon] = [new FakeIo(), fakeDaemon()];
    const gate = Promise.withResolvers<void>();
    const code = serve(io, async (config, parts) => (await gate.promise, daemon.start(config, parts)));
    await turns();
    io.signal("SIGTERM");
    expect(io.exits).toEqual([]);
    io.signal("SIGTERM");
    expect(io.exits).toEqual([EXIT.sigterm]);
    gate.resolve();
    daemon.stopped.resolve();
    expect(await code).toBe(EXIT.ok);
    expect(daemon.calls).toEqual(["stop"]);
  });

  it.each([
    ["its disk", new Error("disk I/O error"), EXIT.storage_failed],
    ["a mistake in the program", new TypeError("x is not a function"), EXIT.bug],
    ["what names its own code", new StoreRefused(65, "corrupt", "restore"), EXIT.data_corrupt],
  ])("ends when the daemon cannot go on for %s", async (_, error, exit) => {
    const [io, daemon] = [new FakeIo(), fakeDaemon()];
    const code = serve(io, daemon.start);
    await daemon.started;
    daemon.failed.resolve(error);
    expect(await code).toBe(exit);
    expect(daemon.calls).toEqual(["abort", "stop"]);
    expect(io.err).toContain(error.message);
  });

  it.each([1, 65, 74, 75] as const)("exits %s when the store is refused so", async (exitCode) => {
    const io = new FakeIo();
    const start: Start = () => Promise.reject(new StoreRefused(exitCode, "the store \x1b[0m", "type this"));
    expect(await serve(io, start)).toBe(exitCode);
    expect(io.err).toBe("webhookd: the store <U+001B>[0m\n  type this\n");
  });

  it("exits 1 when it cannot listen, and 2 for a wrong configuration, naming every mistake", async () => {
    const io = new FakeIo();
    const refusal = Object.assign(new Error("cannot listen on 127.0.0.1:1"), { name: "ListenError" });
    expect(await serve(io, () => Promise.reject(refusal))).toBe(EXIT.refused);
    const wrong = new FakeIo({ env: { WEBHOOKD_RETRY_TIMEOT: "1s" } });
    expect(await serve(wrong, fakeDaemon().start, "--listen", "x", "--log-level", "loud")).toBe(EXIT.usage);
    expect(wrong.err.match(/^webhookd: /gm)).toHaveLength(3);
    expect(wrong.err).toContain("webhookd: --listen: [server] listen");
  });

  async function startedWith(io: FakeIo, created: boolean, ...words: string[]): Promise<Config> {
    const daemon = fakeDaemon(created);
    const code = serve(io, daemon.start, ...words);
    const config = await daemon.started;
    await turns();
    io.signal("SIGTERM");
    daemon.stopped.resolve();
    expect(await code).toBe(EXIT.ok);
    return config;
  }

  it("gives its flags to the configuration", async () => {
    const words = ["--listen=127.0.0.1:1", "--data-dir=d", "--socket=s", "--log-level=debug", "--log-format=json"];
    const config = await startedWith(new FakeIo(), false, ...words, "--dev", "--no-create", "--no-migrate");
    expect(config).toMatchObject({
      server: { listen: { host: "127.0.0.1", port: 1 }, socket: "/srv/app/s" },
      data: { dir: "/srv/app/d", create: false, migrate: false },
      log: { level: "debug", format: "json" },
      dev: true,
    });
  });

  it("writes JSON lines where no person reads, and says how it departs from the specification", async () => {
    const io = new FakeIo({ env: { WEBHOOKD_RETRY_TIMEOUT: "1s" } });
    await startedWith(io, true);
    const lines = io.out
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line) as { msg: string; level: string; file?: string });
    expect(lines.map(({ msg, file }) => file ?? msg)).toEqual([
      "Receivers have 1s to answer; the specification says 10s.",
      "/d/admin.key",
      "/home/ana/.local/share/webhookd/secret.key",
      "next steps",
    ]);
  });

  it("shows a person on a terminal where everything is and what to type next", async () => {
    const io = new FakeIo({ isTTY: true });
    await startedWith(io, true, "--data-dir", "/it's here");
    expect(io.out).toContain("key     /d/admin.key");
    expect(io.out).toContain(
      "Copy /it's here/secret.key off this host: without it, or a backup made with --seal-with,",
    );
    const [, next = ""] = io.out.split("Next, in another terminal:\n");
    expect(next.split("\n").filter((line) => line.startsWith("  "))).toHaveLength(4);
    expect(next).toContain("keys create --name app --scope publish,read --socket /d/webhookd.sock\n");
    const again = new FakeIo({ isTTY: true });
    await startedWith(again, false);
    expect(again.out).not.toContain("Copy");
    expect(again.out).toContain("keys create --name app --scope publish,read\n");
  });

  it.each([
    ["/srv/app", "scripts/webhookd", " and in this folder"],
    ["/srv/other", "/srv/app/scripts/webhookd", ""],
    [null, "webhookd", ""],
  ])("with --dev gives the commands of a first run, as they are called there: %s", async (where, program, folder) => {
    const checkout = where === null ? null : "/srv/app/";
    const io = new FakeIo({ isTTY: true, machine: { cwd: where ?? "/srv/app", checkout } });
    await startedWith(io, true, "--dev");
    const steps = ["listen --register", "trigger budget.exceeded", "tui"].map((words) => `  ${program} ${words}\n`);
    expect(io.out).toContain(`Next, in another terminal${folder}:\n${steps.join("")}Ctrl-C`);
    const named = new FakeIo({ isTTY: true });
    await startedWith(named, true, "--dev", "--socket", "/it's/s");
    expect(named.out).toContain("  webhookd listen --register --socket /d/webhookd.sock\n");
  });

  describe("at SIGHUP", () => {
    const files: Record<string, string> = {};
    const lines = (io: FakeIo) => io.out.split("\n").flatMap((line) => (line === "" ? [] : [JSON.parse(line)]));

    async function running(toml: string, ...words: string[]) {
      files["/srv/app/webhookd.toml"] = toml;
      const [io, daemon] = [new FakeIo({ machine: { readFile: (path) => files[path] ?? null } }), fakeDaemon()];
      const code = serve(io, daemon.start, ...words);
      await daemon.started;
      await turns();
      const end = async () => {
        io.signal("SIGTERM");
        daemon.stopped.resolve();
        expect(await code).toBe(EXIT.ok);
      };
      return { io, daemon, end };
    }

    it("reads the file again, gives the daemon what changed, and takes up the log's level", async () => {
      const { io, daemon, end } = await running('[log]\nlevel = "error"\n', "--listen=127.0.0.1:5");
      files["/srv/app/webhookd.toml"] =
        '[log]\nlevel = "debug"\n[server]\nlisten = "127.0.0.1:6"\n[limits]\ncommit_queue = 5\n';
      io.hangUp();
      io.hangUp();
      await turns();
      const [first, second] = daemon.rereads;
      // The flag still takes precedence over the file.
      expect(first).toMatchObject({ changed: ["log.level"], needsRestart: ["limits.commit_queue"] });
      expect(first!.config).toMatchObject({ log: { level: "debug" }, limits: { commitQueue: 2000 } });
      // A setting that waits for a restart is reported again, and one that was applied is not.
      expect(second).toMatchObject({ changed: [], needsRestart: ["limits.commit_queue"] });
      await end();
    });

    it("says that endpoints may now be plain http", async () => {
      const { io, end } = await running("");
      files["/srv/app/webhookd.toml"] = "[egress]\nallow_http = true\n";
      io.hangUp();
      await turns();
      expect(lines(io)).toMatchObject([
        { level: "warn", msg: "Endpoints may use plain http; the specification says https only." },
      ]);
      await end();
    });

    it("keeps what it has when the file that it found at the start is gone", async () => {
      const { io, daemon, end } = await running('[retention]\ndelivered = "400d"\n');
      delete files["/srv/app/webhookd.toml"];
      io.hangUp();
      await turns();
      expect(daemon.rereads).toEqual([]);
      const [line] = lines(io);
      expect(line).toMatchObject({ level: "error", msg: expect.stringContaining("nothing was changed") });
      expect(line.mistakes).toEqual([expect.stringMatching(/^\/srv\/app\/webhookd\.toml: .*Put it back/)]);
      await end();
    });

    it("keeps what it has when the file has mistakes, and names them all", async () => {
      const { io, daemon, end } = await running("");
      files["/srv/app/webhookd.toml"] = '[log]\nlevle = "debug"\n[server]\nlisten = "0.0.0.0:1"\n';
      io.hangUp();
      await turns();
      expect(daemon.rereads).toEqual([]);
      const [line] = lines(io);
      expect(line).toMatchObject({ level: "error", msg: expect.stringContaining("nothing was changed") });
      expect(line.mistakes[0]).toContain("webhookd.toml:2: [log] levle");
      await end();
    });
  });
});
