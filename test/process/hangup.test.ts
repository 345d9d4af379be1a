import { once } from "node:events";
import { copyFileSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { connect, type TLSSocket } from "node:tls";
import { describe, expect } from "vitest";
import { it, MAIN, type DaemonProcess, type Machine } from "../harness/process.ts";
import { caFile, tlsFile } from "../harness/tls.ts";

/** Sends SIGHUP and returns the log's line about the nth one. */
async function hangUp({ process }: DaemonProcess, nth = 1): Promise<Record<string, unknown>> {
  process.kill("SIGHUP");
  let seen = 0;
  return process.json(({ msg }) => String(msg).startsWith("SIGHUP") && ++seen === nth);
}

function configure(machine: Machine, toml: string): void {
  writeFileSync(join(machine.home, "webhookd.toml"), toml);
}

describe.concurrent("SIGHUP", () => {
  it("renews the certificate under open connections, and a bad one leaves the old one", async ({ machine }) => {
    const [cert, key] = [join(machine.home, "cert.pem"), join(machine.home, "key.pem")];
    copyFileSync(tlsFile("good"), cert);
    copyFileSync(tlsFile("leaf.key"), key);
    const daemon = await machine.serve({ settings: { SERVER_TLS_CERT: cert, SERVER_TLS_KEY: key } });
    const before = await dial(daemon);
    copyFileSync(tlsFile("wrong-host"), cert);
    expect(await hangUp(daemon, 1)).toMatchObject({ level: "info", certificate: "renewed", changed: [] });
    const after = await dial(daemon);

    writeFileSync(cert, "-----BEGIN CERTIFICATE-----\nrubbish\n");
    expect(await hangUp(daemon, 2)).toMatchObject({
      level: "error",
      mistakes: [expect.stringContaining(`${cert} contains no certificate. It must be in PEM`)],
    });
    const later = await dial(daemon);

    const names = [before, after, later].map((socket) => socket.getPeerCertificate().subject.CN);
    expect(names).toEqual(["receiver.example", "other.example", "other.example"]);
    for (const socket of [before, after, later]) expect(await health(socket)).toContain("200 OK");
    expect(await daemon.stop()).toBe(0);
  });

  it("brings new rules for where deliveries may go, to connections that are kept alive too", async ({ machine }) => {
    const receiver = await machine.receiver();
    const daemon = await machine.serve({ settings: { RETRY_DELAYS: "" } });
    await daemon.register(receiver.url);
    expect(await daemon.settled(await daemon.publish())).toMatchObject({ status: "delivered" });
    configure(machine, '[egress]\ndeny_cidrs = ["127.0.0.0/8"]\n');
    expect(await hangUp(daemon, 1)).toMatchObject({ changed: ["egress.deny_cidrs"], needs_restart: [] });

    const denied = await daemon.settled(await daemon.publish());
    expect(denied.deliveries[0]).toMatchObject({ status: "failed", last_attempt: { error: "address_denied" } });
    const { status, body } = await daemon.request("POST", "/v1/webhooks", {
      url: receiver.url,
      events: ["budget.exceeded"],
    });
    expect({ status, code: body.errors[0].code }).toEqual({ status: 422, code: "address_denied" });

    configure(machine, "");
    await hangUp(daemon, 2);
    expect(await daemon.settled(await daemon.publish())).toMatchObject({ status: "delivered" });
    expect(await daemon.stop()).toBe(0);
  });

  it("brings a new secret, and says which one needs a restart", async ({ machine }) => {
    const [chat, store] = [join(machine.home, "chat"), join(machine.home, "store")];
    writeFileSync(chat, "https://hooks.slack.com/services/first\n", { mode: 0o600 });
    configure(machine, '[alerts]\nslack_url_file = "chat"\n');
    const daemon = await machine.serve();
    writeFileSync(chat, "https://hooks.slack.com/services/second\n");
    expect(await hangUp(daemon, 1)).toMatchObject({ changed: ["alerts.slack_url"], needs_restart: [] });
    writeFileSync(store, "postgres://webhookd:s3cret@db1/webhookd\n", { mode: 0o604 });
    configure(machine, '[alerts]\nslack_url_file = "chat"\n[data]\nstore_file = "store"\n');
    expect(await hangUp(daemon, 2)).toMatchObject({ changed: [], needs_restart: ["data.store"] });
    writeFileSync(chat, "\n");
    expect(await hangUp(daemon, 3)).toMatchObject({ mistakes: [expect.stringContaining(`${chat} is empty.`)] });
    expect(await daemon.stop()).toBe(0);
    expect(daemon.process.stdout).not.toMatch(/services\/|s3cret/);
  });

  it("with mistakes in the file changes nothing, and the daemon serves on", async ({ machine }) => {
    const daemon = await machine.serve();
    configure(machine, '[log]\nlevel = "loud"\n');
    const line = await hangUp(daemon);
    expect(line).toMatchObject({ level: "error", mistakes: [expect.stringContaining("webhookd.toml:2: [log] level")] });
    await daemon.publish();
    expect(await daemon.stop()).toBe(0);
  });
});

const REFUSED = [
  ["an address for alerts that is forbidden", '[alerts]\nslack_url = "https://10.0.0.1/x"\n', "[alerts] slack_url"],
  [
    "a mail server that is none",
    '[alerts]\nsmtp_url = "mail.example"\nmail_from = "a@example.com"\nmail_to = "b@example.com"\n',
    "[alerts] smtp_url",
  ],
  [
    "a key file that is missing",
    '[alerts]\nurl = "https://hooks.slack.com/x"\nsecret_file = "/none"\n',
    "/none does not exist",
  ],
  ["a schema that is none", '[[event_types]]\nname = "a.b"\nschema = { type = 7 }\n', "a.b has a schema"],
] as const;

describe.concurrent("SIGHUP", () => {
  it.for(REFUSED)("changes nothing with %s, and /v1/config says what holds", async ([, toml, mistake], { machine }) => {
    const daemon = await machine.serve();
    const running = async () => (await daemon.request("GET", "/v1/config")).body;
    const before = await running();
    configure(machine, `${toml}[egress]\ndeny_cidrs = ["127.0.0.0/8"]\n[log]\nlevel = "error"\n`);
    const line = await hangUp(daemon, 1);
    expect(line).toMatchObject({ level: "error", mistakes: [expect.stringContaining(mistake)] });
    expect(await running()).toEqual(before);
    // Nor did the refused file change the log's level, so this info line is logged.
    configure(machine, "");
    expect(await hangUp(daemon, 2)).toMatchObject({ level: "info", changed: [] });
    expect(await daemon.stop()).toBe(0);
  });
});

async function dial({ url }: DaemonProcess): Promise<TLSSocket> {
  const { hostname, port } = new URL(url);
  const socket = connect({
    host: hostname,
    port: Number(port),
    ca: readFileSync(caFile),
    checkServerIdentity: () => undefined,
  });
  await once(socket, "secureConnect");
  return socket;
}

async function health(socket: TLSSocket): Promise<string> {
  socket.write("GET /healthz HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n");
  const [answer] = await once(socket, "data");
  return String(answer);
}

describe("a terminal that goes away", () => {
  const hasTerminals = existsSync("/usr/bin/script");
  if (!hasTerminals) console.warn("SKIPPED: there is no script(1) here to make a terminal with");

  it.skipIf(!hasTerminals)("takes the daemon that was started on it along", async ({ machine }) => {
    const words = [process.execPath, MAIN, "serve", "--dev", "--listen", "127.0.0.1:0", "--data-dir", machine.dir];
    const terminal = machine.spawn("script", ["-qfc", `exec ${words.join(" ")}`, "/dev/null"]);
    await terminal.line((line) => line.includes("webhookd listen --register"));
    const { pid } = JSON.parse(readFileSync(join(machine.dir, "webhookd.pid"), "utf8")) as { pid: number };
    expect(existsSync(`/proc/${pid}`)).toBe(true);
    terminal.kill("SIGKILL");
    await expect.poll(() => existsSync(`/proc/${pid}`)).toBe(false);
  });
});
