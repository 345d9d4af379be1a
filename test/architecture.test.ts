import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { describe, expect, it } from "vitest";

const ROOT = resolve(import.meta.dirname, "..");

/**
 * The first rule whose `from` matches a file says what the file may import. Paths are prefixes of our own files; other
 * names are packages. Files in `types` may be imported only as types, so that nothing of them is loaded.
 */
interface Rule {
  from: string;
  may: string[];
  types?: string[];
  why: string;
}

const NODE = "node:";
/** The resources of the API, each with the code that it uses from others, in addition to its own shapes. */
const RESOURCES: Record<string, string[]> = {
  "event-types": [],
  publishing: ["src/api/event-types/data-check.ts"],
  deliveries: [],
  events: ["src/api/deliveries/", "src/api/endpoints/filter-test.ts"],
  jobs: ["src/api/deliveries/deliveries.ts"],
  endpoints: ["src/api/deliveries/attempts.ts", "src/api/publishing/"],
  reports: ["src/api/deliveries/attempts.ts"],
  daemon: ["src/api/endpoints/fields.ts", "src/api/endpoints/held-keys.ts", "src/passphrase.ts"],
};
/** From the bottom up. */
const STORE_ROOMS = [
  "src/store/files",
  "src/store/rows",
  "src/store/lists",
  "src/store/work",
  "src/store/sqlite/engine",
  "src/store/sqlite/questions",
  "src/store/sqlite/numbers",
  "src/store/sqlite/callers",
  "src/store/sqlite/claims",
  "src/store/sqlite/ordering",
  "src/store/sqlite/attempts",
  "src/store/sqlite/lists",
  "src/store/sqlite/endpoints",
  "src/store/sqlite/secrets",
  "src/store/sqlite/statistics",
  "src/store/sqlite/jobs",
  "src/store/sqlite/deliveries",
  "src/store/sqlite/events",
  "src/store/sqlite/reads",
  "src/store/sqlite/damage",
  "src/store/backup",
  "src/store/sqlite",
  "src/store/opening",
  "src/store/restore",
];
const RULES: Rule[] = [
  { from: "src/domain/network/address", may: ["src/domain", "ipaddr.js", "node:net"], why: "pure" },
  {
    from: "src/domain",
    may: ["src/domain", "node:crypto", "node:net", "node:buffer"],
    why: "pure: no I/O, no clock, no store",
  },
  {
    from: "src/store/store.ts",
    may: ["src/domain"],
    types: ["src/store/contract"],
    why: "the contract's front: what a store is made of",
  },
  {
    from: "src/store/contract",
    may: ["src/domain"],
    types: ["src/store/contract"],
    why: "what a store is, whichever it is",
  },
  {
    from: "src/store/postgres",
    may: [
      "src/store/postgres",
      "src/store/rows",
      "src/store/lists",
      "src/store/work",
      "src/store/files",
      "src/store/opening/lock.ts",
      "src/domain",
      "src/clock.ts",
      NODE,
      "pg",
    ],
    types: ["src/store/store.ts", "src/store/move/tables.ts"],
    why: "the other store: neither imports the first, nor the first this one",
  },
  {
    from: "src/store/move",
    may: ["src/store/move", "src/store/postgres", ...STORE_ROOMS, NODE],
    types: ["better-sqlite3"],
    why: "from one store to the other, which stands on both",
  },
  ...STORE_ROOMS.map((from, at) => ({
    from,
    may: [...STORE_ROOMS.slice(0, at + 1), "src/domain", "src/clock.ts", "src/passphrase.ts", NODE, "better-sqlite3"],
    types: ["src/store/store.ts", "src/log.ts"],
    why: "a room of the store, which stands on those before it alone",
  })),
  {
    from: "src/delivery/http",
    may: ["src/delivery/http", "src/domain", "src/build.ts", "src/clock.ts", NODE, "undici"],
    why: "one POST on the wire, which knows nothing of those who send",
  },
  {
    from: "src/delivery/send",
    may: ["src/delivery/send", "src/delivery/http", "src/domain", "src/clock.ts"],
    why: "one sender, which knows neither threads nor the dispatcher",
  },
  {
    from: "src/delivery/threads",
    may: ["src/delivery/threads", "src/delivery/send", "src/domain", "src/clock.ts", NODE],
    types: ["src/log.ts"],
    why: "senders behind message ports, which know nothing of the dispatcher",
  },
  {
    from: "src/delivery/memory",
    may: ["src/delivery/memory", "src/domain"],
    types: ["src/store/store.ts"],
    why: "what the dispatcher remembers: pure, and no I/O",
  },
  {
    from: "src/delivery/core",
    may: ["src/delivery/core", "src/delivery/memory", "src/domain"],
    types: ["src/store/store.ts"],
    why: "the dispatcher's transitions: pure, and time is an argument",
  },
  {
    from: "src/delivery",
    may: ["src/delivery", "src/domain", "src/alarm.ts", "src/clock.ts", NODE],
    types: ["src/store/store.ts", "src/log.ts"],
    why: "delivery knows neither the API nor which store there is",
  },
  {
    from: "src/alerts/people.ts",
    may: ["src/domain", "node:http", "node:https", "nodemailer"],
    types: ["src/clock.ts", "src/log.ts"],
    why: "nodemailer, and only here",
  },
  {
    from: "src/alerts",
    may: ["src/alerts", "src/domain", "src/config/mistake.ts", "node:fs", "node:crypto", "node:http", "node:https"],
    types: [
      "src/clock.ts",
      "src/config.ts",
      "src/log.ts",
      "src/store/store.ts",
      "src/delivery/deliveries.ts",
      "src/telemetry/traces.ts",
    ],
    why: "what operators have to hear of",
  },
  {
    from: "src/feed",
    may: ["src/feed", "src/domain"],
    types: ["src/clock.ts", "src/store/store.ts", "src/delivery/deliveries.ts"],
    why: "what others look on at",
  },
  {
    from: "src/api/event-types/data-check.ts",
    may: ["src/domain", "ajv"],
    why: "ajv, and only here",
  },
  {
    from: "src/api/event-types/catalogue.ts",
    may: ["src/api/event-types", "src/api/pipeline", "src/config/mistake.ts", "src/domain", "valibot"],
    types: ["src/api/parts.ts", "src/clock.ts", "src/config.ts", "src/store/store.ts"],
    why: "event types, and what configured ones must agree with",
  },
  {
    from: "src/api/server/listen.ts",
    may: ["src/api/server", NODE, "listhen"],
    why: "listhen, and only here",
  },
  {
    from: "src/api/server",
    may: ["src/api/server", "src/domain/unawaited.ts", NODE],
    types: ["src/clock.ts", "src/log.ts", "src/native.ts"],
    why: "connections and bytes: nothing of what is asked",
  },
  {
    from: "src/api/pipeline/router.ts",
    may: ["src/domain", NODE, "h3"],
    why: "h3, and only here",
  },
  {
    from: "src/api/pipeline",
    may: [
      "src/api/pipeline",
      "src/api/server/body-memory.ts",
      "src/api/server/connections.ts",
      "src/api/server/lines.ts",
      "src/api/server/plain-requests.ts",
      "src/api/server/request-head.ts",
      "src/domain",
      "src/config/mistake.ts",
      NODE,
      "valibot",
    ],
    types: [
      "src/api/parts.ts",
      "src/api/server/listener.ts",
      "src/api/server/plain-head.ts",
      "src/api/server/socket.ts",
      "src/store/store.ts",
      "src/clock.ts",
      "src/config.ts",
      "src/log.ts",
    ],
    why: "what every request passes, whatever resource it is about",
  },
  {
    from: "src/api/openapi",
    may: [
      "src/api/openapi",
      "src/api/pipeline",
      "src/config/units.ts",
      "src/domain",
      NODE,
      "valibot",
      "@valibot/to-json-schema",
    ],
    types: ["src/api/parts.ts"],
    why: "what the routes say of themselves, whichever they are",
  },
  {
    from: "src/api/portal/",
    may: ["src/api/portal/", "src/api/pipeline", "src/api/daemon/keys.ts", "src/domain", "valibot"],
    types: ["src/api/parts.ts", "src/portal/files.ts"],
    why: "links to the portal, and the files of its page, which are loaded when one is asked for",
  },
  ...Object.entries(RESOURCES).map(([resource, others]) => ({
    from: `src/api/${resource}/`,
    may: [`src/api/${resource}/`, "src/api/pipeline", ...others, "src/domain", NODE, "valibot"],
    types: ["src/api/parts.ts", "src/store/store.ts", "src/feed/feed.ts", "src/config.ts"],
    why: "a resource knows the pipeline, itself, and the resources that its answers are made of",
  })),
  {
    from: "src/api/parts.ts",
    may: [],
    types: [
      "src/api/event-types/catalogue.ts",
      "src/api/server/socket.ts",
      "src/domain",
      "src/store/store.ts",
      "src/feed/feed.ts",
      "src/delivery/deliveries.ts",
      "src/upkeep/backups.ts",
      "src/telemetry/traces.ts",
      "src/clock.ts",
      "src/log.ts",
      "src/config.ts",
    ],
    why: "the API knows delivery by its contract alone",
  },
  { from: "src/api/api.ts", may: ["src/api", "src/domain", "node:crypto"], why: "the list of all resources" },
  {
    from: "src/upkeep",
    may: ["src/upkeep", "src/domain", "src/alarm.ts", "src/clock.ts"],
    types: ["src/store/store.ts", "src/log.ts"],
    why: "a chore",
  },
  {
    from: "src/telemetry",
    may: [
      "src/telemetry",
      "src/domain",
      "src/alarm.ts",
      "@opentelemetry/api",
      "@opentelemetry/exporter-trace-otlp-http",
      "@opentelemetry/exporter-trace-otlp-proto",
      "@opentelemetry/resources",
      "@opentelemetry/sdk-trace",
      "@opentelemetry/semantic-conventions",
    ],
    types: ["src/clock.ts", "src/config.ts", "src/log.ts", "src/store/store.ts", "src/delivery/deliveries.ts"],
    why: "spans, for whoever set a collector: OpenTelemetry's packages, and only here",
  },
  {
    from: "src/jobs",
    may: ["src/jobs", "src/domain", "src/clock.ts"],
    types: ["src/store/store.ts", "src/delivery/deliveries.ts"],
    why: "between the store and delivery, which know nothing of jobs",
  },
  {
    from: "src/outbox",
    may: [
      "src/outbox",
      "src/api/publishing/",
      "src/store/postgres/engine/",
      "src/store/postgres/fault.ts",
      "src/domain",
      "src/secret-file.ts",
      NODE,
      "better-sqlite3",
    ],
    types: ["src/api/event-types/catalogue.ts", "src/clock.ts", "src/log.ts", "src/store/store.ts", "pg"],
    why: "applications' tables, whose rows are published as the API does",
  },
  {
    from: "src/metrics/exposition.ts",
    may: ["src/metrics", "src/domain", "prom-client"],
    why: "prom-client, and only here",
  },
  {
    from: "src/metrics",
    may: ["src/metrics", "src/domain", NODE],
    types: ["src/clock.ts", "src/delivery/deliveries.ts", "src/store/store.ts", "src/telemetry/exporter.ts"],
    why: "what the daemon tells Prometheus",
  },
  {
    from: "src/config",
    may: ["src/config", "src/domain", "src/build.ts", "src/secret-file.ts", NODE, "smol-toml"],
    why: "settings",
  },
  {
    from: "src/client",
    may: [
      "src/client",
      "src/domain",
      "src/clock.ts",
      "src/build.ts",
      "src/config/mistake.ts",
      "src/config/units.ts",
      NODE,
    ],
    types: [...Object.keys(RESOURCES).map((resource) => `src/api/${resource}/`), "src/api/portal/", "valibot"],
    why: "a client of the HTTP API, which shares no more with the daemon than the types of its answers",
  },
  {
    from: "src/portal/files.ts",
    may: ["src/bundle.ts", NODE],
    why: "the built page, which is no more than files to the daemon",
  },
  {
    from: "src/portal",
    may: ["src/portal", "src/client", "src/domain", "react", "react-dom", "@base-ui/react"],
    types: [NODE],
    why: "a client of the HTTP API that runs in a browser",
  },
  { from: "src/offline.ts", may: ["src", NODE], why: "what commands do to a data directory that no daemon has" },
  { from: "src/daemon", may: ["src", NODE, "croner"], why: "the only place where parts are joined, and croner" },
  { from: "src/log.ts", may: ["src/domain", "pino"], why: "logs" },
  {
    from: "src/native.ts",
    may: ["src/build.ts", "src/bundle.ts", "src/store/files/refused.ts", "src/store/files/durable-file.ts", NODE],
    why: "the addon",
  },
  { from: "src/passphrase.ts", may: ["src/domain/utf8.ts", NODE], why: "a secret from a file" },
  { from: "src/secret-file.ts", may: ["src/domain/utf8.ts", NODE], why: "one secret from a file" },
  { from: "src/thread.ts", may: ["src/bundle.ts", NODE], why: "threads" },
  { from: "src/alarm.ts", may: [], types: ["src/clock.ts", "src/log.ts"], why: "trouble, as the log hears of it" },
  { from: "src", may: ["src/build.ts", NODE], why: "small leaves" },
  {
    from: "cli/types/document/read.ts",
    may: ["cli/events/data.ts", "cli/failure.ts", "src/domain", "js-yaml"],
    why: "js-yaml, and only here",
  },
  {
    from: "cli",
    may: [
      "cli",
      "src/client",
      "src/config",
      "src/domain",
      "src/passphrase.ts",
      "src/build.ts",
      NODE,
      "citty",
      "cli-truncate",
      "string-width",
    ],
    types: ["src/delivery/http/egress-guard.ts", "src/daemon.ts", "src/offline.ts", "src/log.ts", "src/store/store.ts"],
    why: "commands are clients of the HTTP API; serve loads the daemon lazily",
  },
  {
    from: "tui/main.tsx",
    may: ["tui", "src/client", "src/domain/unawaited.ts", "ink", "node:fs", "node:path"],
    why: "the dashboard's process",
  },
  {
    from: "tui",
    may: [
      "tui",
      "src/client",
      "src/domain",
      "src/config/mistake.ts",
      "src/config/units.ts",
      "ink",
      "react",
      "string-width",
    ],
    why: "a client of the HTTP API that touches the process in main.tsx alone",
  },
];
/** Our own modules that are imported by `await import()` although the rules above forbid a static import. */
const LAZY: Record<string, string[]> = {
  "src/api/portal/page.ts": ["src/portal/files.ts"],
  "cli/config/check.ts": ["src/daemon/reloaded.ts"],
  "cli/daemon/serve.ts": ["src/daemon.ts", "src/log.ts"],
  "cli/receiver/demo-site.ts": ["src/daemon.ts", "src/log.ts"],
  "cli/tui/tui.ts": ["tui/main.tsx"],
  "cli/doctor/certificate.ts": ["src/api/server/certificate.ts"],
  "cli/doctor/endpoints.ts": ["src/delivery/http/egress-guard.ts", "src/clock.ts"],
  "cli/upkeep/backup.ts": ["src/offline.ts"],
  "cli/upkeep/restore.ts": ["src/offline.ts"],
  "cli/upkeep/migrate.ts": ["src/offline.ts"],
  "cli/upkeep/compact.ts": ["src/offline.ts"],
  "cli/upkeep/reissue.ts": ["src/offline.ts"],
  "cli/upkeep/rekey.ts": ["src/offline.ts"],
};

/**
 * Code that turns bytes into text and replaces invalid UTF-8 with U+FFFD: its place, the number of occurrences, and why
 * nothing is lost there. All other code calls `utf8Of` in src/domain/utf8.ts, which refuses such bytes.
 */
const LOSSY =
  /readFile(?:Sync)?\([^\n]*"utf-?8"|\.toString\((?:"utf-?8"[^)]*)?\)|TextDecoder(?:Stream)?\(|setEncoding\("|createInterface\(|\bString\((?:await|chunk\)|bytes\)|body\))/g;
const MAY_BE_LOSSY: Record<string, [times: number, why: string]> = {
  "cli/attempts/text.ts": [1, "a receiver's answer, to be shown"],
  "cli/doctor/host.ts": [1, "a number in our own file"],
  "cli/events/data.ts": [2, "checked before"],
  "cli/events/show.ts": [2, "bodies that were checked when they were published"],
  "cli/process-io.ts": [1, "what a person types; a passphrase is checked for U+FFFD"],
  "cli/receiver/signature/body-forms.ts": [1, "what a receiver's program may have made of a body"],
  "cli/receiver/signature/judgement.ts": [1, "what is shown of a request; the bytes are verified"],
  "cli/tail/follow.ts": [1, "a number or a boolean"],
  "src/api/event-types/data-check.ts": [1, "checked before, by scanJson"],
  "src/api/events/schemas.ts": [1, "checked when it was published"],
  "src/api/server/socket.ts": [1, "a login name beside its uid, to be shown"],
  "src/build.ts": [1, "our own file"],
  "src/client/client.ts": [1, "a query that is being written"],
  "src/client/exchange.ts": [1, "the daemon's own answer"],
  "src/client/stream.ts": [1, "the daemon's own answer"],
  "src/client/verification.ts": [1, "what a receiver's program may have made of a body"],
  "src/delivery/http/egress.ts": [1, "numbers in /proc"],
  "src/domain/deliveries/response-text.ts": [2, "a receiver's answer, to be shown"],
  "src/domain/endpoints/token.ts": [2, "a form that is being written"],
  "src/domain/events/data-filter.ts": [1, "checked before, by scanJson"],
  "src/domain/json/json-token.ts": [1, "checked before, by scanJson"],
  "src/domain/json/json.ts": [1, "checked before, by scanJson"],
  "src/domain/network/address.ts": [3, "an address that is being written"],
  "src/domain/utf8.ts": [1, "checked before"],
  "src/portal/server/exchange.ts": [1, "the daemon's own answer"],
  "src/store/files/spare-files.ts": [1, "our own file, whose lines were written as UTF-8"],
  "src/store/opening/lock.ts": [2, "our own file"],
  "src/store/opening/restore-files.ts": [1, "our own file"],
  "src/store/rows/attempt-row.ts": [1, "a text that the store encoded"],
  "src/store/lists/cursors.ts": [1, "a cursor, which must be the same when it is written again"],
  "src/store/sqlite/lists/data-search.ts": [1, "a part of a text, from an ASCII character to its end"],
  "src/thread.ts": [1, "our own program"],
  "tui/main.tsx": [1, "what a person types"],
};

interface Import {
  target: string;
  typeOnly: boolean;
  lazy: boolean;
}

const IMPORT = /^\s*(?:import|export)\s+(type\s)?[^"';]*?from\s+"([^"]+)"|^\s*import\s+"([^"]+)"|import\("([^"]+)"\)/gm;

function importsOf(file: string): Import[] {
  const found: Import[] = [];
  for (const [, type, from, bare, lazy] of readFileSync(join(ROOT, file), "utf8").matchAll(IMPORT)) {
    const name = (from ?? bare ?? lazy)!;
    const target = name.startsWith(".") ? relative(ROOT, resolve(ROOT, dirname(file), name)) : name;
    found.push({ target, typeOnly: type !== undefined, lazy: lazy !== undefined });
  }
  return found;
}

function filesOf(folder: string): string[] {
  return readdirSync(join(ROOT, folder), { recursive: true, encoding: "utf8" })
    .filter((name) => /\.tsx?$/.test(name))
    .map((name) => `${folder}/${name}`);
}

const sources = ["src", "cli", "tui"].filter((folder) => existsSync(join(ROOT, folder))).flatMap(filesOf);

function allowed(target: string, list: string[]): boolean {
  return list.some((entry) =>
    entry === NODE
      ? target.startsWith(NODE)
      : target === entry || target.startsWith(`${entry}/`) || (entry.startsWith("src") && target.startsWith(entry)),
  );
}

describe("the house", () => {
  it.each(sources)("%s imports only what its rule allows", (file) => {
    const rule = RULES.find(({ from }) => file.startsWith(from));
    expect(rule, `no rule for ${file}`).toBeDefined();
    for (const { target, typeOnly, lazy } of importsOf(file)) {
      const list = [...rule!.may, ...(typeOnly ? (rule!.types ?? []) : []), ...(lazy ? (LAZY[file] ?? []) : [])];
      expect(allowed(target, list), `${file} imports ${target}; ${rule!.from} is ${rule!.why}`).toBe(true);
    }
  });

  it("reads the clock in src/clock.ts alone, and in the page, which runs elsewhere, in its own", () => {
    const readers = sources.filter(
      (file) =>
        file.startsWith("src/") &&
        // A socket's own `setTimeout` method is allowed.
        /\bDate\.now\(|new Date\(\)|performance\.now\(|(?<!\.)\bsetTimeout\(|\bsetInterval\(/.test(
          readFileSync(join(ROOT, file), "utf8"),
        ),
    );
    expect(readers).toEqual(["src/clock.ts", "src/portal/server/clock.ts"]);
  });

  it("decodes bytes from outside in src/domain/utf8.ts alone, which refuses what is not UTF-8", () => {
    const found = sources.flatMap((file) => {
      const times = readFileSync(join(ROOT, file), "utf8").match(LOSSY)?.length ?? 0;
      return times === 0 ? [] : [[file, times]];
    });
    expect(Object.fromEntries(found)).toEqual(
      Object.fromEntries(Object.entries(MAY_BE_LOSSY).map(([file, [times]]) => [file, times])),
    );
  });

  it("commits to PostgreSQL in one place, which heeds the server's warnings", () => {
    const committers = sources.filter(
      (file) =>
        file.startsWith("src/store/postgres/") &&
        /["'`]\s*(?:COMMIT|END)\b|new Client\(/.test(readFileSync(join(ROOT, file), "utf8")),
    );
    expect(committers).toEqual(["src/store/postgres/engine/commit.ts", "src/store/postgres/engine/session.ts"]);
  });

  it("keeps chance out of the domain", () => {
    const offenders = sources.filter(
      (file) =>
        file.startsWith("src/domain/") &&
        /Math\.random|randomBytes|randomUUID/.test(readFileSync(join(ROOT, file), "utf8")),
    );
    expect(offenders).toEqual([]);
  });

  it("has no Node read the tables of every language, which a daemon would keep, but for the page and its terminal", () => {
    const readers = sources.filter((file) => /new Intl\./.test(readFileSync(join(ROOT, file), "utf8")));
    const runsInBrowsers = (file: string) => file.startsWith("src/portal/") && file !== "src/portal/files.ts";
    expect(readers.filter((file) => !runsInBrowsers(file))).toEqual(["tui/draw/text.ts"]);
  });

  it("loads no test code into the program", () => {
    for (const file of sources)
      for (const { target } of importsOf(file)) expect(target.startsWith("test/"), file).toBe(false);
  });

  it("has no circle of imports, not of types either", () => {
    const known = new Set(sources);
    const finished = new Set<string>();
    const circles: string[][] = [];
    const walk = (file: string, way: readonly string[]) => {
      if (way.includes(file)) return void circles.push([...way.slice(way.indexOf(file)), file]);
      if (finished.has(file)) return;
      for (const { target, lazy } of importsOf(file)) if (known.has(target) && !lazy) walk(target, [...way, file]);
      finished.add(file);
    };
    for (const file of sources) walk(file, []);
    expect(circles).toEqual([]);
  });

  it("keeps a folder to sixteen files", () => {
    const folders = Map.groupBy(sources, (file) => dirname(file));
    expect([...folders].filter(([, files]) => files.length > 16).map(([folder]) => folder)).toEqual([]);
  });
});
