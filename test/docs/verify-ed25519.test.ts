import { execFile, execFileSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { AsymmetricSigningKey, newPrivateKey, publicKeyOf } from "../../src/domain/endpoints/asymmetric.ts";

const DIR = resolve(import.meta.dirname, "../../docs/verify-ed25519");
const scratch = mkdtempSync(join(tmpdir(), "webhookd-verify-ed25519-"));
afterAll(() => rmSync(scratch, { recursive: true }));

const PRIVATE = [newPrivateKey(randomBytes), newPrivateKey(randomBytes)] as const;
const KEYS = PRIVATE.map(publicKeyOf) as [string, string];
const BODY = Buffer.from('{"id":"evt_1","data":{"name":"café","n":9007199254740993}}');
const BINARY = Buffer.from([0xff, 0x00, 0x0a, 0x80]);
const NOW = Math.floor(Date.now() / 1000);
const HMAC = `v1,${randomBytes(32).toString("base64")}`;

interface Asked {
  readonly body: Buffer;
  readonly id: string;
  readonly timestamp: string;
  readonly signature: string;
  readonly keys: readonly string[];
}

const signed = (by: 0 | 1, body: Buffer, at = NOW) =>
  new AsymmetricSigningKey(PRIVATE[by]).signStandard("evt_1", at, body);
const asked = (more: Partial<Asked> = {}): Asked => ({
  body: BODY,
  id: "evt_1",
  timestamp: String(NOW),
  signature: signed(0, BODY),
  keys: [KEYS[0]],
  ...more,
});
const genuine = signed(0, BODY);

const CASES: Readonly<Record<string, readonly [Asked, boolean]>> = {
  "a genuine request": [asked(), true],
  "an entry behind an HMAC": [asked({ signature: `${HMAC} ${genuine}` }), true],
  "the second key of two": [asked({ signature: signed(1, BODY), keys: KEYS }), true],
  "the second entry of two": [asked({ signature: `${signed(1, BODY)} ${genuine}` }), true],
  "bytes that are no UTF-8": [asked({ body: BINARY, signature: signed(0, BINARY) }), true],
  "an empty body": [asked({ body: Buffer.alloc(0), signature: signed(0, Buffer.alloc(0)) }), true],
  "a tampered body": [asked({ body: Buffer.concat([BODY, Buffer.from("\n")]) }), false],
  "another id": [asked({ id: "evt_2" }), false],
  "another timestamp": [asked({ timestamp: String(NOW - 1) }), false],
  "an old request": [asked({ timestamp: String(NOW - 3600), signature: signed(0, BODY, NOW - 3600) }), false],
  "a request of the future": [asked({ timestamp: String(NOW + 3600), signature: signed(0, BODY, NOW + 3600) }), false],
  "no timestamp": [asked({ timestamp: "" }), false],
  "another key": [asked({ keys: [KEYS[1]] }), false],
  "no key": [asked({ keys: [] }), false],
  "an HMAC alone": [asked({ signature: HMAC }), false],
  "an entry of another version": [asked({ signature: genuine.replace("v1a,", "v1,") }), false],
  "a signature that is cut": [asked({ signature: genuine.slice(0, 40) }), false],
  "no base64": [asked({ signature: "v1a,!!!!" }), false],
  "no signature": [asked({ signature: "" }), false],
};
const EXPECTED = Object.fromEntries(Object.entries(CASES).map(([name, [, answer]]) => [name, answer]));
const headersOf = ({ id, timestamp, signature }: Asked) => ({
  "webhook-id": id,
  "webhook-timestamp": timestamp,
  "webhook-signature": signature,
});
/** The input that the programs below read. */
const INPUT = JSON.stringify(
  Object.values(CASES).map(([one]) => ({
    body: one.body.toString("base64"),
    headers: headersOf(one),
    keys: one.keys,
  })),
);

const GO = `package main
import ("encoding/base64"; "encoding/json"; "net/http"; "os"; "example.com/verify/verify")
func main() {
  var cases []struct { Body string; Headers map[string]string; Keys []string }
  if err := json.NewDecoder(os.Stdin).Decode(&cases); err != nil { panic(err) }
  answers := []bool{}
  for _, one := range cases {
    body, _ := base64.StdEncoding.DecodeString(one.Body)
    headers := http.Header{}
    for name, value := range one.Headers { headers.Set(name, value) }
    answers = append(answers, verify.IsGenuine(body, headers, one.Keys))
  }
  json.NewEncoder(os.Stdout).Encode(answers)
}`;

const JAVA = `import java.nio.file.*; import java.util.*; import java.util.stream.*;
public class Main {
  static byte[] read(String text) { return Base64.getDecoder().decode(text); }
  static String text(String text) { return new String(read(text), java.nio.charset.StandardCharsets.UTF_8); }
  public static void main(String[] args) throws Exception {
    List<Boolean> answers = new ArrayList<>();
    for (String line : Files.readAllLines(Path.of(args[0]))) {
      String[] parts = line.split(",", -1);
      Map<String, String> headers = Map.of("webhook-id", text(parts[1]), "webhook-timestamp", text(parts[2]), "webhook-signature", text(parts[3]));
      answers.add(Verify.isGenuine(read(parts[0]), headers, Arrays.stream(parts).skip(4).map(Main::text).toList()));
    }
    System.out.println(answers);
  }
}`;

interface Runtime {
  readonly file: string;
  /** A command that fails if the language is not installed. */
  readonly present: readonly [string, ...string[]];
  /** A program that reads the cases and prints its answers. */
  readonly program: () => readonly [string, ...string[]];
}

const RUNTIMES: readonly Runtime[] = [
  {
    file: "verify.mjs",
    present: [process.execPath, "--version"],
    program: () => [
      process.execPath,
      "--input-type=module",
      "-e",
      `import { isGenuine } from ${JSON.stringify(join(DIR, "verify.mjs"))};
       import { json } from "node:stream/consumers";
       const cases = await json(process.stdin);
       console.log(JSON.stringify(cases.map((one) => isGenuine(Buffer.from(one.body, "base64"), one.headers, one.keys))));`,
    ],
  },
  {
    file: "verify.py",
    present: ["python3", "-c", "import cryptography"],
    program: () => [
      "python3",
      "-B",
      "-c",
      `import base64, json, sys
sys.path.insert(0, ${JSON.stringify(DIR)})
from verify import is_genuine
print(json.dumps([is_genuine(base64.b64decode(c["body"]), c["headers"], c["keys"]) for c in json.load(sys.stdin)]))`,
    ],
  },
  {
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
    file: "Verify.java",
    present: ["javac", "--release", "17", "-version"],
    program: () => {
      const directory = join(scratch, "java");
      mkdirSync(directory);
      // One case per line, because Java has no JSON.
      const lines = Object.values(CASES).map(([{ body, id, timestamp, signature, keys }]) =>
        [body, id, timestamp, signature, ...keys].map((one) => Buffer.from(one).toString("base64")).join(","),
      );
      writeFileSync(join(directory, "cases"), `${lines.join("\n")}\n`);
      writeFileSync(join(directory, "Main.java"), JAVA);
      execFileSync("javac", ["-d", directory, join(DIR, "Verify.java"), join(directory, "Main.java")]);
      return ["java", "-cp", directory, "Main", join(directory, "cases")];
    },
  },
  {
    file: "verify.rb",
    present: ["ruby", "--version"],
    program: () => [
      "ruby",
      "-rjson",
      `-r${join(DIR, "verify.rb")}`,
      "-e",
      'puts JSON.generate(JSON.parse(STDIN.read).map { |c| genuine?(c["body"].unpack1("m"), c["headers"], c["keys"]) })',
    ],
  },
  {
    file: "verify.php",
    present: ["php", "--version"],
    program: () => [
      "php",
      "-r",
      `require ${JSON.stringify(join(DIR, "verify.php"))};
       $cases = json_decode(file_get_contents("php://stdin"), true);
       echo json_encode(array_map(fn($c) => is_genuine(base64_decode($c["body"]), $c["headers"], $c["keys"]), $cases));`,
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

describe.each(RUNTIMES)("docs/verify-ed25519/$file", ({ file, present, program }) => {
  const isHere = isPresent(present);
  if (!isHere)
    process.stderr.write(`SKIPPED: docs/verify-ed25519/${file} is not run: ${present.join(" ")} fails here\n`);

  it.skipIf(!isHere)(`tells genuine from tampered${isHere ? "" : `: NOT RUN, there is no ${present[0]}`}`, async () => {
    const answers = await answersOf(program());
    expect(Object.fromEntries(Object.keys(CASES).map((name, index) => [name, answers[index]]))).toEqual(EXPECTED);
  });

  it("is named by the page beside it", () => {
    expect(readFileSync(join(DIR, "README.md"), "utf8")).toContain(`[${file}](${file})`);
  });
});
