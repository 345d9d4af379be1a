/**
 * Published libraries of others verify what we sign. They are installed into a temporary folder, so this needs the
 * registries; a library that cannot be installed here is skipped.
 */
import { execFile, execFileSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { Signer } from "../../src/delivery/send/signer.ts";
import { newPrivateKey, publicKeyOf } from "../../src/domain/endpoints/asymmetric.ts";
import { newSigningSecret } from "../../src/domain/endpoints/secret.ts";
import type { Target } from "../../src/domain/endpoints/endpoint.ts";
import { eventId, deliveryId } from "../../src/store/rows/codes.ts";
import { partly } from "../harness/partly.ts";

const scratch = mkdtempSync(join(tmpdir(), "webhookd-third-party-"));
afterAll(() => rmSync(scratch, { recursive: true }));

const [SECRET, NEXT_SECRET, OTHER] = [1, 2, 3].map(() => newSigningSecret(randomBytes)) as [string, string, string];
const [PRIVATE, NEXT_PRIVATE, OTHER_PRIVATE] = [1, 2, 3].map(() => newPrivateKey(randomBytes)) as [
  string,
  string,
  string,
];
const NOW = Math.floor(Date.now() / 1000);
const EVENT = eventId(NOW * 1000, "0".repeat(16));
const BODY = `{"id":"${EVENT}","type":"budget.exceeded","created_at":"2026-11-20T09:55:00.123Z","data":{"name":"café"}}`;

const TARGET = partly<Target>({
  url: "https://receiver.example/hook",
  signingSecret: SECRET,
  nextSigningSecret: null,
  privateKeys: [PRIVATE],
  format: "envelope",
  traceContext: false,
  auth: null,
  signatures: ["hmac", "ed25519"],
  headers: {},
});

/** The headers and the body of a request, as a receiver sees them. */
function request(more: Partial<Target> = {}, at = NOW) {
  const signer = new Signer(
    { ...TARGET, ...more },
    { header: "X-Service-Signature", standardWebhooks: true, also: [], version: "0" },
  );
  const send = { event: EVENT, delivery: deliveryId(EVENT, 1), body: Buffer.from(BODY), number: 1, trigger: "ladder" };
  const { headers } = signer.sign(send as unknown as Parameters<Signer["sign"]>[0], at);
  const value = (name: string) => headers[headers.indexOf(name) + 1]!;
  const names = ["webhook-id", "webhook-timestamp", "webhook-signature"];
  return { headers: Object.fromEntries(names.map((name) => [name, value(name)])), body: BODY };
}

const CASES = {
  "a genuine request": [request(), true],
  "a rotation, by the first key": [
    request({ nextSigningSecret: NEXT_SECRET, privateKeys: [PRIVATE, NEXT_PRIVATE] }),
    true,
  ],
  "a rotation, by the second key": [
    request({ signingSecret: NEXT_SECRET, nextSigningSecret: SECRET, privateKeys: [NEXT_PRIVATE, PRIVATE] }),
    true,
  ],
  "a tampered body": [{ ...request(), body: BODY.replace("café", "cafe") }, false],
  "another key": [request({ signingSecret: OTHER, privateKeys: [OTHER_PRIVATE] }), false],
  "an old request": [request({}, NOW - 3600), false],
} as const;
const EXPECTED = Object.fromEntries(Object.entries(CASES).map(([name, [, answer]]) => [name, answer]));
const INPUT = JSON.stringify({
  secret: SECRET,
  key: publicKeyOf(PRIVATE),
  cases: Object.values(CASES).map(([one]) => one),
});

type Command = readonly [file: string, ...args: string[]];

interface Library {
  readonly name: string;
  readonly version: "v1" | "v1a";
  readonly install: (dir: string) => readonly Command[];
  readonly run: (dir: string) => Command;
  /** Files of the program that asks the library. */
  readonly files: Readonly<Record<string, string>>;
}

const ofNode = (name: string, version: string): Library => ({
  name: `${name} ${version} from npm`,
  version: "v1",
  install: (dir) => [["npm", "install", "--silent", "--prefix", dir, `${name}@${version}`]],
  files: {
    "ask.cjs": `
const { secret, cases } = JSON.parse(require("fs").readFileSync(0, "utf8"));
const { Webhook } = require(${JSON.stringify(name)});
const isGenuine = ({ body, headers }) => { try { new Webhook(secret).verify(body, headers); return true } catch { return false } };
console.log(JSON.stringify(cases.map(isGenuine)));`,
  },
  run: (dir) => [process.execPath, join(dir, "ask.cjs")],
});

/** Some libraries need a newer Python than the one that is called python3. */
const PYTHON = ["python3.13", "python3.12"].find((name) => isPresent([name, "--version"])) ?? "python3";
const ofPython = (name: string, version: string): Library => ({
  name: `${name} ${version} from PyPI`,
  version: "v1",
  install: (dir) => pip(dir, `${name}==${version}`),
  files: {
    "ask.py": `
import json, sys
from ${name}.webhooks import Webhook
asked = json.load(sys.stdin)
def is_genuine(case):
    try:
        Webhook(asked["secret"]).verify(case["body"], case["headers"])
        return True
    except Exception:
        return False
print(json.dumps([is_genuine(case) for case in asked["cases"]]))`,
  },
  run: (dir) => ["env", `PYTHONPATH=${join(dir, "lib")}`, PYTHON, join(dir, "ask.py")],
});

function pip(dir: string, ...wanted: string[]): readonly Command[] {
  return [
    [
      PYTHON,
      "-m",
      "pip",
      "install",
      "--quiet",
      "--no-compile",
      "--only-binary",
      ":all:",
      "--target",
      join(dir, "lib"),
      ...wanted,
    ],
  ];
}

const ofGo = (module: string, version: string, path: string, name: string): Library => ({
  name: `${module} ${version}`,
  version: "v1",
  install: (dir) => [
    ["go", "-C", dir, "mod", "init", "example.com/ask"],
    ["go", "-C", dir, "get", `${module}@${version}`],
  ],
  files: {
    "main.go": `package main
import ("encoding/json"; "fmt"; "net/http"; "os"; ${name} "${path}")
func main() {
  var asked struct { Secret string; Cases []struct { Body string; Headers map[string]string } }
  if err := json.NewDecoder(os.Stdin).Decode(&asked); err != nil { panic(err) }
  verifier, err := ${name}.NewWebhook(asked.Secret)
  if err != nil { panic(err) }
  answers := []bool{}
  for _, one := range asked.Cases {
    header := http.Header{}
    for name, value := range one.Headers { header.Set(name, value) }
    answers = append(answers, verifier.Verify([]byte(one.Body), header) == nil)
  }
  text, _ := json.Marshal(answers)
  fmt.Println(string(text))
}`,
  },
  run: (dir) => ["go", "run", "-C", dir, "."],
});

/** The official libraries verify only v1 so far. */
const LIBRARIES: readonly Library[] = [
  ofNode("standardwebhooks", "1.1.1"),
  ofNode("svix", "2.5.0"),
  ofPython("standardwebhooks", "1.1.0"),
  ofPython("svix", "2.9.1"),
  ofGo(
    "github.com/standard-webhooks/standard-webhooks/libraries",
    "v0.0.1",
    "github.com/standard-webhooks/standard-webhooks/libraries/go",
    "standardwebhooks",
  ),
  {
    name: "authweave-webhooks 8.0.2 from PyPI",
    version: "v1a",
    install: (dir) => pip(dir, "authweave-webhooks==8.0.2"),
    files: {
      "ask.py": `
import asyncio, base64, json, sys, time
from authweave_core import InMemoryReplayStore
from authweave_webhooks import Ed25519PublicKey, PublicKeyDocument, StandardWebhooksVerifier, StaticPublicKeyResolver
asked = json.load(sys.stdin)
key = Ed25519PublicKey(base64.b64decode(asked["key"].removeprefix("whpk_")))
about = {"environment": "test", "owner": "us", "endpoint": "https://receiver.example/hook"}
async def is_genuine(case):
    verifier = StandardWebhooksVerifier(
        StaticPublicKeyResolver(PublicKeyDocument(version="1", not_before=0, retire_after=None, keys=(key,), **about)),
        replay_store=InMemoryReplayStore(capacity=10, time_source=time.monotonic),
        expected_environment="test", expected_owner="us", expected_endpoint=about["endpoint"],
        time_source=lambda: int(time.time()),
    )
    headers = dict(case["headers"])
    # It knows only entries of v1a, and at most three.
    headers["webhook-signature"] = " ".join(e for e in headers["webhook-signature"].split(" ") if e.startswith("v1a,"))
    try:
        await verifier.verify(headers=headers, body=case["body"].encode())
        return True
    except Exception:
        return False
async def main():
    print(json.dumps([await is_genuine(case) for case in asked["cases"]]))
asyncio.run(main())`,
    },
    run: (dir) => ["env", `PYTHONPATH=${join(dir, "lib")}`, PYTHON, join(dir, "ask.py")],
  },
];

/** Returns the folder with the installed library, or the reason why it cannot be installed. */
function installed({ install, files }: Library, at: number): { readonly dir: string } | { readonly fault: string } {
  const dir = join(scratch, String(at));
  mkdirSync(dir);
  for (const [name, text] of Object.entries(files)) writeFileSync(join(dir, name), text);
  try {
    for (const [file, ...args] of install(dir))
      execFileSync(file, args, { stdio: ["ignore", "ignore", "pipe"], timeout: 50_000, cwd: dir });
    return { dir };
  } catch (error) {
    return { fault: String(error).split("\n").at(0)! };
  }
}

function isPresent([file, ...args]: Command): boolean {
  try {
    execFileSync(file, args, { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
}

function answersOf([file, ...args]: Command): Promise<boolean[]> {
  return new Promise((done, fail) => {
    const child = execFile(file, args, (error, stdout, stderr) =>
      error === null ? done(JSON.parse(stdout) as boolean[]) : fail(new Error(stderr || error.message)),
    );
    child.stdin!.end(INPUT);
  });
}

describe("libraries of others", () => {
  it.each(LIBRARIES.map((library, at) => [library.name, library.version, library, at] as const))(
    "%s verifies our %s",
    async (name, _, library, at) => {
      const found = installed(library, at);
      if ("fault" in found)
        return void process.stderr.write(`SKIPPED: ${name} cannot be installed here: ${found.fault}\n`);
      const answers = await answersOf(library.run(found.dir));
      expect(Object.fromEntries(Object.keys(CASES).map((each, index) => [each, answers[index]]))).toEqual(EXPECTED);
    },
  );
});
