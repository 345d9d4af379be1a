import { describe, expect, it } from "vitest";
import { printDuration } from "../../src/config/units.ts";
import { departures, loadConfig, rereadConfig } from "../../src/config.ts";
import { SPECIFIED_LADDER } from "../harness/ladder.ts";
import { inputs } from "./inputs.ts";

const env = (variables: Record<string, string>) => inputs({ env: variables });

describe("the data directory", () => {
  const long = `/${"d".repeat(120)}`;
  it.each([
    [
      "is ./data of a checkout, whoever runs it",
      { checkout: "/src/webhookd", root: true, env: { STATE_DIRECTORY: "/s" } },
      "/src/webhookd/data",
    ],
    [
      "is the service manager's",
      { root: true, env: { STATE_DIRECTORY: "/var/lib/private/w:/x" } },
      "/var/lib/private/w",
    ],
    ["is that of the system for root", { root: true }, "/var/lib/webhookd"],
    ["is the user's", {}, "/home/ana/.local/share/webhookd"],
    ["is where XDG says", { env: { XDG_DATA_HOME: "/xdg" } }, "/xdg/webhookd"],
    ["ignores a relative XDG path", { env: { XDG_DATA_HOME: "xdg" } }, "/home/ana/.local/share/webhookd"],
    ["starts from the working directory in a variable", { env: { WEBHOOKD_DATA_DIR: "d" } }, "/srv/app/d"],
    [
      "starts from the file in a file",
      { files: { "/etc/webhookd/webhookd.toml": '[data]\ndir = "d"' } },
      "/etc/webhookd/d",
    ],
  ])("%s", (_, change, dir) => {
    const config = loadConfig(inputs(change));
    expect(config.data.dir).toBe(dir);
    expect(config.data.secretKeyFile).toBe(`${dir}/secret.key`);
  });

  it("holds the socket, unless the service manager has a place or the path would be too long", () => {
    expect(loadConfig(env({ WEBHOOKD_DATA_DIR: "/d" })).server.socket).toBe("/d/webhookd.sock");
    expect(loadConfig(env({ RUNTIME_DIRECTORY: "/run/webhookd" })).server.socket).toBe("/run/webhookd/webhookd.sock");
    expect(loadConfig(env({ WEBHOOKD_DATA_DIR: long })).server.socket).toBe("");
    const user = loadConfig(env({ WEBHOOKD_DATA_DIR: long, XDG_RUNTIME_DIR: "/run/user/1" })).server.socket;
    expect(user).toMatch(/^\/run\/user\/1\/webhookd-[0-9a-f]{12}\.sock$/);
    expect(() => loadConfig(env({ WEBHOOKD_SERVER_SOCKET: long }))).toThrow("WEBHOOKD_SERVER_SOCKET");
  });

  it("yields to the service manager's credentials for secret.key, if they have one", () => {
    const variables = { CREDENTIALS_DIRECTORY: "/creds", WEBHOOKD_DATA_DIR: "/d" };
    expect(loadConfig(env(variables)).data.secretKeyFile).toBe("/d/secret.key");
    const files = { "/creds/secret.key": "" };
    expect(loadConfig(inputs({ env: variables, files })).data.secretKeyFile).toBe("/creds/secret.key");
  });
});

describe("the listen address", () => {
  it.each(["127.0.0.1:0", "127.9.9.9:1", "localhost:1", "[::1]:8420"])("%s is loopback", (listen) => {
    expect(() => loadConfig(env({ WEBHOOKD_SERVER_LISTEN: listen }))).not.toThrow();
  });

  it.each(["0.0.0.0:8420", "[::]:8420", "10.0.0.1:1", "web.example:1", "127.example:1"])(
    "%s needs TLS, or a proxy that speaks it",
    (listen) => {
      expect(() => loadConfig(env({ WEBHOOKD_SERVER_LISTEN: listen }))).toThrow("behind_proxy = true");
      const config = loadConfig(env({ WEBHOOKD_SERVER_LISTEN: listen, WEBHOOKD_SERVER_BEHIND_PROXY: "true" }));
      expect(config.server.behindProxy).toBe(true);
      const tls = { WEBHOOKD_SERVER_TLS_CERT: "/c.pem", WEBHOOKD_SERVER_TLS_KEY: "/k.pem" };
      const secure = loadConfig(env({ WEBHOOKD_SERVER_LISTEN: listen, ...tls }));
      expect(secure.server).toMatchObject({ tls: { certFile: "/c.pem", keyFile: "/k.pem" }, behindProxy: false });
    },
  );

  it.each(["CERT", "KEY"])("is refused with half of a certificate: tls_%s alone", (name) => {
    const half = () => loadConfig(env({ [`WEBHOOKD_SERVER_TLS_${name}`]: "/x.pem" }));
    expect(half).toThrow(`WEBHOOKD_SERVER_TLS_${name}: [server] tls_cert and tls_key belong together`);
  });

  it("is given without brackets", () => {
    expect(loadConfig(env({ WEBHOOKD_SERVER_LISTEN: "[::1]:5" })).server.listen).toEqual({ host: "::1", port: 5 });
  });
});

describe("[data] nodes and standby", () => {
  it.each(["nodes", "standby"])("are refused without a database to share: %s", (key) => {
    const name = `WEBHOOKD_DATA_${key.toUpperCase()}`;
    const alone = () => loadConfig(env({ [name]: "true" }));
    expect(alone).toThrow(`${name}: [data] ${key} is for a store in PostgreSQL, but [data] store names none.`);
    expect(() => loadConfig(env({ [name]: "true", WEBHOOKD_DATA_STORE: "postgres://db1/webhookd" }))).not.toThrow();
  });
});

describe("--dev", () => {
  it("allows plain http to any port of this machine, whatever else is configured", () => {
    const config = loadConfig(inputs({ flags: { dev: true }, env: { WEBHOOKD_EGRESS_PORTS: "443" } }));
    expect(config.dev).toBe(true);
    expect(config.egress).toMatchObject({ allowHttp: true, ports: "any" });
  });

  it("is refused with an address that others can reach, proxy or not", () => {
    const variables = { WEBHOOKD_SERVER_LISTEN: "0.0.0.0:1", WEBHOOKD_SERVER_BEHIND_PROXY: "true" };
    expect(() => loadConfig(inputs({ flags: { dev: true }, env: variables }))).toThrow("Drop --dev");
  });
});

describe("a configuration that is read again", () => {
  const TLS = { WEBHOOKD_SERVER_TLS_CERT: "/c.pem", WEBHOOKD_SERVER_TLS_KEY: "/k.pem" };
  const reread = (before: Record<string, string>, after: Record<string, string>) =>
    rereadConfig(loadConfig(env(before)), env(after));

  it("that is the same changes nothing", () => {
    const { config, changed, needsRestart } = reread(TLS, TLS);
    expect({ changed, needsRestart }).toEqual({ changed: [], needsRestart: [] });
    expect(config).toEqual(loadConfig(env(TLS)));
  });

  it("takes up what a running daemon can, and leaves the rest as it was", () => {
    const { config, changed, needsRestart } = reread(
      {},
      {
        WEBHOOKD_EGRESS_DENY_CIDRS: "192.0.2.0/24",
        WEBHOOKD_EGRESS_RESOLVER: "system",
        WEBHOOKD_LOG_LEVEL: "debug",
        WEBHOOKD_RETRY_TIMEOUT: "5s",
      },
    );
    expect(changed).toEqual(["egress.deny_cidrs", "log.level"]);
    expect(needsRestart).toEqual(["retry.timeout", "egress.resolver"]);
    expect(config).toMatchObject({
      egress: { denyCidrs: ["192.0.2.0/24"], resolver: "c-ares" },
      log: { level: "debug" },
      retry: { timeout: 10_000 },
    });
  });

  it("has another certificate at once, but TLS itself only after a restart", () => {
    const other = { ...TLS, WEBHOOKD_SERVER_TLS_KEY: "/other.pem" };
    expect(reread(TLS, other)).toMatchObject({
      config: { server: { tls: { certFile: "/c.pem", keyFile: "/other.pem" } } },
      changed: ["server.tls_key"],
    });
    const both = ["server.tls_cert", "server.tls_key"];
    expect(reread({}, TLS)).toMatchObject({ config: { server: { tls: null } }, changed: [], needsRestart: both });
    expect(reread(TLS, {})).toMatchObject({ config: { server: { tls: {} } }, changed: [], needsRestart: both });
  });

  it("takes up event types", () => {
    const withTypes = (names: string[]) => {
      const text = names.map((name) => `[[event_types]]\nname = "${name}"\n`).join("");
      return inputs({ files: { "/srv/app/webhookd.toml": text } });
    };
    const { config, changed, needsRestart } = rereadConfig(loadConfig(withTypes(["a"])), withTypes(["a", "b"]));
    expect(config.eventTypes.map(({ name }) => name)).toEqual(["a", "b"]);
    expect({ changed, needsRestart }).toEqual({ changed: ["event_types"], needsRestart: [] });
    expect(rereadConfig(config, withTypes(["a", "b"])).changed).toEqual([]);
  });

  it("takes up the networks of tenants", () => {
    const withTenant = (cidr: string) =>
      inputs({
        files: { "/srv/app/webhookd.toml": `[[egress.tenant]]\nnames = ["acme"]\nallow_cidrs = ["${cidr}"]\n` },
      });
    const before = loadConfig(withTenant("10.0.0.0/8"));
    expect(before.egress.tenants).toEqual([{ names: ["acme"], allowCidrs: ["10.0.0.0/8"] }]);
    const { config, changed, needsRestart } = rereadConfig(before, withTenant("10.0.0.0/9"));
    expect(config.egress.tenants).toEqual([{ names: ["acme"], allowCidrs: ["10.0.0.0/9"] }]);
    expect({ changed, needsRestart }).toEqual({ changed: ["egress.tenant"], needsRestart: [] });
  });

  it("takes up what tenants may take", () => {
    const withRate = (rate: number) =>
      inputs({ files: { "/srv/app/webhookd.toml": `[tenants.acme]\nweight = 2\nrate_per_second = ${rate}\n` } });
    const before = loadConfig(withRate(5));
    expect(before.tenants).toEqual(new Map([["acme", { weight: 2, ratePerSecond: 5, maxPending: null }]]));
    const { config, changed, needsRestart } = rereadConfig(before, withRate(0));
    expect(config.tenants.get("acme")).toEqual({ weight: 2, ratePerSecond: null, maxPending: null });
    expect({ changed, needsRestart }).toEqual({ changed: ["tenants"], needsRestart: [] });
    expect(rereadConfig(config, withRate(0)).changed).toEqual([]);
  });

  it("comes from the file that was read before, which must still be there", () => {
    const [found, other] = ["/srv/app/webhookd.toml", "/etc/webhookd/webhookd.toml"];
    const ours = '[retention]\ndelivered = "400d"\n';
    const before = loadConfig(inputs({ files: { [found]: ours } }));
    const gone = `${found}: is no longer there, but the configuration was read from it.`;
    expect(() => rereadConfig(before, inputs())).toThrow(gone);
    expect(() => rereadConfig(before, inputs({ files: { [other]: "" } }))).toThrow(gone);
    const { config } = rereadConfig(
      loadConfig(inputs({ files: { [other]: ours } })),
      inputs({ files: { [found]: "", [other]: ours } }),
    );
    expect(config.retention.delivered).toBe(400 * 86_400_000);
  });

  it("comes from a file that was put there since, and then from no other", () => {
    const files = { "/srv/app/webhookd.toml": '[log]\nlevel = "debug"\n' };
    const { config, changed } = rereadConfig(loadConfig(inputs()), inputs({ files }));
    expect(changed).toEqual(["log.level"]);
    expect(() => rereadConfig(config, inputs())).toThrow("/srv/app/webhookd.toml: is no longer there");
  });

  it("must be right as a whole", () => {
    expect(() => reread({}, { WEBHOOKD_SERVER_LISTEN: "0.0.0.0:1", WEBHOOKD_LOG_LEVEL: "debug" })).toThrow("0.0.0.0");
  });

  it("keeps what --dev opens", () => {
    const dev = (variables: Record<string, string>) => inputs({ flags: { dev: true }, env: variables });
    const { config } = rereadConfig(loadConfig(dev({})), dev({ WEBHOOKD_EGRESS_PORTS: "8443" }));
    expect(config.egress).toMatchObject({ allowHttp: true, ports: "any" });
  });
});

describe("departures", () => {
  it("has nothing to say about the defaults", () => {
    expect(departures(loadConfig(inputs()))).toEqual([]);
  });

  it("has a sentence for each given constant that was changed", () => {
    const variables = {
      WEBHOOKD_RETRY_DELAYS: "100ms, 1s",
      WEBHOOKD_RETRY_TIMEOUT: "2s",
      WEBHOOKD_RETRY_MAX_RETRY_AFTER: "1h",
      WEBHOOKD_SIGNATURE_HEADER: "X-Mine",
      WEBHOOKD_EGRESS_ALLOW_HTTP: "true",
    };
    expect(departures(loadConfig(env(variables)))).toEqual([
      `Retry delays are 100ms, 1s; the specification says ${SPECIFIED_LADDER.map(printDuration).join(", ")}.`,
      "Retry-After may delay a retry by up to 1h; the specification keeps to the ladder.",
      "Receivers have 2s to answer; the specification says 10s.",
      "The signature header is X-Mine; the specification says X-Service-Signature.",
      "Endpoints may use plain http; the specification says https only.",
    ]);
  });
});

it("an event must fit in the memory for bodies", () => {
  const variables = { WEBHOOKD_LIMITS_IN_FLIGHT_BYTES: "1MiB", WEBHOOKD_SERVER_MAX_EVENT_BYTES: "2MiB" };
  expect(() => loadConfig(env(variables))).toThrow("could never be accepted");
});

it("--no-create refuses a new store", () => {
  expect(loadConfig(inputs()).data.create).toBe(true);
  expect(loadConfig(inputs({ flags: { create: false } })).data.create).toBe(false);
});
