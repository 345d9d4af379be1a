import { chmodSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { exposures, loadConfig, rereadConfig } from "../../src/config.ts";
import { withoutSecrets } from "../../src/config/inputs.ts";
import {
  fileVariableOf,
  holdsSecret,
  isLive,
  nameOf,
  SETTINGS,
  type Setting,
  variableOf,
} from "../../src/config/schema.ts";
import { loadSettings } from "../../src/config/settings.ts";
import { judgeSecret, MAX_SECRET, readSecretFile } from "../../src/secret-file.ts";
import { aDirectory } from "../harness/daemon.ts";
import { inputs } from "./inputs.ts";

const SECRETS = SETTINGS.filter(holdsSecret);
const ADDRESS = "postgres://webhookd:pässw0rd@db1/webhookd";
const OTHER_ADDRESS = "postgres://webhookd:other@db1/webhookd";
/** A value of the setting's kind, and another one. */
const valuesOf = ({ kind }: Setting) =>
  kind === "pairs" ? ["authorization=Bearer%20p%C3%A4ssw0rd", "authorization=other"] : [ADDRESS, OTHER_ADDRESS];
const FILE = "/srv/app/webhookd.toml";

describe.each(SECRETS.map((setting) => [nameOf(setting), setting] as const))("%s", (name, setting) => {
  const { section, key } = setting;
  const [value, other] = valuesOf(setting) as [string, string];
  const [variable, fileVariable] = [variableOf(setting), fileVariableOf(setting)!];
  const secret = { "/run/secrets/one": `${value}\n`, "/srv/app/two": `${value}\r\n` };

  it.each([
    ["a variable", { env: { [variable]: value } }, variable],
    ["the file", { files: { [FILE]: `[${section}]\n${key} = "${value}"` } }, "webhookd.toml:2"],
    [
      "a file that a variable names",
      { env: { [fileVariable]: "/run/secrets/one" }, files: secret },
      `${fileVariable} (/run/secrets/one)`,
    ],
    [
      "a file beside the configuration, which names it",
      { files: { [FILE]: `[${section}]\n${key}_file = "two"`, ...secret } },
      "webhookd.toml:2 (/srv/app/two)",
    ],
    [
      "a file, if the configuration has another",
      {
        env: { [fileVariable]: "/run/secrets/one" },
        files: { [FILE]: `[${section}]\n${key} = "${other}"`, ...secret },
      },
      `${fileVariable} (/run/secrets/one)`,
    ],
  ])("comes from %s", (_, change, origin) => {
    const { settings, origins } = loadSettings(inputs(change));
    expect([settings[name], origins.get(name)?.()]).toEqual([value, origin]);
  });

  it("may not be given twice in the same place", () => {
    const both = { env: { [variable]: value, [fileVariable]: "/run/secrets/one" }, files: secret };
    expect(() => loadSettings(inputs(both))).toThrow(`${fileVariable}: ${variable} is set as well.\n  Unset one`);
    const text = `[${section}]\n${key}_file = "two"\n${key} = "${value}"`;
    const twice = inputs({ files: { [FILE]: text, ...secret } });
    expect(() => loadSettings(twice)).toThrow(`webhookd.toml:3: [${section}] has both ${key} and ${key}_file.`);
  });

  it("comes from where it is, if the variable for its file is empty", () => {
    const empty = { [fileVariable]: "" };
    const files = { [FILE]: `[${section}]\n${key} = "${value}"` };
    expect(loadSettings(inputs({ env: empty, files })).settings[name]).toBe(value);
    expect(loadSettings(inputs({ env: { ...empty, [variable]: value } })).settings[name]).toBe(value);
  });

  it("is read again on SIGHUP, and only what a running daemon can change takes effect", () => {
    const env = { [fileVariable]: "/run/secrets/one" };
    const before = loadConfig(inputs({ env, files: secret }));
    const next = { "/run/secrets/one": other };
    const { changed, needsRestart } = rereadConfig(before, inputs({ env, files: next }));
    expect({ changed, needsRestart }).toEqual(
      isLive(setting) ? { changed: [name], needsRestart: [] } : { changed: [], needsRestart: [name] },
    );
  });

  it("is not read by a program that only looks for the daemon", () => {
    const asked = withoutSecrets(inputs({ env: { [fileVariable]: "/none", WEBHOOKD_DATA_NODES: "true" } }));
    if (name === "data.store") expect(loadConfig(asked).data.nodes).toBe(true);
    expect(loadSettings({ ...asked, env: { [fileVariable]: "/none" } }).settings[name]).toBe(setting.default);
  });

  it("is refused if its file cannot be used, and the message says why without repeating it", () => {
    const env = { [fileVariable]: "/run/secrets/one" };
    const refused = (text: string | null) => () =>
      loadSettings(inputs({ env, files: text === null ? {} : { "/run/secrets/one": text } }));
    const where = `${fileVariable}: [${section}] ${key}_file: /run/secrets/one`;
    expect(refused(null)).toThrow(`${where} does not exist.\n  The file must hold one line`);
    expect(refused("\n")).toThrow(`${where} is empty.`);
    expect(refused("one\nseven\n")).toThrow(`${where} contains more than one line.`);
  });
});

it("a misspelt variable of a file is named", () => {
  const env = { WEBHOOKD_DATA_STORE_FIEL: "/run/secrets/one" };
  expect(() => loadSettings(inputs({ env }))).toThrow(/\[data\] store_fiel is unknown.\n {2}Did you mean store_file\?/);
});

describe("a file with a secret", () => {
  const written = (bytes: string | Uint8Array, mode = 0o600, file = join(aDirectory(), "secret")) => {
    writeFileSync(file, bytes);
    chmodSync(file, mode);
    return readSecretFile(file);
  };

  it("is one line of text, and one line end after it is ignored", () => {
    expect(written("s3cret")).toEqual({ text: "s3cret", isOpen: false });
    expect(written("s3cret\n")).toMatchObject({ text: "s3cret" });
    expect(written(" s3cret \r\n")).toMatchObject({ text: " s3cret " });
    expect(written("s3cret\n\n")).toEqual({ refused: " contains more than one line" });
    expect(written(Uint8Array.of(0x66, 0xff))).toEqual({ refused: ":1: is not UTF-8" });
    expect(written("a".repeat(MAX_SECRET))).toMatchObject({ isOpen: false });
    expect(written("a".repeat(MAX_SECRET + 1))).toEqual({ refused: " has more than 64 KiB, so it is no secret" });
    expect(judgeSecret(Buffer.from(" \n"))).toEqual({ refused: " is empty" });
    expect(readSecretFile(aDirectory())).toEqual({ refused: " cannot be read (EISDIR)" });
  });

  it("that every user can read is used, with a warning", () => {
    const file = join(aDirectory(), "secret");
    expect(written("s3cret", 0o644, file)).toEqual({ text: "s3cret", isOpen: true });
    const env = { WEBHOOKD_ALERTS_SECRET_FILE: file };
    const config = loadConfig({ ...inputs({ env }), readSecret: readSecretFile });
    expect(exposures(config)).toEqual([`Every user of this host can read the secret in ${file}: chmod o-r ${file}`]);
    chmodSync(file, 0o640);
    expect(exposures(loadConfig({ ...inputs({ env }), readSecret: readSecretFile }))).toEqual([]);
  });
});
