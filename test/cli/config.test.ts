import { execFileSync, spawnSync } from "node:child_process";
import { readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { serviceUnit, socketUnit } from "../../cli/config/units.ts";
import { ENDS_OF_SERVE, EXIT } from "../../cli/exit-code.ts";
import { DEFAULTS, nameOf, SETTINGS, settingsTexts } from "../../src/config/schema.ts";
import { aDirectory } from "../harness/daemon.ts";
import { describedDaemon } from "./described-daemon.ts";
import { FakeIo } from "./fake-io.ts";
import { webhookd } from "./runs.ts";

/** Returns a machine with real files, in a separate directory. */
function aMachine({ env = {}, file }: { env?: Record<string, string>; file?: string } = {}) {
  const cwd = aDirectory();
  if (file !== undefined) writeFileSync(join(cwd, "webhookd.toml"), file);
  const readFile = (path: string) => {
    try {
      return readFileSync(path, "utf8");
    } catch {
      return null;
    }
  };
  return { cwd, io: new FakeIo({ env, machine: { cwd, readFile } }) };
}

describe("config init", () => {
  it("writes the example, which then is what holds", async () => {
    const { cwd, io } = aMachine();
    expect(await webhookd(io, "config", "init")).toBe(EXIT.ok);
    const file = join(cwd, "webhookd.toml");
    expect(readFileSync(file, "utf8")).toBe(readFileSync("config.example.toml", "utf8"));
    expect(statSync(file).mode & 0o777).toBe(0o644);
    expect(io.out).toContain(`Next: webhookd config check ${file}`);
    expect(await webhookd(io, "config", "check")).toBe(EXIT.ok);
  });

  it("replaces a file only when it is told to", async () => {
    const { cwd, io } = aMachine({ file: "mine" });
    expect(await webhookd(io, "config", "init")).toBe(EXIT.conflict);
    expect(io.err).toContain("--force");
    expect(readFileSync(join(cwd, "webhookd.toml"), "utf8")).toBe("mine");
    expect(await webhookd(io, "config", "init", "--force")).toBe(EXIT.ok);
    expect(readFileSync(join(cwd, "webhookd.toml"), "utf8")).not.toBe("mine");
  });

  it("prints when the file is -", async () => {
    for (const [kind, text] of [
      [[], readFileSync("config.example.toml", "utf8")],
      [["--systemd"], serviceUnit("/usr/local/bin/webhookd")],
    ] as const) {
      const { cwd, io } = aMachine();
      expect(await webhookd(io, "config", "init", ...kind, "--path", "-")).toBe(EXIT.ok);
      expect([io.out, readdirSync(cwd)]).toEqual([text, []]);
    }
  });

  it("says why a file cannot be written", async () => {
    const { io } = aMachine();
    expect(await webhookd(io, "config", "init", "--path", "no/such/folder")).toBe(EXIT.refused);
    expect(io.err).toMatch(/cannot be written \(ENOENT\)\n.*--path/);
  });

  it("prints a unit, or writes it", async () => {
    const { cwd, io } = aMachine();
    expect(await webhookd(io, "config", "init", "--systemd")).toBe(EXIT.ok);
    expect(io.out).toBe(serviceUnit("/usr/local/bin/webhookd"));
    expect(await webhookd(io, "config", "init", "--systemd-socket", "--path", "webhookd.socket")).toBe(EXIT.ok);
    expect(readFileSync(join(cwd, "webhookd.socket"), "utf8")).toContain("\nListenStream=127.0.0.1:8420\n");
    expect(await webhookd(io, "config", "init", "--systemd", "--systemd-socket")).toBe(EXIT.usage);
  });
});

describe("the units", () => {
  const missing = spawnSync("systemd-analyze", ["--version"]).error !== undefined;
  if (missing) console.warn("SKIPPED: systemd-analyze is not installed, so the units are not verified");

  const written = () => {
    const dir = aDirectory();
    // systemd-analyze also checks that the program exists.
    writeFileSync(join(dir, "webhookd.service"), serviceUnit("/bin/true"));
    writeFileSync(join(dir, "webhookd.socket"), socketUnit(DEFAULTS["server.listen"]));
    return dir;
  };

  it.skipIf(missing)("are accepted by systemd-analyze verify, without a warning", () => {
    const units = ["./webhookd.service", "./webhookd.socket"];
    const { status, stdout, stderr } = spawnSync("systemd-analyze", ["verify", "--man=no", ...units], {
      cwd: written(),
      encoding: "utf8",
    });
    const [, version] = /^systemd (\d+)/.exec(execFileSync("systemd-analyze", ["--version"], { encoding: "utf8" }))!;
    // The settings that make the pause grow are newer than some versions of systemd, which ignore them.
    const isPassedOver = (line: string) =>
      Number(version) < 254 && /Unknown key (name )?'(RestartSteps|RestartMaxDelaySec)' in section/.test(line);
    const ours = `${stdout}${stderr}`.split("\n").filter((line) => line.includes("webhookd") && !isPassedOver(line));
    expect([status, ours]).toEqual([0, []]);
  });

  it.skipIf(missing)("leave the service an exposure under 2.5", () => {
    const told = execFileSync("systemd-analyze", ["security", "--offline=true", "./webhookd.service"], {
      cwd: written(),
      encoding: "utf8",
    });
    const [, exposure] = /Overall exposure level for webhookd\.service: ([\d.]+)/.exec(told)!;
    console.info(`systemd-analyze security: ${exposure}`);
    expect(Number(exposure)).toBeLessThan(2.5);
  });

  it.each([
    ["refused", "starts again"],
    ["usage", "stays down"],
    ["data_corrupt", "stays down"],
    ["bug", "starts again"],
    ["storage_failed", "starts again"],
    ["data_held", "starts again"],
    ["sigint", "stays down"],
    ["sigterm", "stays down"],
  ] as const)("leave a daemon that ended with %s so that it %s", (end, then) => {
    const [, codes] = /\nRestartPreventExitStatus=(.+)\n/.exec(serviceUnit("/x"))!;
    expect(codes!.split(" ").includes(String(EXIT[end])) ? "stays down" : "starts again").toBe(then);
  });

  it("never give up, and wait longer each time where systemd can", () => {
    const [unit, service] = serviceUnit("/x").split("[Service]");
    expect(unit).toContain("\nStartLimitIntervalSec=0\n");
    expect(service).toContain("\nRestart=on-failure\nRestartSec=1\n");
    expect(service).toContain("\nRestartSteps=6\nRestartMaxDelaySec=60\n");
  });

  it("do what the runbook says of each exit code", () => {
    const [, section] = readFileSync("docs/runbook.md", "utf8").split("## It does not start");
    const rows = [...section!.matchAll(/^\| (\d+) \| (yes|no) \|/gm)].map(([, code, answer]) => [Number(code), answer]);
    const table = Object.entries(ENDS_OF_SERVE).map(([end, { again }]) => [
      EXIT[end as keyof typeof EXIT],
      again ? "yes" : "no",
    ]);
    expect(new Map(rows as [number, string][])).toEqual(new Map(table as [number, string][]));
  });
});

describe("config check", () => {
  it("says every mistake with its line and the nearest name", async () => {
    const file = ["[server]", 'listne = "127.0.0.1:1"', "[retry]", 'timeout = "soon"', "[sever]", 'listen = "x"'];
    const { io } = aMachine({ file: file.join("\n"), env: { WEBHOOKD_LOG_LEVL: "debug" } });
    expect(await webhookd(io, "config", "check")).toBe(EXIT.answer_is_no);
    expect(io.err).toBe("");
    expect(io.out).toContain("webhookd.toml:2: [server] listne is unknown.\n  Did you mean listen?\n");
    expect(io.out).toContain('webhookd.toml:4: [retry] timeout = "soon" is not a duration');
    expect(io.out).toContain("webhookd.toml:5: [sever] is unknown.\n  Did you mean [server]?\n");
    expect(io.out).toContain("WEBHOOKD_LOG_LEVL: [log] levl is unknown.\n  Did you mean level?\n");
  });

  it.each([
    ["[alerts] secret", '[alerts]\nurl = "https://hooks.slack.com/x"\nsecret = "seven"\n'],
    [
      "webhookd.toml:3: [alerts] secret_file",
      '[alerts]\nurl = "https://hooks.slack.com/x"\nsecret_file = "/nonexistent"\n',
    ],
    ["[alerts] slack_url", '[alerts]\nslack_url = "https://10.0.0.1/x"\n'],
    ["[alerts] smtp_url", '[alerts]\nsmtp_url = "mail.example"\n'],
    ["[[event_types]]", '[[event_types]]\nname = "a.b"\nschema = { type = 7 }\n'],
    ["[server] tls_cert", '[server]\ntls_cert = "/nonexistent"\ntls_key = "/nonexistent"\n'],
  ])("says what serve would refuse of %s", async (where, file) => {
    const { io } = aMachine({ file });
    expect(await webhookd(io, "config", "check")).toBe(EXIT.answer_is_no);
    expect(io.out).toContain(`${where}: `);
  });

  it("names each part that serve would refuse, not only the first", async () => {
    const type = '[[event_types]]\nname = "a.b"\nschema = { type = 7 }\n';
    const { io } = aMachine({ file: `[alerts]\nslack_url = "https://10.0.0.1/x"\n${type}` });
    expect(await webhookd(io, "config", "check", "--json")).toBe(EXIT.answer_is_no);
    const { mistakes } = JSON.parse(io.out) as { mistakes: { where: string }[] };
    expect(mistakes.map(({ where }) => where)).toEqual(["[[event_types]]", "[alerts] slack_url"]);
  });

  it("says in one run what is wrong by itself, together with others, and with what is named", async () => {
    const file = `
      [server]
      listen = "0.0.0.0:8420"
      [retry]
      timeout = "soon"
      [alerts]
      slack_url = "https://10.0.0.1/x"
      url = "https://hooks.slack.com/x"
      smtp_url = "smtp://mail.example"`;
    const { io } = aMachine({ file });
    expect(await webhookd(io, "config", "check", "--json")).toBe(EXIT.answer_is_no);
    const { mistakes } = JSON.parse(io.out) as { mistakes: { where: string }[] };
    expect(mistakes.map(({ where }) => where)).toEqual([
      "webhookd.toml:5",
      "webhookd.toml:3",
      "[alerts] slack_url",
      "[alerts] mail_from",
      "[alerts] mail_to",
      "[alerts] secret",
    ]);
  });

  it.each([
    ["a section that cannot be read", "[server]\nlisten = '0.0.0.0:1'\n[sever]\nbehind_proxy = true"],
    ["a name", "[server]\ntls_cert = '/a'\ntls_kye = '/b'"],
    ["a place", "tls_key = '/b'\n[server]\ntls_cert = '/a'"],
    ["a value", "[server]\nmax_event_bytes = '1MiB'\n[limits]\nin_flight_bytes = 'much'"],
    ["what alerts may reach", "[egress]\nports = [70000]\n[alerts]\nslack_url = 'https://a.example:9/'"],
    ["a pair of which half is missing", "[server]\ntls_cert = '/a'"],
    ["the whole file", "[server]\nlisten = '0.0.0.0:1'\n["],
  ])("says nothing that may be so only because of a mistake in %s", async (_, file) => {
    const { io } = aMachine({ file, env: { WEBHOOKD_BACKUP_EVERY: "1d" } });
    expect(await webhookd(io, "config", "check", "--json")).toBe(EXIT.answer_is_no);
    expect(JSON.parse(io.out).mistakes).toHaveLength(1);
  });

  it("checks the file that it is given, and says so when there is none", async () => {
    const { cwd, io } = aMachine({ file: "broken" });
    writeFileSync(join(cwd, "other.toml"), '[retry]\ntimeout = "5s"\n');
    expect(await webhookd(io, "config", "check", "other.toml")).toBe(EXIT.ok);
    expect(io.out).toContain("Receivers have 5s to answer; the specification says 10s.");
    expect(await webhookd(io, "config", "check", "none.toml")).toBe(EXIT.answer_is_no);
    expect(io.out).toContain("there is no file");
  });

  it("names the variables that win over the file", async () => {
    const { io } = aMachine({ env: { WEBHOOKD_LOG_LEVEL: "debug" } });
    expect(await webhookd(io, "config", "check", "--json")).toBe(EXIT.ok);
    expect(JSON.parse(io.out)).toMatchObject({ ok: true, file: null, variables: ["WEBHOOKD_LOG_LEVEL"] });
  });

  it("answers in JSON too when the answer is no", async () => {
    const { io } = aMachine({ file: "[server]\nlisten = 1\n" });
    expect(await webhookd(io, "config", "check", "--json")).toBe(EXIT.answer_is_no);
    expect(JSON.parse(io.out)).toMatchObject({ ok: false, mistakes: [{ where: "webhookd.toml:2" }] });
  });
});

describe("config show", () => {
  it("shows every setting, with the places that were chosen, as a file that means the same", async () => {
    const { cwd, io } = aMachine({ file: '[log]\nlevel = "debug"\n' });
    expect(await webhookd(io, "config", "show")).toBe(EXIT.ok);
    for (const setting of SETTINGS) expect(io.out, nameOf(setting)).toMatch(new RegExp(`^${setting.key} = `, "m"));
    expect(io.out).toContain('dir = "/home/ana/.local/share/webhookd"');
    expect(io.out).toContain('level = "debug"');
    writeFileSync(join(cwd, "webhookd.toml"), io.out);
    const again = new FakeIo({ machine: { cwd, readFile: () => io.out } });
    expect(await webhookd(again, "config", "show")).toBe(EXIT.ok);
    expect(again.out).toBe(io.out);
  });

  it("says where each was given", async () => {
    const { cwd, io } = aMachine({ file: '[log]\nlevel = "debug"\n', env: { WEBHOOKD_SERVER_RATE_LIMIT: "5" } });
    expect(await webhookd(io, "config", "show", "--origin")).toBe(EXIT.ok);
    expect(io.out).toMatch(/^level = "debug" +# webhookd\.toml:2$/m);
    expect(io.out).toMatch(/^rate_limit = 5 +# WEBHOOKD_SERVER_RATE_LIMIT$/m);
    expect(io.out).toMatch(/^keep = 7 +# default$/m);
    const json = new FakeIo({ env: { ...io.env } as Record<string, string>, machine: { cwd, readFile: () => null } });
    await webhookd(json, "config", "show", "--json");
    expect(JSON.parse(json.out).settings["server.rate_limit"]).toEqual({
      value: 5,
      origin: "WEBHOOKD_SERVER_RATE_LIMIT",
    });
  });

  it("shows nothing of an address by which somebody could post", async () => {
    const env = { WEBHOOKD_ALERTS_URL: "https://user:pass@hooks.example.com/services/T0/B0/sesame?token=letmein" };
    for (const words of [["--origin"], ["--json"]]) {
      const { io } = aMachine({ env });
      expect(await webhookd(io, "config", "show", ...words)).toBe(EXIT.ok);
      expect(io.out).toContain("https://hooks.example.com/");
      expect(io.out).not.toMatch(/pass|sesame|letmein/);
    }
  });

  it("ends with what single tenants may take, as a file that means the same", async () => {
    const file = '[tenants."a.b"]\nweight = 2\n\n[tenants.acme]\nrate_per_second = 500\nmax_pending = 0\n';
    const { cwd, io } = aMachine({ file });
    expect(await webhookd(io, "config", "show")).toBe(EXIT.ok);
    const tenants = [
      '[tenants."a.b"]\nweight = 2\n',
      "[tenants.acme]\nweight = 1\nrate_per_second = 500\nmax_pending = 0\n",
    ];
    expect(io.out).toContain(`\n\n${tenants.join("\n")}`);
    writeFileSync(join(cwd, "webhookd.toml"), io.out);
    const again = new FakeIo({ machine: { cwd, readFile: () => io.out } });
    expect(await webhookd(again, "config", "show")).toBe(EXIT.ok);
    expect(again.out).toBe(io.out);
    const json = new FakeIo({ machine: { cwd, readFile: () => file } });
    await webhookd(json, "config", "show", "--json");
    expect(JSON.parse(json.out).tenants["a.b"]).toEqual({ weight: 2, rate_per_second: null, max_pending: null });
  });
});

describe("config show --running", () => {
  const started = { weight: 2, rate_per_second: null, max_pending: null };
  const settings = Object.fromEntries(
    Object.entries(settingsTexts(DEFAULTS)).map(([name, text]) => [name, JSON.parse(text) as unknown]),
  );

  async function shown(file: string, running: object, ...words: string[]) {
    const daemon = await describedDaemon({ answers: { getConfiguration: running } });
    const { io } = aMachine({ file });
    const code = await webhookd(io, "config", "show", "--running", "--socket", daemon.socket, ...words);
    expect([code, daemon.asked()]).toEqual([EXIT.ok, ["getConfiguration"]]);
    return io;
  }

  it("says where the file says something else by now, and what takes it", async () => {
    const file = '[log]\nlevel = "debug"\n[delivery]\nthreads = 0\n[tenants.acme]\nweight = 3\n[tenants.new]\n';
    const running = { settings: { ...settings, "retry.timeout": "5s" }, tenants: { acme: started, old: started } };
    const io = await shown(file, running);
    expect(io.out).toMatch(/^level = "info" +# webhookd\.toml:2 says "debug"; SIGHUP takes it$/m);
    expect(io.out).toMatch(/^threads = 1 +# webhookd\.toml:4 says 0; a restart takes it$/m);
    expect(io.out).toMatch(/^timeout = "5s" +# the default is "10s"; a restart takes it$/m);
    expect(io.out).toMatch(/^\[tenants\.acme\] +# the file says \{"weight":3.*; SIGHUP takes it\nweight = 2$/m);
    expect(io.out).toMatch(/^\[tenants\.new\] +# the file says /m);
    expect(io.out).toMatch(/^\[tenants\.old\] +# the file says nothing; SIGHUP takes it$/m);
    expect(io.err).toMatch(/^Compared with \S+webhookd\.toml: \d+ different, marked above\.$/m);
  });

  it("says the same as JSON", async () => {
    const io = await shown('[log]\nlevel = "debug"\n', { settings: { "log.level": "info" }, tenants: {} }, "--json");
    expect(JSON.parse(io.out)).toEqual({
      settings: { "log.level": "info" },
      tenants: {},
      differs: [{ name: "log.level", file: "debug", live: true }],
    });
  });
});
