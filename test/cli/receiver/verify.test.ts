import { randomBytes } from "node:crypto";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { EXIT } from "../../../cli/exit-code.ts";
import { AsymmetricSigningKey, newPrivateKey, publicKeyOf } from "../../../src/domain/endpoints/asymmetric.ts";
import { FORMATS, FurtherSigner, type SignatureFormat } from "../../../src/domain/endpoints/further-signature.ts";
import { newSigningSecret, signingKey } from "../../../src/domain/endpoints/secret.ts";
import { fakeDaemon, problem } from "../fake-daemon.ts";
import { FakeIo } from "../fake-io.ts";
import { webhookd } from "../runs.ts";

const dir = mkdtempSync(join(tmpdir(), "webhookd-verify-"));
afterAll(() => rmSync(dir, { recursive: true }));

function file(name: string, text: string): string {
  writeFileSync(join(dir, name), text);
  return join(dir, name);
}

const [SECRET, NEXT, OTHER] = [1, 2, 3].map((byte) => newSigningSecret(() => new Uint8Array(32).fill(byte))) as [
  string,
  string,
  string,
];
const SECRETS = file("secrets", `${SECRET}\n\n${NEXT}\n`);
const BODY = '{"id":"evt_1","data":{"n":9007199254740993}}';
const BODY_FILE = file("body", BODY);

async function verify(signature: string, body: string | null, ...words: string[]) {
  const io = new FakeIo({ input: body === null ? [] : [body] });
  const words_ = body === null && !words.includes("--event") ? [BODY_FILE, ...words] : words;
  const code = await webhookd(io, "verify", "--signature", signature, ...words_);
  return { code, io };
}

describe("webhookd verify", () => {
  it("says which of the two headers it was given, where the flags are those of the other", async () => {
    const standard = signingKey(SECRET).signStandard("evt_1", 1795168000, BODY);
    const bare = await verify(standard, null, "--secret-file", SECRETS);
    expect([bare.code, bare.io.out]).toEqual([EXIT.usage, ""]);
    expect(bare.io.err).toContain("this is a webhook-signature\n  Add --id and --timestamp");
    const stamp = ["--id", "evt_1", "--timestamp", "1795168000"];
    const stamped = await verify(signingKey(SECRET).signBody(BODY), null, "--secret-file", SECRETS, ...stamp);
    expect([stamped.code, stamped.io.out]).toEqual([EXIT.usage, ""]);
    expect(stamped.io.err).toContain("this is an X-Service-Signature\n  Leave out --id and --timestamp");
  });

  it("says how long the signature should be, where nothing else explains it", async () => {
    const { code, io } = await verify("757107ea", null, "--secret-file", SECRETS);
    expect(code).toBe(EXIT.answer_is_no);
    expect(io.out).toContain("  the signature has 8 characters, and should have 64\n");
  });

  it("verifies v1a with a public key of the file, or of the endpoint's tenant, and explains a mismatch", async () => {
    const [key, next] = [newPrivateKey(randomBytes), newPrivateKey(randomBytes)] as const;
    const signed = (body: string) => new AsymmetricSigningKey(next).signStandard("evt_1", 1_795_168_000, body);
    const keys = file("public", `${publicKeyOf(key)}\n${publicKeyOf(next)}\n`);
    const stamp = ["--id", "evt_1", "--timestamp", "1795168000"];
    const good = await verify(`v1,AAAA ${signed(BODY)}`, null, "--secret-file", keys, ...stamp);
    expect([good.code, good.io.out]).toEqual([EXIT.ok, "OK\n"]);
    const changed = await verify(signed(`${BODY}\n`), null, "--secret-file", keys, ...stamp);
    expect([changed.code, changed.io.out]).toEqual([
      EXIT.answer_is_no,
      expect.stringContaining("ended with a newline"),
    ]);
    const bare = await verify(signed(BODY).slice("v1a,".length), null, "--secret-file", keys, ...stamp);
    expect(bare.io.out).toContain("lacks its version, such as v1,");

    const id = "ep_01m7w8bx02jeyjr53r14y5rmma";
    const shown = { public_key: publicKeyOf(key), next_public_key: publicKeyOf(next), published: false };
    const daemon = await fakeDaemon(({ path }) => {
      if (path.endsWith("/secret")) return { status: 200, body: { signing_secret: SECRET } };
      return { status: 200, body: path === "/v1/webhooks/keys?tenant=acme" ? shown : { id, tenant: "acme" } };
    });
    const known = await verify(signed(BODY), null, "--endpoint", id, "--socket", daemon.socket, ...stamp);
    expect([known.code, known.io.out]).toEqual([EXIT.ok, "OK\n"]);
  });

  it("says OK for the exact bytes and any of the secrets", async () => {
    for (const secret of [SECRET, NEXT]) {
      const { code, io } = await verify(signingKey(secret).signBody(BODY), null, "--secret-file", SECRETS);
      expect([code, io.out, io.err]).toEqual([EXIT.ok, "OK\n", ""]);
    }
    const { io } = await verify(signingKey(SECRET).signBody(BODY), null, "--secret-file", SECRETS, "--json");
    expect(JSON.parse(io.out)).toEqual({ ok: true });
  });

  it("exits 8 and says why it does not match", async () => {
    const { code, io } = await verify(
      `sha256=${signingKey(SECRET).signBody(BODY)}`,
      BODY,
      "--secret-file",
      SECRETS,
      "-",
    );
    expect(code).toBe(EXIT.answer_is_no);
    expect(io.out).toMatch(/^MISMATCH\n {2}the signature has a prefix.*\n {2}the body ends with a newline.*\n$/);
    expect(
      (await verify(signingKey(SECRET).signBody(BODY).toUpperCase(), null, "--secret-file", SECRETS)).io.out,
    ).toContain("upper case");
    const json = await verify(signingKey(SECRET).signBody(BODY), BODY, "--secret-file", SECRETS, "--json");
    expect(JSON.parse(json.io.out)).toEqual({
      ok: false,
      reasons: ["the body ends with a newline that was not signed"],
      faults: ["without_last_newline"],
      computed: signingKey(SECRET).signBody(`${BODY}\n`),
    });
  });

  it("admits it when nothing explains the signature, and shows the one that would do", async () => {
    const { code, io } = await verify("00\x1b[2J", null, "--secret-file", SECRETS);
    expect(code).toBe(EXIT.answer_is_no);
    expect(io.out).toContain(`computed ${signingKey(SECRET).signBody(BODY)}`);
    expect(io.out).not.toContain("\x1b");
    expect((await verify("00", null, "--secret-file", SECRETS, file("empty", ""))).code).toBe(EXIT.usage);
  });

  it("knows Standard Webhooks, and how old a request is", async () => {
    const stamp = { id: "evt_1", timestamp: 1_700_000_000 };
    const signature = `v1,AAAA ${signingKey(SECRET).signStandard(stamp.id, stamp.timestamp, BODY)}`;
    const words = ["--secret-file", SECRETS, "--id", stamp.id, "--timestamp"];
    const fresh = await verify(signature, null, ...words, String(stamp.timestamp));
    expect([fresh.code, fresh.io.out, fresh.io.err]).toEqual([EXIT.ok, "OK\n", ""]);
    const wrong = await verify(signature, null, ...words, String(stamp.timestamp - 3600));
    expect([wrong.code, wrong.io.err]).toEqual([EXIT.answer_is_no, expect.stringContaining("is 1h in the past")]);
    expect((await verify(signature, null, ...words, "1700000000000")).io.err).toContain("milliseconds");
    expect((await verify(signature, null, "--secret-file", SECRETS, "--id", "evt_1")).io.err).toContain("--timestamp");
  });

  it.each([
    [[], "which secret?"],
    [["--secret-file", SECRETS, "--endpoint", "ep_00000000000000000000000000"], "which secret?"],
    [["--secret-file", "/nonexistent"], "there is no such file"],
    [["--secret-file", file("short", "short\n")], "line 1"],
    [["--secret-file", file("none", "\n")], "contains no secret"],
    [["--secret-file", dir], "cannot be read"],
  ])("refuses %j and shows nothing of what a file holds", async (words, message) => {
    const { code, io } = await verify("00", null, ...words);
    expect([code, io.out]).toEqual([EXIT.usage, ""]);
    expect(io.err).toContain(message);
    expect(io.err).toContain("Nothing was done");
    expect(io.err).not.toContain("short\n");
  });

  it("asks for the body in place of waiting for a person to type it", async () => {
    const io = new FakeIo({ isTTY: true });
    expect(await webhookd(io, "verify", "--signature", "00", "--secret-file", SECRETS)).toBe(EXIT.usage);
    expect(io.err).toContain("no body was given");
  });
});

const EVENT = "evt_00000000000000000000000000";
const [EP, EP2] = ["ep_00000000000000000000000000", "ep_00000000000000000000000001"];
const DATA = '{ "b":1.10, "a":9007199254740993 }';
const SENT = `{"id":"${EVENT}","type":"budget.exceeded","created_at":"2026-11-20T09:55:00.123Z","data":${DATA}}`;
const SHOWN =
  SENT.slice(0, -1).replace(',"data"', ',"tenant":"default","status":"failed","data"') + ',"deliveries":[]}';

async function ask(signature: string, words: string[], { mayRead = true } = {}) {
  const daemon = await fakeDaemon(({ path }) => {
    if (path === `/v1/webhooks/events/${EVENT}`) return { status: 200, body: SHOWN };
    if (path.startsWith("/v1/webhooks?")) return { status: 200, body: { data: [{ id: EP }, { id: EP2 }] } };
    if (!mayRead) return problem(403, "forbidden", "needs scope secrets");
    const rotating = { next_signing_secret: NEXT, switches_at: "2026-11-21T09:55:00.000Z" };
    if (path === `/v1/webhooks/${EP}/secret`) return { status: 200, body: { signing_secret: SECRET, ...rotating } };
    return { status: 200, body: { signing_secret: OTHER } };
  });
  const { code, io } = await verify(signature, null, ...words, "--socket", daemon.socket);
  return { code, io, daemon };
}

describe("webhookd verify against the daemon", () => {
  const words = ["--event", EVENT, "--endpoint", EP];

  it("takes the body as it was sent, to the byte, and the secret that signs", async () => {
    expect((await ask(signingKey(SECRET).signBody(SENT), words)).io.out).toBe("OK\n");
  });

  it("says that the next secret of the rotation, or another endpoint's, made the signature", async () => {
    const next = await ask(signingKey(NEXT).signBody(SENT), words);
    expect(next.code).toBe(EXIT.answer_is_no);
    expect(next.io.out).toContain(`it was signed with the next secret of ${EP}, which takes over at 2026-11-21`);
    const { io } = await ask(signingKey(OTHER).signBody(SENT), words);
    expect(io.out).toBe(`MISMATCH\n  it was signed with the secret of ${EP2}\n`);
  });

  it("accepts both secrets of a rotation in webhook-signature", async () => {
    const signature = signingKey(NEXT).signStandard(EVENT, 1_700_000_000, SENT);
    expect((await ask(signature, [...words, "--id", EVENT, "--timestamp", "1700000000"])).io.out).toBe("OK\n");
  });

  it("looks at no more than it may, and says the mismatch all the same", async () => {
    const words_ = ["--event", EVENT, "--secret-file", SECRETS];
    const { code, io } = await ask(signingKey(OTHER).signBody(SENT), words_, { mayRead: false });
    expect([code, io.err]).toEqual([EXIT.answer_is_no, ""]);
    expect((await ask("00", words, { mayRead: false })).code).toBe(EXIT.not_allowed);
  });

  it("reads no secret when the signature is genuine", async () => {
    const { daemon } = await ask(signingKey(SECRET).signBody(SENT), ["--event", EVENT, "--secret-file", SECRETS]);
    expect(daemon.seen.map(({ path }) => path)).toEqual([`/v1/webhooks/events/${EVENT}`]);
  });
});

describe("webhookd sign", () => {
  it("prints the signature alone, by the first secret", async () => {
    const io = new FakeIo();
    expect(await webhookd(io, "sign", "--secret-file", SECRETS, BODY_FILE)).toBe(EXIT.ok);
    expect(io.out).toBe(`${signingKey(SECRET).signBody(BODY)}\n`);
    const piped = new FakeIo({ input: ["Hello"] });
    const vector = file("vector", "It's a Secret to Everybody");
    await webhookd(piped, "sign", "--secret-file", vector, "--json", file("hello", "Hello, World!"));
    expect(JSON.parse(piped.out)).toEqual({
      signature: "757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17",
    });
  });

  it("makes a webhook-signature with --id and --timestamp", async () => {
    const io = new FakeIo();
    const secret = file("standard", "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw");
    const stamp = ["--id", "msg_p5jXN8AQM9LWM0D4loKWxJek", "--timestamp", "1614265330"];
    await webhookd(io, "sign", "--secret-file", secret, ...stamp, file("v", '{"test": 2432232314}'));
    expect(io.out).toBe("v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=\n");
  });

  it("says why an endpoint's requests cannot have a signature in the format", async () => {
    const id = "ep_01m7w8bx02jeyjr53r14y5rmma";
    const daemon = await fakeDaemon(({ path }) => ({
      status: 200,
      body: path.endsWith("/secret") ? { signing_secret: "a plain old secret" } : { id, tenant: "bolt" },
    }));
    // A person who verifies need not be permitted to read the daemon's secrets.
    const hidden = '[data]\nstore_file = "/nonexistent/store"\n';
    const config = file("also.toml", `${hidden}[[signature.also]]\nformat = "svix"\ntenants = ["acme"]\n`);
    const stamp = ["--id", "evt_1", "--timestamp", "1795168000"];
    const words = ["--format", "svix", ...stamp, "--endpoint", id, "--socket", daemon.socket];
    const machine = { cwd: dir, readFile: (path: string) => readFileSync(path, "utf8"), exists: existsSync };
    const io = new FakeIo({ machine });
    const code = await webhookd(io, "verify", "--signature", "v1,AAAA", BODY_FILE, ...words, "--config", config);
    expect(code).toBe(EXIT.answer_is_no);
    expect(io.out).toContain("  svix takes its key from base64, such as whsec_…, and the signing secret is other text");
    expect(io.out).toContain(`  no [[signature.also]] here sends svix to ${id} of the tenant bolt`);
    const far = await verify("v1,AAAA", null, ...words, "--json");
    expect((JSON.parse(far.io.out) as { reasons: string[] }).reasons).toEqual([
      expect.stringContaining("takes its key from base64"),
    ]);
  });

  it("verifies the header of another sender's format, and shows what it should have been", async () => {
    const signed = (format: SignatureFormat, secrets: string[], body = BODY) => {
      const headers: string[] = [];
      const request = { id: "evt_1", timestamp: 1_795_168_000, body: Buffer.from(body), url: "" };
      new FurtherSigner(format, secrets).sign(headers, request);
      return headers.at(-1)!;
    };
    const format = ["--secret-file", SECRETS, "--format"];
    const stripe = await verify(signed(FORMATS.stripe, [NEXT]), null, ...format, "stripe");
    expect([stripe.code, stripe.io.out]).toEqual([EXIT.ok, "OK\n"]);
    expect(stripe.io.err).toContain("receivers that allow 5m reject it");
    const github = await verify(signed(FORMATS.github, [SECRET]), null, ...format, "github");
    expect([github.code, github.io.out, github.io.err]).toEqual([EXIT.ok, "OK\n", ""]);
    const stamp = ["--id", "evt_1", "--timestamp", "1795168000"];
    const svix = await verify(signed(FORMATS.svix, [SECRET]), null, ...format, "svix", ...stamp);
    expect([svix.code, svix.io.out]).toEqual([EXIT.ok, "OK\n"]);

    const wrong = await verify(signed(FORMATS.stripe, [SECRET], "{}"), null, ...format, "stripe");
    expect([wrong.code, wrong.io.out]).toEqual([
      EXIT.answer_is_no,
      expect.stringContaining(`MISMATCH\n  computed ${signed(FORMATS.stripe, [SECRET])}\n`),
    ]);
    const bare = await verify(signed(FORMATS.svix, [SECRET]), null, ...format, "svix");
    expect([bare.code, bare.io.err]).toEqual([EXIT.usage, expect.stringContaining("Add --id and --timestamp")]);
    const cut = await verify("v1=00", null, ...format, "stripe");
    expect([cut.code, cut.io.err]).toEqual([EXIT.usage, expect.stringContaining("this is no Stripe-Signature")]);
    const unknown = await verify("00", null, ...format, "strype");
    expect([unknown.code, unknown.io.err]).toEqual([EXIT.usage, expect.stringContaining("there is no format strype")]);
  });
});
