import { Resolver } from "node:dns";
import { networkInterfaces } from "node:os";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { mailOf } from "../../src/alerts/endpoint.ts";
import { mailTo, Outlet } from "../../src/alerts/people.ts";
import { adviceOn } from "../../src/domain/advice/advice.ts";
import { mailServer } from "../harness/mail-server.ts";

function mailed(port: number, { login = null as { user: string; pass: string } | null, host = "127.0.0.1" } = {}) {
  const lines: string[] = [];
  const write = (fields: object, message: string) => void lines.push(JSON.stringify(fields) + message);
  const log = { debug: write, info: write, warn: write, error: write, isLevelEnabled: () => true };
  let now = 0;
  const outlet = new Outlet({ clock: { monotonic: () => now }, log });
  const server = new URL(`smtp://${host}:${port}`);
  outlet.configure(
    mailTo({ server, login, from: "webhookd@example.com", to: ["a@example.com", "b@example.com"] }),
    "eu-1",
  );
  return { outlet, lines, pass: (ms: number) => (now += ms) };
}

type Answer = (error: null, addresses: string[]) => void;

const DATA = { detail: "the disk said no" };

describe("mail", () => {
  it("says each alert with its advice, to everyone who is named", async () => {
    const server = await mailServer();
    const { outlet, lines } = mailed(server.port, { login: { user: "me", pass: "p4ssw0rd" } });
    const endpoint = "ep_01m7w8bx02jeyjr53r14y5rmma";
    const advice = adviceOn({ error: "timeout", status: null, lastsMs: 1000 }, { endpoint, attempt: null });
    const one = { endpoint, tenant: "acme", url: "https://hook.example/key", error: "timeout", status_code: null };
    outlet.say("webhookd.endpoint_failing", { total: 1, endpoints: [{ ...one, consecutive_failures: 20, advice }] });
    outlet.say("webhookd.storage_fault", DATA);
    await outlet.post();
    expect(server.messages).toHaveLength(2);
    expect(server.lines).toContain("RCPT TO:<b@example.com>");
    expect(server.lines.some((line) => line.startsWith("AUTH PLAIN"))).toBe(true);
    const [head, body] = unfolded(server.messages[0]!);
    expect(head).toContain("Subject: [eu-1] Endpoints are failing: 1");
    expect(head).toContain("From: webhookd@example.com");
    expect(head).toContain("Auto-Submitted: auto-generated");
    expect(body).toContain("hook.example (tenant acme, ep_01m7w8bx02jeyjr53r14y5rmma)");
    expect(body.replaceAll(/\s+/g, " ")).toContain(advice.meaning);
    expect(body).not.toContain("/key");
    expect(lines).toEqual([]);
  });

  it("has nothing from outside among its headers", async () => {
    const server = await mailServer();
    const { outlet } = mailed(server.port);
    const evil = "x\r\nBcc: evil@example.com\r\n\r\n.\r\nMAIL FROM:<evil@example.com>";
    outlet.configure(
      mailTo({
        server: new URL(`smtp://127.0.0.1:${server.port}`),
        login: null,
        from: "a@example.com",
        to: ["b@example.com"],
      }),
      evil,
    );
    const one = { endpoint: "ep_1", tenant: evil, url: null, reason: `${evil}\u202e` };
    outlet.say("webhookd.endpoint_disabled", { total: 1, endpoints: [one] });
    await outlet.post();
    expect(server.messages).toHaveLength(1);
    expect(server.lines.filter((line) => /^(MAIL|RCPT)/.test(line))).toEqual([
      "MAIL FROM:<a@example.com>",
      "RCPT TO:<b@example.com>",
    ]);
    const [head] = unfolded(server.messages[0]!);
    expect(head.split("\n").filter((line) => /^bcc/i.test(line))).toEqual([]);
  });

  it.each([
    ["that is refused for good gives way to the next", "554 no", 2, /"status_code":554.*refuses an alert$/],
    ["that cannot be taken now is sent again", "451 later", 1, /"status_code":451.*will be retried$/],
  ])("%s", async (_, answer, first, said) => {
    const server = await mailServer({}, [answer]);
    const { outlet, lines, pass } = mailed(server.port);
    outlet.say("webhookd.storage_fault", DATA);
    outlet.say("webhookd.backup_failed", DATA);
    await outlet.post();
    expect(server.messages).toHaveLength(first);
    pass(10_000);
    await outlet.post();
    expect(server.messages).toHaveLength(first === 2 ? 2 : 3);
    expect(lines).toEqual([expect.stringMatching(said)]);
  });

  it("is sent again when the server refuses the password, which no log has", async () => {
    const server = await mailServer({ AUTH: "535 p4ssw0rd is wrong" });
    const { outlet, lines } = mailed(server.port, { login: { user: "me", pass: "p4ssw0rd" } });
    outlet.say("webhookd.storage_fault", DATA);
    await outlet.post();
    expect(lines).toEqual([expect.stringMatching(/"status_code":535.*will be retried$/)]);
    expect(lines.join()).not.toContain("p4ssw0rd");
  });

  const host = Object.values(networkInterfaces())
    .flat()
    .find((one) => one?.family === "IPv4" && !one.internal)?.address;
  it.skipIf(host === undefined).each([
    ["another host", host!],
    ["a name that begins like an address of this host", "127.mail.example.com"],
  ])("sends no password to %s without TLS", async (_, to) => {
    const resolve4 = vi.spyOn(Resolver.prototype, "resolve4");
    onTestFinished(() => resolve4.mockRestore());
    resolve4.mockImplementation((...given: unknown[]) => (given.at(-1) as Answer)(null, ["127.0.0.1"]));
    const server = await mailServer();
    const { outlet, lines } = mailed(server.port, { login: { user: "me", pass: "p4ssw0rd" }, host: to });
    outlet.say("webhookd.storage_fault", DATA);
    await outlet.post();
    expect(server.lines.length).toBeGreaterThan(0);
    expect(server.lines.filter((line) => /^(AUTH|MAIL)/.test(line))).toEqual([]);
    expect(lines).toHaveLength(1);
  });
});

describe("the settings of mail", () => {
  const GOOD = {
    url: "",
    secret: "",
    slackUrl: "",
    smtpUrl: "smtps://me:p%40ss@mail.example",
    mailFrom: "a@b.example",
    mailTo: "c@d.example, e@f.example",
    keyHeldAfter: 900_000,
  };

  it("are a server, a login and addresses", () => {
    expect(mailOf({ alerts: { ...GOOD, smtpUrl: "" } })).toBeNull();
    expect(mailOf({ alerts: GOOD })).toMatchObject({
      login: { user: "me", pass: "p@ss" },
      from: "a@b.example",
      to: ["c@d.example", "e@f.example"],
    });
  });

  it.each([
    [{ smtpUrl: "https://me:p4ssw0rd@mail.example" }, "smtp_url"],
    [{ smtpUrl: "smtp://me:p4ssw0rd@mail.example/?proxy=socks://h" }, "smtp_url"],
    [{ smtpUrl: "smtp://me:p4ssw0rd%ff@mail.example" }, "smtp_url"],
    [{ smtpUrl: "p4ssw0rd" }, "smtp_url"],
    [{ mailFrom: "" }, "mail_from"],
    [{ mailFrom: "a@b.example\r\nBcc: c@d.example" }, "mail_from"],
    [{ mailTo: "" }, "mail_to"],
    [{ mailTo: "a@b.example, Ops <o@b.example>" }, "mail_to"],
  ])("%j is refused, without its password", (wrong, key) => {
    let error: Error | undefined;
    try {
      mailOf({ alerts: { ...GOOD, ...wrong } });
    } catch (thrown) {
      error = thrown as Error;
    }
    expect(JSON.stringify([error?.message, error])).toContain(`[alerts] ${key}`);
    expect(JSON.stringify([error?.message, error])).not.toContain("p4ssw0rd");
  });
});

/** Returns the headers, each on one line, and the decoded body. */
function unfolded(message: string): [string, string] {
  const [head, ...body] = message.split("\n\n");
  const quoted = body.join("\n\n").replaceAll("=\n", "");
  const text = /base64/i.test(head!)
    ? Buffer.from(quoted, "base64").toString()
    : Buffer.from(
        quoted.replaceAll(/=([0-9A-F]{2})/g, (_, hex: string) => String.fromCharCode(parseInt(hex, 16))),
        "latin1",
      ).toString();
  return [head!.replaceAll(/\n[ \t]+/g, " "), text];
}
