/**
 * The libraries that other senders publish for their receivers verify what `[[signature.also]]` adds. They are installed
 * into a temporary folder, so this needs the registries; a library that cannot be installed here is skipped.
 */
import { execFileSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { FORMATS, FurtherSigner } from "../../src/domain/endpoints/further-signature.ts";
import { newSigningSecret } from "../../src/domain/endpoints/secret.ts";

const scratch = mkdtempSync(join(tmpdir(), "webhookd-other-senders-"));
afterAll(() => rmSync(scratch, { recursive: true }));

type Format = keyof typeof FORMATS;
interface Case {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly secret: string;
}

const [SECRET, NEXT, OTHER] = [1, 2, 3].map(() => newSigningSecret(randomBytes)) as [string, string, string];
const NOW = Math.floor(Date.now() / 1000);
const BODY = '{"id":"evt_1","type":"budget.exceeded","created_at":"2026-11-20T09:55:00.123Z","data":{"name":"café"}}';

function signed(format: Format, secrets: readonly string[], timestamp = NOW): Case["headers"] {
  const headers: string[] = [];
  const request = { id: "evt_1", timestamp, body: Buffer.from(BODY), url: "https://a.example/" };
  new FurtherSigner(FORMATS[format], secrets).sign(headers, request);
  return Object.fromEntries(
    headers.flatMap((name, at) => (at % 2 === 0 ? [[name.toLowerCase(), headers[at + 1]!]] : [])),
  );
}

/** Each case with what the receiver's library should say of it. */
function casesOf(format: Format): readonly (readonly [what: string, one: Case, isGenuine: boolean])[] {
  const headers = signed(format, [SECRET]);
  const rotating = FORMATS[format].separator === null ? [] : [SECRET, NEXT];
  return [
    ["a genuine request", { headers, body: BODY, secret: SECRET }, true],
    ["a tampered body", { headers, body: BODY.replace("café", "cafe"), secret: SECRET }, false],
    ["another secret", { headers, body: BODY, secret: OTHER }, false],
    ...rotating.map((secret) => {
      const both = { headers: signed(format, [SECRET, NEXT]), body: BODY, secret };
      return [`a rotation, with ${secret === NEXT ? "the next" : "the current"} secret`, both, true] as const;
    }),
    ...(JSON.stringify(FORMATS[format].headers).includes("{timestamp}")
      ? [
          [
            "an old request",
            { headers: signed(format, [SECRET], NOW - 3600), body: BODY, secret: SECRET },
            false,
          ] as const,
        ]
      : []),
  ];
}

interface Library {
  readonly name: string;
  readonly format: Format;
  readonly install: (dir: string) => readonly [file: string, ...args: string[]];
  readonly run: (dir: string) => readonly [file: string, ...args: string[]];
  /** A program that reads the cases from stdin and writes a list of answers. */
  readonly program: string;
}

/** `isGenuine` is the body of a function of `{ headers, body, secret }` that returns true or throws. */
const ofNode = (name: string, version: string, format: Format, imports: string, isGenuine: string): Library => ({
  name: `${name} ${version} from npm`,
  format,
  install: (dir) => ["npm", "install", "--silent", "--prefix", dir, `${name}@${version}`],
  run: (dir) => [process.execPath, join(dir, "program.mjs")],
  program: `
import { readFileSync } from "node:fs";
${imports}
const isGenuine = async ({ headers, body, secret }) => { ${isGenuine} };
const answers = [];
for (const one of JSON.parse(readFileSync(0, "utf8"))) answers.push(await isGenuine(one).catch(() => false));
console.log(JSON.stringify(answers));`,
});

/** Its check of advanced signatures leaves out the timestamp that Convoy signs, so only simple ones are tried. */
const ofConvoy: Library = {
  name: "convoy-python 0.2.0 from PyPI",
  format: "convoy",
  install: (dir) => [
    "python3",
    "-m",
    "pip",
    "install",
    "--quiet",
    "--no-deps",
    "--target",
    join(dir, "lib"),
    "convoy-python==0.2.0",
  ],
  run: (dir) => ["python3", join(dir, "program.py")],
  program: `
import importlib.util, json, pathlib, sys
where = pathlib.Path(__file__).parent / "lib/convoy/utils/webhook.py"
spec = importlib.util.spec_from_file_location("webhook", where)
webhook = importlib.util.module_from_spec(spec)
spec.loader.exec_module(webhook)
def is_genuine(case):
    try:
        return webhook.Webhook(case["secret"]).verify_signature(case["body"], case["headers"]["x-convoy-signature"]) is True
    except Exception:
        return False
print(json.dumps([is_genuine(case) for case in json.load(sys.stdin)]))`,
};

const LIBRARIES: readonly Library[] = [
  ofNode(
    "svix",
    "2.5.0",
    "svix",
    'import { Webhook } from "svix";',
    "new Webhook(secret).verify(body, headers); return true;",
  ),
  ofNode(
    "stripe",
    "23.1.0",
    "stripe",
    'import Stripe from "stripe"; const stripe = new Stripe("sk_test_1");',
    'stripe.webhooks.constructEvent(body, headers["stripe-signature"], secret); return true;',
  ),
  ofNode(
    "@octokit/webhooks-methods",
    "6.0.0",
    "github",
    'import { verify } from "@octokit/webhooks-methods";',
    'return verify(secret, body, headers["x-hub-signature-256"]);',
  ),
  ofConvoy,
];

/** Returns the reason why the library cannot be installed, or null. */
function install({ install: command, program, run }: Library, dir: string): string | null {
  mkdirSync(dir);
  writeFileSync(run(dir).at(-1)!, program);
  const [file, ...args] = command(dir);
  try {
    execFileSync(file, args, { stdio: ["ignore", "ignore", "pipe"], timeout: 50_000, cwd: dir });
    return null;
  } catch (error) {
    return String(error).split("\n").at(0)!;
  }
}

describe("the receivers' libraries of other senders", () => {
  it.each(LIBRARIES.map((library, at) => [library.name, library, at] as const))("%s", (name, library, at) => {
    const dir = join(scratch, String(at));
    const fault = install(library, dir);
    if (fault !== null) return void process.stderr.write(`SKIPPED: ${name} cannot be installed here: ${fault}\n`);
    const cases = casesOf(library.format);
    const [file, ...args] = library.run(dir);
    const answers = JSON.parse(
      execFileSync(file, args, { input: JSON.stringify(cases.map(([, one]) => one)), encoding: "utf8" }),
    ) as boolean[];
    const named = (of: (at: number) => boolean) => Object.fromEntries(cases.map(([what], index) => [what, of(index)]));
    expect(named((index) => answers[index]!)).toEqual(named((index) => cases[index]![2]));
  });
});
