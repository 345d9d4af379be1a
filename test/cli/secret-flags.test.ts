import { expect, it } from "vitest";
import { holdsSecret, nameOf, SETTINGS } from "../../src/config/schema.ts";
import { EXIT } from "../../cli/exit-code.ts";
import { FakeIo } from "./fake-io.ts";
import { LOADED } from "./loaded.ts";
import { webhookd } from "./runs.ts";

/** Every user of a host can list the flags of its processes. */
const WORDS = /key|secret|pass|token|credential/;
/** These values have such a word in their name, but give access to nothing. */
const NAMES_ONLY = ["ordering-key", "idempotency-key", "keys revoke key", "doctor repair-secret"];

const flags = Object.entries(LOADED).flatMap(([command, { args = {} }]) =>
  Object.entries(args).map(([name, flag]) => ({ command, name, flag })),
);

it("no flag takes a secret, only the name of a file", () => {
  const taking = flags.filter(({ command, name, flag }) => {
    const isName = NAMES_ONLY.includes(name) || NAMES_ONLY.includes(`${command} ${name}`);
    return flag.type !== "boolean" && WORDS.test(name) && !isName;
  });
  expect(taking.length).toBeGreaterThan(10);
  expect(taking.filter(({ flag }) => flag.valueHint !== "FILE")).toEqual([]);
});

it("no flag of serve stands for a setting that holds a secret", () => {
  const secrets = SETTINGS.filter(holdsSecret).map(nameOf);
  const words = secrets.flatMap((name) => [name.replace(/^.*\./, ""), name.replaceAll(/[._]/g, "-")]);
  expect(Object.keys(LOADED.serve.args ?? {}).filter((flag) => words.includes(flag.replaceAll("-", "_")))).toEqual([]);
});

it.each(["postgres://webhookd:s3cret@db1/webhookd", "postgres://webhookd@db1/webhookd?password=s3cret"])(
  "migrate refuses an address with a password, without repeating it: %s",
  async (address) => {
    for (const flag of ["--to", "--from"]) {
      const io = new FakeIo();
      expect(await webhookd(io, "migrate", flag, address)).toBe(EXIT.usage);
      expect(io.err).toContain("set PGPASSWORD");
      expect(io.out + io.err).not.toContain("s3cret");
    }
  },
);
