import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join, resolve } from "node:path";
import { afterAll, beforeAll, describe, expect } from "vitest";
import { makeNpmPackage } from "../../scripts/release/npm.ts";
import { it } from "../harness/process.ts";

const ROOT = resolve(import.meta.dirname, "../..");
const read = (file: string) => readFileSync(file, "utf8");

/** A project that has installed the package and nothing else. */
let project: string;
let installed: string;
let archive: string;
beforeAll(async () => {
  project = mkdtempSync(join(tmpdir(), "webhookd-project-"));
  const target = `${process.platform}-${process.arch}`;
  archive = (await makeNpmPackage([target], project)).file;
  installed = join(project, "node_modules/webhookd");
  mkdirSync(installed, { recursive: true });
  execFileSync("tar", ["-xzf", archive, "-C", installed, "--strip-components=1"]);
});
afterAll(() => rmSync(project, { recursive: true, force: true }));

/** Returns the oldest installed Node that the client supports, or this one if there is no other. */
function oldestNode(): string {
  const found = (process.env.PATH ?? "").split(delimiter).map((directory) => {
    const file = join(directory, "node");
    try {
      return {
        file,
        major: Number(execFileSync(file, ["-p", "parseInt(process.versions.node)"], { encoding: "utf8" })),
      };
    } catch {
      return { file, major: 0 };
    }
  });
  const [oldest] = found.filter(({ major }) => major >= 20).toSorted((a, b) => a.major - b.major);
  return oldest?.file ?? process.execPath;
}

describe("the npm package", () => {
  it("installs nothing else, runs nothing when it is installed, and shows the client alone to imports", () => {
    const description = JSON.parse(read(join(installed, "package.json")));
    const { version } = JSON.parse(read(join(ROOT, "package.json"))) as { version: string };
    expect(description).toMatchObject({
      name: "webhookd",
      version,
      license: "MIT",
      type: "module",
      bin: { webhookd: "bin/webhookd.js" },
      engines: { node: ">=20" },
      exports: { "./client": { types: "./client/index.d.ts", default: "./client/index.js" } },
    });
    for (const field of ["private", "scripts", "dependencies", "optionalDependencies", "devDependencies"])
      expect(description).not.toHaveProperty(field);
  });

  it("holds the bundle, the client, texts, and nothing of the checkout beside", () => {
    expect(readdirSync(installed).toSorted()).toEqual(
      ["LICENSE", "README.md", "THIRD-PARTY-LICENSES", "bin", "client", "daemon", "package.json"].toSorted(),
    );
    expect(readdirSync(join(installed, "client")).toSorted()).toEqual(["README.md", "index.d.ts", "index.js"]);
    const kinds = new Set(readdirSync(join(installed, "daemon")).map((file) => file.replace(/^.*\./, "")));
    expect([...kinds].toSorted()).toEqual(["br", "cjs", "zst"]);
    // With the SQLite of all five platforms the archive is 7 MB.
    expect(statSync(archive).size).toBeLessThan(2.8e6);
  });

  it("serves and publishes: the daemon on this Node, the client on the oldest that it is for", async ({ machine }) => {
    const bin = join(installed, "bin/webhookd.js");
    const receiver = await machine.receiver();
    const daemon = await machine.serve({ program: [process.execPath, bin] });
    const { signing_secret: secret } = await daemon.register(receiver.url);
    const program = `
      import { connect, verify, ClientError } from "webhookd/client";
      const webhookd = connect(${JSON.stringify({ url: daemon.url, key: daemon.key })});
      const { id } = await webhookd.publish({ type: "budget.exceeded", data: { budget_id: "bud_1" } });
      const missing = await webhookd.call("getEvent", { id: "evt_0" }).catch((error) => error instanceof ClientError);
      console.log(JSON.stringify({ id, missing, verdict: verify("", "", "secret") }));`;
    writeFileSync(join(project, "program.mjs"), program);
    const publisher = machine.spawn(oldestNode(), [join(project, "program.mjs")], { cwd: project });
    expect([await publisher.exit, publisher.stderr]).toEqual([0, ""]);
    const { id, missing, verdict } = JSON.parse(publisher.stdout);
    expect([missing, verdict.reason]).toEqual([true, "no_signature"]);
    const request = await receiver.next();
    expect(request.headers["webhook-id"]).toBe(id);
    expect(receiver.verify(request, secret)).toBe(true);
    expect(await daemon.stop()).toBe(0);
  });

  it("says on an old Node that it is too old", () => {
    const old = `Object.defineProperty(process.versions, "node", { value: "22.1.0" });
      Object.defineProperty(process, "version", { value: "v22.1.0" });`;
    writeFileSync(join(project, "old.mjs"), old);
    const words = ["--import", join(project, "old.mjs"), join(installed, "bin/webhookd.js"), "--version"];
    const fails = () => execFileSync(process.execPath, words, { encoding: "utf8", stdio: "pipe" });
    expect(fails).toThrow(/this is Node v22\.1\.0, and webhookd needs Node 24 or newer/);
  });

  it("has the same types as the sources, for programs that check the types of what they import", () => {
    const source = join(ROOT, "src/client/publisher.ts");
    const program = `
      import * as packed from "webhookd/client";
      import type * as source from ${JSON.stringify(source)};
      type Same<A, B> = [A] extends [B] ? ([B] extends [A] ? true : false) : false;
      type Wide<T> = { [K in keyof T]: T[K] };
      type Answered = { [O in keyof source.Answers]: Same<Wide<packed.Answers[O & keyof packed.Answers]>, Wide<source.Answers[O]>> };
      type Differing = { [O in keyof Answered]: Answered[O] extends true ? never : O }[keyof Answered];
      // The sources know which of the two the answer of each is.
      const differing: readonly Exclude<Differing, "pauseDaemon" | "resumeDaemon">[] = [];
      const none: readonly never[] = differing;
      const publisher: packed.Publisher = packed.connect({ socket: "s" });
      // @ts-expect-error -- without data it is no event
      void publisher.publish({ type: "a.b" });
      for await (const { url } of publisher.every("listEndpoints")) url.toUpperCase();
      const verdict: source.Verdict = packed.verify("", undefined, ["a"]);
      export { none, verdict };`;
    writeFileSync(join(project, "types.mts"), program);
    const config = {
      extends: join(ROOT, "tsconfig.json"),
      compilerOptions: { typeRoots: [join(ROOT, "node_modules/@types")] },
      include: [],
      files: ["types.mts"],
    };
    writeFileSync(join(project, "tsconfig.json"), JSON.stringify(config));
    const check = () => execFileSync(join(ROOT, "node_modules/.bin/tsc"), ["-p", project], { encoding: "utf8" });
    try {
      check();
    } catch (error) {
      expect((error as { stdout: string }).stdout).toBe("");
    }
  });
});
