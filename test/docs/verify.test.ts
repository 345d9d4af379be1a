import { execFile, execFileSync } from "node:child_process";
import { createHmac } from "node:crypto";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { afterAll, describe, expect, it } from "vitest";

const ROOT = resolve(import.meta.dirname, "../..");
const DIR = join(ROOT, "docs/verify");
const scratch = mkdtempSync(join(tmpdir(), "webhookd-verify-docs-"));
afterAll(() => rmSync(scratch, { recursive: true }));

const SECRETS = ["whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwMfKQ9r8GKYo=", "It's a Secret to Everybody"] as const;
const BODY = Buffer.from('{"id":"evt_1","data":{"name":"café","n":9007199254740993}}');
const BINARY = Buffer.from([0xff, 0x00, 0x0a, 0x80]);
const sign = (secret: string, body: Buffer) => createHmac("sha256", secret).update(body).digest("hex");
const genuine = sign(SECRETS[0], BODY);

interface Asked {
  readonly body: Buffer;
  readonly signature: string | null;
  readonly secrets: readonly string[];
}

const CASES: Readonly<Record<string, readonly [Asked, boolean]>> = {
  "a genuine body": [{ body: BODY, signature: genuine, secrets: [SECRETS[0]] }, true],
  "the second secret of two": [{ body: BODY, signature: sign(SECRETS[1], BODY), secrets: SECRETS }, true],
  "the first secret of two": [{ body: BODY, signature: genuine, secrets: SECRETS }, true],
  "upper case": [{ body: BODY, signature: genuine.toUpperCase(), secrets: SECRETS }, true],
  "bytes that are no UTF-8": [{ body: BINARY, signature: sign(SECRETS[0], BINARY), secrets: SECRETS }, true],
  "an empty body": [{ body: Buffer.alloc(0), signature: sign(SECRETS[0], Buffer.alloc(0)), secrets: SECRETS }, true],
  "a tampered body": [{ body: Buffer.concat([BODY, Buffer.from("\n")]), signature: genuine, secrets: SECRETS }, false],
  "other bytes that are no UTF-8": [
    { body: Buffer.from([0xfe]), signature: sign(SECRETS[0], Buffer.from([0xff])), secrets: SECRETS },
    false,
  ],
  "another secret": [{ body: BODY, signature: sign("another secret of ours", BODY), secrets: SECRETS }, false],
  "no secret": [{ body: BODY, signature: genuine, secrets: [] }, false],
  "no signature": [{ body: BODY, signature: null, secrets: SECRETS }, false],
  "an empty signature": [{ body: BODY, signature: "", secrets: SECRETS }, false],
  "a signature that is cut": [{ body: BODY, signature: genuine.slice(0, 62), secrets: SECRETS }, false],
  "a signature with more behind it": [{ body: BODY, signature: `${genuine}00`, secrets: SECRETS }, false],
  "no hex": [{ body: BODY, signature: "zz".repeat(32), secrets: SECRETS }, false],
  "no ASCII": [{ body: BODY, signature: "é".repeat(64), secrets: SECRETS }, false],
};
/** The cases in the form that the programs below read. */
const INPUT = JSON.stringify(
  Object.values(CASES).map(([{ body, signature, secrets }]) => ({ body: body.toString("base64"), signature, secrets })),
);
const EXPECTED = Object.fromEntries(Object.entries(CASES).map(([name, [, answer]]) => [name, answer]));

const GO = `package main
import ("encoding/base64"; "encoding/json"; "os"; "example.com/verify/verify")
func main() {
  var cases []struct { Body, Signature string; Secrets []string }
  if err := json.NewDecoder(os.Stdin).Decode(&cases); err != nil { panic(err) }
  answers := []bool{}
  for _, one := range cases {
    body, _ := base64.StdEncoding.DecodeString(one.Body)
    answers = append(answers, verify.IsGenuine(body, one.Signature, one.Secrets))
  }
  json.NewEncoder(os.Stdout).Encode(answers)
}`;

const JAVA = `import java.nio.file.*; import java.util.*; import java.util.stream.*;
public class Main {
  static byte[] read(String text) { return text.equals("-") ? null : Base64.getDecoder().decode(text); }
  static String text(byte[] bytes) { return bytes == null ? null : new String(bytes, java.nio.charset.StandardCharsets.UTF_8); }
  public static void main(String[] args) throws Exception {
    List<Boolean> answers = new ArrayList<>();
    for (String line : Files.readAllLines(Path.of(args[0]))) {
      List<byte[]> parts = Stream.of(line.split(",", -1)).map(Main::read).collect(Collectors.toList());
      List<String> secrets = parts.stream().skip(2).map(Main::text).toList();
      answers.add(Verify.isGenuine(parts.get(0), text(parts.get(1)), secrets));
    }
    System.out.println(answers);
  }
}`;

interface Runtime {
  readonly language: string;
  readonly file: string;
  /** A command that succeeds if the language is installed, such as one that prints its version. */
  readonly present: readonly [string, ...string[]];
  /** The command of a program that reads the cases from stdin and prints its answers. */
  readonly program: () => readonly [string, ...string[]];
}

const RUNTIMES: readonly Runtime[] = [
  {
    language: "js",
    file: "verify.mjs",
    present: [process.execPath, "--version"],
    program: () => [
      process.execPath,
      "--input-type=module",
      "-e",
      `import { isGenuine } from ${JSON.stringify(join(DIR, "verify.mjs"))};
       import { json } from "node:stream/consumers";
       const cases = await json(process.stdin);
       console.log(JSON.stringify(cases.map((one) => isGenuine(Buffer.from(one.body, "base64"), one.signature, one.secrets))));`,
    ],
  },
  {
    language: "python",
    file: "verify.py",
    present: ["python3", "--version"],
    program: () => [
      "python3",
      "-B",
      "-c",
      `import base64, json, sys
sys.path.insert(0, ${JSON.stringify(DIR)})
from verify import is_genuine
print(json.dumps([is_genuine(base64.b64decode(c["body"]), c["signature"], c["secrets"]) for c in json.load(sys.stdin)]))`,
    ],
  },
  {
    language: "go",
    file: "verify.go",
    present: ["go", "version"],
    program: () => {
      mkdirSync(join(scratch, "verify"));
      cpSync(join(DIR, "verify.go"), join(scratch, "verify/verify.go"));
      writeFileSync(join(scratch, "go.mod"), "module example.com/verify\n");
      writeFileSync(join(scratch, "main.go"), GO);
      return ["go", "run", "-C", scratch, "."];
    },
  },
  {
    language: "java",
    file: "Verify.java",
    present: ["javac", "--release", "17", "-version"],
    program: () => {
      const directory = join(scratch, "java");
      mkdirSync(directory);
      // Java has no JSON parser, so each case is a line. A missing value is "-".
      const lines = Object.values(CASES).map(([{ body, signature, secrets }]) =>
        [body, signature, ...secrets]
          .map((one) => (one === null ? "-" : Buffer.from(one).toString("base64")))
          .join(","),
      );
      writeFileSync(join(directory, "cases"), `${lines.join("\n")}\n`);
      writeFileSync(join(directory, "Main.java"), JAVA);
      execFileSync("javac", ["-d", directory, join(DIR, "Verify.java"), join(directory, "Main.java")]);
      return ["java", "-cp", directory, "Main", join(directory, "cases")];
    },
  },
  {
    language: "ruby",
    file: "verify.rb",
    present: ["ruby", "--version"],
    program: () => [
      "ruby",
      "-rjson",
      `-r${join(DIR, "verify.rb")}`,
      "-e",
      'puts JSON.generate(JSON.parse(STDIN.read).map { |c| genuine?(c["body"].unpack1("m"), c["signature"], c["secrets"]) })',
    ],
  },
  {
    language: "php",
    file: "verify.php",
    present: ["php", "--version"],
    program: () => [
      "php",
      "-r",
      `require ${JSON.stringify(join(DIR, "verify.php"))};
       $cases = json_decode(file_get_contents("php://stdin"), true);
       echo json_encode(array_map(fn($c) => is_genuine(base64_decode($c["body"]), $c["signature"], $c["secrets"]), $cases));`,
    ],
  },
];

function isPresent([file, ...args]: readonly [string, ...string[]]): boolean {
  try {
    execFileSync(file, args, { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
}

function answersOf([file, ...args]: readonly [string, ...string[]]): Promise<boolean[]> {
  return new Promise((done, fail) => {
    const env = { ...process.env, GOTOOLCHAIN: "local", GOPROXY: "off" };
    const child = execFile(file, args, { env }, (error, stdout, stderr) =>
      error === null ? done(JSON.parse(stdout) as boolean[]) : fail(new Error(stderr || error.message)),
    );
    child.stdin!.end(INPUT);
  });
}

describe.each(RUNTIMES)("the verifier in $language", ({ file, present, program }) => {
  const isHere = isPresent(present);
  if (!isHere)
    process.stderr.write(`SKIPPED: docs/verify/${file} is not run, because there is no ${present[0]} here\n`);

  it.skipIf(!isHere)(`tells genuine from tampered${isHere ? "" : `: NOT RUN, there is no ${present[0]}`}`, async () => {
    const answers = await answersOf(program());
    expect(Object.fromEntries(Object.keys(CASES).map((name, index) => [name, answers[index]]))).toEqual(EXPECTED);
  });

  it("fits on a screen, and the page beside it leads to it", () => {
    expect(readFileSync(join(DIR, file), "utf8").trimEnd().split("\n").length).toBeLessThanOrEqual(25);
    expect(readFileSync(join(DIR, "README.md"), "utf8")).toContain(`[${file}](${file})`);
  });
});
