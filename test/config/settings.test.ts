import { readFileSync } from "node:fs";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { FORMATS } from "../../src/domain/endpoints/further-signature.ts";
import { ConfigError } from "../../src/config/mistake.ts";
import { renderConfig } from "../../cli/config/example.ts";
import { KINDS, type KindName } from "../../src/config/kinds.ts";
import { DEFAULTS, nameOf, SETTINGS, variableOf, type Setting, type Settings } from "../../src/config/schema.ts";
import { loadSettings } from "../../src/config/settings.ts";
import { inputs } from "./inputs.ts";

const FILE = "/srv/app/webhookd.toml";

function withFile(text: string) {
  return inputs({ files: { [FILE]: text } });
}

function mistakesOf(run: () => unknown): string {
  try {
    run();
  } catch (error) {
    if (error instanceof ConfigError) return error.message;
    throw error;
  }
  return "";
}

describe("config.example.toml", () => {
  it("is the schema with its defaults (vitest -u writes it)", async () => {
    await expect(renderConfig(DEFAULTS)).toMatchFileSnapshot("../../config.example.toml");
  });

  it("changes nothing when it is used as the configuration", () => {
    expect(loadSettings(withFile(renderConfig(DEFAULTS))).settings).toEqual(DEFAULTS);
  });

  it("holds with all that is commented out in it", () => {
    const whole = renderConfig(DEFAULTS).replaceAll(/^# (?=\[|\w+ = )/gm, "");
    const { also, eventTypes, egressTenants, tenants, outboxes } = loadSettings(withFile(whole));
    expect([eventTypes.length, egressTenants.length, [...tenants.keys()]]).toEqual([1, 1, ["acme"]]);
    expect(outboxes.map(({ name }) => name)).toEqual(["shop"]);
    expect(also.map(({ name }) => name)).toEqual(["stripe"]);
  });

  it("agrees with docs/configuration.md on what SIGHUP takes up", () => {
    const [, page] = /^(Re-read on SIGHUP[^]*?)\n\n/m.exec(readFileSync("docs/configuration.md", "utf8")) ?? [];
    // A section on the page means all of its settings, except for those that the page names as well.
    const isNamed = ({ section, key }: Setting) =>
      page!.includes(`\`[${section}]\``) !==
      (page!.includes(`\`[${section}] ${key}\``) || page!.includes(`\`${key}\``));
    const all: readonly Setting[] = SETTINGS;
    expect(all.filter(isNamed).map(nameOf)).toEqual(all.filter((setting) => "live" in setting).map(nameOf));
  });

  it("shows how to add an event type", () => {
    const [, example] = renderConfig(DEFAULTS).split("# [[event_types]]");
    const { eventTypes } = loadSettings(withFile(`[[event_types]]${example!.replaceAll("\n# ", "\n")}`));
    expect(eventTypes).toEqual([
      {
        name: "order.created",
        description: "An order was placed.",
        source: "example",
        sample: { order_id: "ord_1", total: "12.50" },
        schema: { type: "object", required: ["order_id"], properties: { order_id: { type: "string" } } },
      },
    ]);
  });

  it("shows every default as the schema has it", () => {
    for (const setting of SETTINGS) {
      const shown = KINDS[setting.kind].write as (value: unknown) => string;
      expect(shown(DEFAULTS[nameOf(setting)]).replaceAll(", ", ",")).toBe(JSON.stringify(setting.default));
    }
  });
});

describe("a file with any settings", () => {
  const ip = fc.oneof(fc.ipV4(), fc.ipV6());
  const number = (setting: Setting) => {
    const { min = 0, max = Number.MAX_SAFE_INTEGER } = setting as { min?: number; max?: number };
    return fc.maxSafeInteger().map((any) => min + (Math.abs(any) % (max - min + 1)));
  };
  const label = fc.stringMatching(/^[a-z0-9]([a-z0-9-]{0,20}[a-z0-9])?$/);
  const text = fc.string({ unit: "grapheme" }).filter((value) => !/\p{Cc}/u.test(value));
  const kinds: Record<KindName, (setting: Setting) => fc.Arbitrary<unknown>> = {
    address: () => fc.record({ host: fc.oneof(ip, label), port: fc.nat(65_535) }),
    bool: () => fc.boolean(),
    choice: (setting) => fc.constantFrom(...(setting as { options: readonly string[] }).options),
    cidrs: () => fc.array(fc.oneof(fc.ipV4(), fc.ipV6()).map((address) => `${address}/32`)),
    color: () => fc.nat(0xffffff).map((rgb) => `#${rgb.toString(16).padStart(6, "0")}`),
    duration: number,
    durations: (setting) => fc.array(number(setting)),
    header: () => label.map((name) => `X-${name}`),
    hosts: () => fc.array(label),
    hostPatterns: () => fc.array(label.map((name) => `*.a${name}_b.internal`)),
    int: number,
    mode: () => fc.nat(0o77).map((mode) => mode << 3),
    origins: () => fc.array(label.map((name) => `https://a${name}.example:8443`)),
    pairs: () => fc.constantFrom("", "a=1", "service.namespace=shop,key=a%2Cb c=="),
    path: () => text.map((name) => (name === "" ? "" : `/${name.replaceAll(/[/.]/g, "")}x`)),
    ports: () => fc.oneof(fc.constant("any"), fc.array(fc.integer({ min: 1, max: 65_535 }), { minLength: 1 })),
    ratio: () => fc.nat(1000).map((any) => any / 1000),
    size: number,
    store: () => fc.constantFrom("", "postgres://w:x@h1:5432,h2/db?sslmode=require"),
    text: () => text,
    url: () => label.map((name) => `https://a${name}.example:8443/${name}`),
  };
  const settings = fc.record(
    Object.fromEntries(SETTINGS.map((setting) => [nameOf(setting), kinds[setting.kind](setting)])),
  ) as unknown as fc.Arbitrary<Settings>;

  it("is read back as it was written", () => {
    fc.assert(
      fc.property(settings, (any) => {
        expect(loadSettings(withFile(renderConfig(any))).settings).toEqual(any);
      }),
      { numRuns: 200, interruptAfterTimeLimit: 10_000, endOnFailure: true },
    );
  });

  it("is read the same from variables", () => {
    const env = (any: Settings) => {
      const table = renderConfig(any).matchAll(/^(\w+) = ([^\n]*)$/gm);
      const texts = [...table].map(([, , value]) => JSON.parse(value!) as unknown);
      return Object.fromEntries(SETTINGS.map((setting, index) => [variableOf(setting), String(texts[index])]));
    };
    expect(loadSettings(inputs({ env: env(DEFAULTS) })).settings).toEqual(DEFAULTS);
    fc.assert(
      fc.property(settings, (any) => {
        expect(loadSettings(inputs({ env: env(any) })).settings).toEqual(any);
      }),
      { numRuns: 100, endOnFailure: true },
    );
  });
});

describe("event types", () => {
  it("need no more than a name, and keep the order of the file", () => {
    const { eventTypes } = loadSettings(withFile('[[event_types]]\nname = "b"\n[[event_types]]\nname = "a"\n'));
    expect(eventTypes.map(({ name }) => name)).toEqual(["b", "a"]);
    const schema = { $schema: "https://json-schema.org/draft/2020-12/schema", type: "object" };
    expect(eventTypes[0]).toEqual({ name: "b", description: "", source: "example", sample: {}, schema });
  });

  it("have samples as JSON says them: a date is the text it was written as", () => {
    const text = '[[event_types]]\nname = "a"\n[event_types.sample]\non = 2026-11-20\nat = 2026-11-20T09:55:00Z\n';
    const [type] = loadSettings(withFile(text)).eventTypes;
    expect(type!.sample).toEqual({ on: "2026-11-20", at: "2026-11-20T09:55:00.000Z" });
  });
});

describe("precedence", () => {
  const files = {
    [FILE]: '[log]\nlevel = "warn"\nformat = "json"\n[server]\nlisten = "127.0.0.1:1"\n',
    "/etc/webhookd/webhookd.toml": '[endpoints]\nmax_per_tenant = 7\n[log]\nlevel = "error"\n',
    "/srv/app/other.toml": "[endpoints]\nmax_per_tenant = 8\n",
  };
  const env = { WEBHOOKD_LOG_LEVEL: "debug", WEBHOOKD_SERVER_LISTEN: "127.0.0.1:2" };

  it("is flags, variables, file, defaults", () => {
    const settings = [{ name: "server.listen", flag: "--listen", text: "127.0.0.1:3" }] as const;
    const loaded = loadSettings(inputs({ files, env, flags: { settings } }));
    expect(loaded.settings["server.listen"].port).toBe(3);
    expect(loaded.settings["log.level"]).toBe("debug");
    expect(loaded.settings["log.format"]).toBe("json");
    expect(loaded.settings["endpoints.max_per_tenant"]).toBe(10_000);
    expect(Object.fromEntries([...loaded.origins].map(([name, where]) => [name, where()]))).toEqual({
      "server.listen": "--listen",
      "log.level": "WEBHOOKD_LOG_LEVEL",
      "log.format": "webhookd.toml:3",
    });
  });

  it("reads one file: the named one, else that of the folder, else that of the system", () => {
    const { [FILE]: _, ...others } = files;
    expect(loadSettings(inputs({ files })).file).toBe(FILE);
    expect(loadSettings(inputs({ files: others })).file).toBe("/etc/webhookd/webhookd.toml");
    const named = loadSettings(inputs({ files, flags: { config: "other.toml" } }));
    expect(named.file).toBe("/srv/app/other.toml");
    expect(named.settings["endpoints.max_per_tenant"]).toBe(8);
    expect(named.settings["log.level"]).toBe("info");
  });
});

describe("mistakes", () => {
  const where: [string, string, string][] = [
    [
      "an unknown key",
      '# one\n[server]\n\nlistn = "x"\n',
      "webhookd.toml:4: [server] listn is unknown.\n  Did you mean listen?",
    ],
    [
      "a key after a list over several lines",
      '[retry]\ndelays = [\n "1s",\n]\n# x\ntimout = "1s"',
      "webhookd.toml:6: [retry] timout is unknown.\n  Did you mean timeout?",
    ],
    ["a list over several lines", '[retry]\n\ndelays = [\n "1s",\n "2x",\n]\n', "webhookd.toml:3: [retry] delays"],
    ["a dotted key", 'server.listn = "x"', "webhookd.toml:1: [server] listn"],
    [
      "an inline table",
      '\nlog = { level = "info", leevl = "x" }',
      "webhookd.toml:2: [log] leevl is unknown.\n  Did you mean level?",
    ],
    ["a key of another section", '[server]\ntimeout = "1s"', "It belongs to [retry]."],
    [
      "an unknown section",
      '[egres]\nresolver = "system"',
      "webhookd.toml:1: [egres] is unknown.\n  Did you mean [egress]?",
    ],
    [
      "a key outside the sections",
      'listen = "127.0.0.1:1"',
      "webhookd.toml:1: listen is outside of any section.\n  It belongs to [server].",
    ],
    ["a section given as a value", "server = 1", "webhookd.toml:1: server is a section, not a value."],
    [
      "an event type without a name",
      '[[event_types]]\nname = "a"\n\n[[event_types]]\ndescription = ""',
      "webhookd.toml:4: [[event_types]] needs a name",
    ],
    [
      "an unknown key of an event type",
      '[[event_types]]\nname = "a"\n[[event_types]]\nname = "b"\nsampel = {}',
      "webhookd.toml:5: [[event_types]] sampel is unknown.\n  Did you mean sample?",
    ],
    [
      "an event type that is built in",
      '[[event_types]]\n# ours\nname = "budget.exceeded"',
      'webhookd.toml:3: [[event_types]] name = "budget.exceeded" is built in and cannot be redefined.',
    ],
    [
      "an event type that is defined twice",
      '[[event_types]]\nname = "a"\n[[event_types]]\nname = "a"',
      'webhookd.toml:4: [[event_types]] name = "a" is defined twice.',
    ],
    [
      "a sample that JSON cannot hold",
      '[[event_types]]\nname = "a"\n[event_types.sample]\nn = { x = [inf] }',
      "webhookd.toml:3: [[event_types]] sample contains a number that JSON does not have",
    ],
    ["a single event type", '[event_types]\nname = "a"', "webhookd.toml:1: event_types must be a list of sections."],
    ["a misspelt list", '[[event_type]]\nname = "a"', "Did you mean [[event_types]]?"],
    ["a list of tables", "[[server]]\n", "webhookd.toml:1: server is a section"],
    ["broken TOML", "[server]\nlisten = \n", "webhookd.toml:2: is not valid TOML"],
    ["a key given twice", '[log]\nlevel = "info"\nlevel = "warn"\n', "webhookd.toml:3: is not valid TOML"],
    ["a name of Object's", "[constructor]\nx = 1\n[server]\n__proto__ = 1\n", "[server] __proto__ is unknown"],
  ];
  it.each(where)("%s is named with its line", (_, text, message) => {
    expect(mistakesOf(() => loadSettings(withFile(text)))).toContain(message);
  });

  const values: [string, string][] = [
    ['[server]\nlisten = "8420"', "an address and port"],
    ['[server]\nlisten = ":8420"', "an address and port"],
    ['[server]\nlisten = "::1:8420"', "an address and port"],
    ['[server]\nlisten = "127.0.0.1:65536"', "an address and port"],
    ['[server]\nsocket_mode = "0666"', "closed to other users"],
    ['[server]\nallowed_origins = ["https://a.example/"]', "a list of origins"],
    ['[server]\nallowed_origins = ["null"]', "a list of origins"],
    ['[server]\nmax_event_bytes = "256KB"', 'a size such as "256KiB" or "64MiB" from 1KiB to 16MiB'],
    ["[server]\nmax_event_bytes = 262144", "a size"],
    ['[server]\nmax_event_bytes = "17MiB"', "from 1KiB to 16MiB"],
    ['[server]\nbehind_proxy = "yes"', "true or false"],
    ["[retry]\ntimeout = 10", "a duration"],
    ['[retry]\ntimeout = "0s"', "from 1ms to 24h"],
    ['[retry]\ntimeout = "1.5s"', "a duration"],
    ['[retry]\ndelays = "30s"', "a list"],
    ["[limits]\ncommit_queue = 1.5", "a whole number from 1 to 100000"],
    ['[egress]\nports = ["any", "443"]', "a list of ports"],
    ["[egress]\nports = [443]", "a list of strings"],
    ["[egress]\nports = []", "a list of ports"],
    ...[
      "*",
      "*.",
      "*.*",
      "a.*",
      "*a.b",
      "**.a",
      "a b",
      "a:80",
      "https://a",
      "a/b",
      "",
      ".a",
      "a.",
      "-a",
      "é.a",
      "1.2.3",
    ].map((host): [string, string] => [`[egress]\nallow_hosts = ["${host}"]`, 'a list of host names such as "hook"']),
    ['[egress]\nallow_hosts = "hook"', "a list of strings in quotes"],
    ['[egress]\nallow_hosts = ["10.0.0.0/8"]', "addresses belong in allow_cidrs"],
    ['[egress]\nallow_hosts = ["::1"]', "addresses belong in allow_cidrs"],
    ['[egress]\nallow_hosts = ["a", "metadata.google.internal"]', "nothing allows cloud metadata services"],
    ['[egress]\nallow_cidrs = ["10.0.0.0"]', "a list of networks"],
    ['[egress]\nallow_cidrs = ["10.0.0.0/33"]', "a list of networks"],
    ['[egress]\nresolver = "dns"', 'one of "c-ares", "system"'],
    ['[signature]\nheader = "X Sig"', "a header name"],
    ['[signature]\nheader = "Content-Type"', "already"],
    ['[data]\ndir = "a\\u0000b"', "free of control characters"],
  ];
  it.each(values)("%j is refused", (text, wanted) => {
    const message = mistakesOf(() => loadSettings(withFile(text)));
    expect(message).toContain(wanted);
    expect(message).toMatch(/^webhookd\.toml:2: /);
  });

  it.each([
    ["allow_cidrs = []", 2, 'names is not a list of tenant names such as ["acme"].'],
    ['names = ["a b"]\nallow_cidrs = []', 3, "names is not a list of tenant names"],
    ['names = ["acme"]\nallow_cidrs = ["10.0.0.0"]', 4, "allow_cidrs is not a list of networks"],
    ['names = ["acme"]\nallow_cidrs = []\nallow_cidr = []', 5, "allow_cidr is unknown.\n  Did you mean allow_cidrs?"],
  ])("of [[egress.tenant]] are reported with their line: %j", (text, line, wanted) => {
    const message = mistakesOf(() => loadSettings(withFile(`[egress]\n[[egress.tenant]]\n${text}\n`)));
    expect(message).toContain(wanted);
    expect(message).toContain(`webhookd.toml:${line}: [[egress.tenant]]`);
  });

  it.each([
    ['url = "postgres://a/b"', 1, 'needs a name such as "shop"'],
    ['name = "Shop"\nurl = "postgres://a/b"', 2, 'needs a name such as "shop"'],
    ['name = "shop"', 2, "does not say where the outbox is.\n  Give one of url (PostgreSQL)"],
    ['name = "shop"\nurl = "postgres://a/b"\nsqlite = "a.db"', 4, "says more than once where the outbox is"],
    ['name = "shop"\nurl = "mysql://user:hunter2@a/b"', 3, "url is not empty, or an address such as"],
    ['name = "shop"\nsqlite = "a.db"\ntable = "a; b"', 4, "table is not a table such as"],
    ['name = "shop"\nsqlite = "a.db"\ntenant = "a b"', 4, "tenant is not the name of a tenant"],
    ['name = "shop"\nsqlite = "a.db"\ntenant = "webhookd:alerts"', 4, "tenant is not the name of a tenant"],
    ['name = "shop"\nsqlite = "a.db"\ntenant = "a"\ntenant_column = "b"', 5, "has both tenant and tenant_column"],
    ['name = "shop"\nsqlite = "a.db"\ntabel = "x"', 4, "tabel is unknown.\n  Did you mean table?"],
    ['name = "shop"\nsqlite = "a.db"\n[[outbox]]\nname = "shop"\nsqlite = "b.db"', 5, 'name = "shop" is used twice'],
  ])("of [[outbox]] are reported with their line, and without a password: %j", (text, line, wanted) => {
    const message = mistakesOf(() => loadSettings(withFile(`[[outbox]]\n${text}\n`)));
    expect(message).toContain(wanted);
    expect(message).toContain(`webhookd.toml:${line}: [[outbox]]`);
    expect(message).not.toContain("hunter2");
  });

  it("reads outboxes, with paths from the folder of the file", () => {
    const text = `[[outbox]]\nname = "one"\nsqlite = "shop.db"\n[[outbox]]\nname = "two"\nurl_file = "secret/url"\ntable = "app.events"\ntenant_column = "customer"\n`;
    const { outboxes } = loadSettings(withFile(text));
    expect(outboxes).toEqual([
      {
        name: "one",
        database: { kind: "sqlite", file: "/srv/app/shop.db" },
        table: "webhookd_outbox",
        tenant: { name: "default" },
      },
      {
        name: "two",
        database: { kind: "postgres", urlFile: "/srv/app/secret/url" },
        table: "app.events",
        tenant: { column: "customer" },
      },
    ]);
  });

  it("read the formats of other senders", () => {
    const text = `[[signature.also]]\nformat = "svix"\ntenants = ["acme"]\n[[signature.also]]\nformat = "custom"
header = "X-Acme"\nsigned = "{timestamp}.{body}"\nvalue = "t={timestamp} {signature}"\nhash = "sha512"\nkey = "base64"\n`;
    const [svix, custom] = loadSettings(withFile(text)).also;
    expect(svix).toEqual({ name: "svix", format: FORMATS.svix, tenants: ["acme"], endpoints: null });
    expect(custom!.format).toEqual({
      headers: [["X-Acme", "t={timestamp} {signature}"]],
      signed: "{timestamp}.{body}",
      entry: "{signature}",
      separator: null,
      hash: "sha512",
      encoding: "hex",
      key: "base64",
    });
  });

  it.each([
    ["", 2, "needs a format: svix, stripe, github, shopify, convoy, convoy-advanced, or custom."],
    ['format = "strype"', 3, "needs a format"],
    ['format = "stripe"\ntenants = ["a b"]', 4, 'tenants is not a list of tenant names such as ["acme"].'],
    ['format = "stripe"\nendpoints = []', 4, "endpoints is not a list of ids such as"],
    ['format = "stripe"\nheader = "X-Acme"', 4, "header is unknown"],
    ['format = "custom"', 3, "needs the name of its header"],
    ['format = "custom"\nheader = "X-Webhookd-Delivery"', 4, "header is not a different header name"],
    ['format = "custom"\nheader = "X-A"\nvalue = "{signature} {signature}"', 5, "it has {signature} twice."],
    ['format = "custom"\nheader = "Content-Type"', 4, "header is not a different header name"],
    ['format = "custom"\nheader = "X-A"\nsigned = "{id}"', 5, "signed is not a template: it must have {body}."],
    [
      'format = "custom"\nheader = "X-A"\nvalue = "{body}"',
      5,
      "value is not a template: it has {body}, which is unknown.",
    ],
    ['format = "custom"\nheader = "X-A"\nhash = "md5"', 5, 'hash is not one of "sha1", "sha256", "sha512".'],
    ['format = "stripe"\n[[signature.also]]\nformat = "stripe"', 5, "stripe has a header that stripe above has"],
  ])("of [[signature.also]] are reported with their line: %j", (text, line, wanted) => {
    const message = mistakesOf(() => loadSettings(withFile(`[signature]\n[[signature.also]]\n${text}\n`)));
    expect(message).toContain(wanted);
    expect(message).toContain(`webhookd.toml:${line}: [[signature.also]]`);
  });

  it("are [egress.tenant] in one bracket, too", () => {
    const message = mistakesOf(() => loadSettings(withFile('[egress.tenant]\nnames = ["acme"]\n')));
    expect(message).toBe(
      "webhookd.toml:1: egress.tenant must be a list of sections.\n  Write [[egress.tenant]], with double brackets, once for each entry.",
    );
  });

  it.each([
    ["[tenants.acme]\nweight = 0", 2, "[tenants.acme] weight is not a whole number from 1 to 1000."],
    ["[tenants.acme]\nweight = 1\nrate_per_second = -1", 3, "[tenants.acme] rate_per_second is not a whole number"],
    ["[tenants.acme]\nmax_pending = 1.5", 2, "[tenants.acme] max_pending is not a whole number"],
    [
      "[tenants.acme]\nrate_per_secnd = 1",
      2,
      "[tenants.acme] rate_per_secnd is unknown.\n  Did you mean rate_per_second?",
    ],
    ["[tenants.acme]\nx = 1", 2, "Its fields are weight, rate_per_second, and max_pending."],
    ["[tenants.'a b']\nweight = 1", 1, "[tenants.a b] is not the name of a tenant."],
    ["[tenants]\nweight = 1", 2, "[tenants] weight is unknown.\n  Write [tenants.NAME], with the name of the tenant."],
    ["tenants = 1", 1, "tenants must have sections."],
    ["[tenant.acme]\nweight = 1", 1, "Did you mean [tenants]?"],
  ])("of [tenants.NAME] are reported with their line: %j", (text, line, wanted) => {
    const message = mistakesOf(() => loadSettings(withFile(text)));
    expect(message).toContain(wanted);
    expect(message).toContain(`webhookd.toml:${line}: `);
  });

  it("are all reported at once", () => {
    const message = mistakesOf(() =>
      loadSettings(
        inputs({ files: { [FILE]: "[log]\nlevel = 1\nformat = 2\n" }, env: { WEBHOOKD_RETRY_TIMEOUT: "x" } }),
      ),
    );
    expect(message.match(/ is not /g)).toHaveLength(3);
  });

  it("of a variable or a flag are named by it", () => {
    expect(mistakesOf(() => loadSettings(inputs({ env: { WEBHOOKD_LOG_LEVEL: "loud" } })))).toContain(
      "WEBHOOKD_LOG_LEVEL: [log] level",
    );
    const settings = [{ name: "log.level", flag: "--log-level", text: "loud" }] as const;
    expect(mistakesOf(() => loadSettings(inputs({ flags: { settings } })))).toContain("--log-level: [log] level");
  });

  it("include variables that name a section and no setting, but not what Kubernetes or the client set", () => {
    expect(mistakesOf(() => loadSettings(inputs({ env: { WEBHOOKD_RETRY_TIMEOT: "1s" } })))).toBe(
      "WEBHOOKD_RETRY_TIMEOT: [retry] timeot is unknown.\n  Did you mean timeout?",
    );
    const env = {
      WEBHOOKD_URL: "x",
      WEBHOOKD_KEY_FILE: "x",
      WEBHOOKD_SERVICE_HOST: "x",
      WEBHOOKD_SERVER_SERVICE_HOST: "x",
      WEBHOOKD_SERVER_PORT_8420_TCP_ADDR: "x",
      WEBHOOKD_SOCKET: "x",
      WEBHOOKD_DEBUG: "x",
      WEBHOOKD_PORTS_SERVICE_PORT: "x",
      WEBHOOKD_PORT: "x",
      WEBHOOKD_TEST_STORE: "x",
    };
    expect(mistakesOf(() => loadSettings(inputs({ env })))).toBe("");
  });

  it.each([
    ["WEBHOOKD_DATADIR", "WEBHOOKD_DATA_DIR"],
    ["WEBHOOKD_SERVER_TLSCERT", "WEBHOOKD_SERVER_TLS_CERT"],
    ["WEBHOOKD_SERVE_LISTEN", "WEBHOOKD_SERVER_LISTEN"],
    ["WEBHOOKD_RETENTON_FAILED", "WEBHOOKD_RETENTION_FAILED"],
  ])("include the variable %s, which would do nothing", (variable, meant) => {
    const message = mistakesOf(() => loadSettings(inputs({ env: { [variable]: "1d" } })));
    expect(message).toContain(variable);
    expect(message).toMatch(new RegExp(`Did you mean (${meant}|tls_cert)\\?$`));
  });

  it("include a named file that is not there or cannot be read", () => {
    expect(mistakesOf(() => loadSettings(inputs({ flags: { config: "no.toml" } })))).toContain("/srv/app/no.toml");
    const readFile = () => {
      throw Object.assign(new Error("no"), { code: "EACCES" });
    };
    expect(mistakesOf(() => loadSettings(inputs({ readFile })))).toBe(`${FILE}: cannot be read (EACCES).`);
  });
});
