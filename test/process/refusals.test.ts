import { spawnSync } from "node:child_process";
import { generateKeyPairSync } from "node:crypto";
import { chmodSync, chownSync, existsSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect } from "vitest";
import { it, MAIN, type TestProcess } from "../harness/process.ts";
import { tlsFile } from "../harness/tls.ts";

const NOBODY = 65_534;
const isRoot = process.getuid?.() === 0;
/** Root may write everywhere, so the test runs as another user, who must be able to read the checkout. */
const canBeNobody = () => spawnSync(process.execPath, [MAIN, "version"], { uid: NOBODY, cwd: "/" }).status === 0;

describe.concurrent("serve refuses, in one sentence and with what to do next,", () => {
  it("a flag that it does not know", async ({ machine }) => {
    const refused = await refusal(machine.start({ flags: ["--listn", "127.0.0.1:1"] }), 2);
    expect(refused.what).toContain("--listn");
    expect(refused.todo).toContain("--help");
    expect(existsSync(machine.dir)).toBe(false);
  });

  it("a port that another program has", async ({ machine }) => {
    const { port } = await machine.receiver();
    const { what } = await refusal(machine.start({ flags: ["--listen", `127.0.0.1:${port}`] }), 1);
    expect(what).toContain(`127.0.0.1:${port}`);
    expect(what).toContain("--listen");
    // A user who starts the daemon a second time by mistake, with another directory, must not be left with a store and
    // a key there.
    expect(existsSync(machine.dir)).toBe(false);
  });

  it("a port that another program has when the store is there, which it lets go of", async ({ machine }) => {
    await (await machine.serve()).stop();
    const { port } = await machine.receiver();
    const { what } = await refusal(machine.start({ flags: ["--listen", `127.0.0.1:${port}`] }), 1);
    expect(what).toContain(`127.0.0.1:${port}: another program listens there`);
    await machine.serve();
  });

  it("a second daemon for the same store, before it looks for the port", async ({ machine }) => {
    const { url } = await machine.serve();
    const { what } = await refusal(machine.start({ flags: ["--listen", new URL(url).host] }), 75);
    expect(what).toContain(machine.dir);
  });

  it("a data directory that cannot be made", async ({ machine }) => {
    const file = join(machine.home, "file");
    writeFileSync(file, "");
    const { what } = await refusal(machine.start({ dir: join(file, "data") }), 74);
    expect(what).toContain(join(file, "data"));
  });

  it.skipIf(isRoot && !canBeNobody())("a data directory that it may not write", async ({ machine }) => {
    mkdirSync(machine.dir);
    chmodSync(machine.home, 0o755);
    if (isRoot) chownSync(machine.dir, NOBODY, -1);
    chmodSync(machine.dir, 0o500);
    const { what } = await refusal(machine.start(isRoot ? { uid: NOBODY } : {}), 74);
    expect(what).toContain(machine.dir);
  });

  it.skipIf(isRoot && !canBeNobody())("a data directory that it may not even look into", async ({ machine }) => {
    mkdirSync(machine.dir);
    chmodSync(machine.home, 0o755);
    chmodSync(machine.dir, isRoot ? 0o700 : 0);
    const { what, todo } = await refusal(machine.start(isRoot ? { uid: NOBODY } : {}), 74);
    expect(what).toContain(`${machine.dir} cannot be written to`);
    expect(todo).toContain("owner");
  });

  it.for(["", "secret.key", "admin.key"])(
    "a data directory whose %j other users may change",
    async (name, { machine }) => {
      await (await machine.serve()).stop();
      const path = join(machine.dir, name).replace(/\/$/, "");
      chmodSync(path, name === "" ? 0o770 : 0o620);
      const { what, todo } = await refusal(machine.start(), 1);
      expect(what).toContain(`${path} can be changed by other users (mode 0${name === "" ? "770" : "620"})`);
      expect(todo).toContain(`chmod go-w ${path}`);
    },
  );

  it.skipIf(!isRoot)("a data directory that is another user's, but backs it up for root", async ({ machine }) => {
    await (await machine.serve()).stop();
    chownSync(machine.dir, NOBODY, -1);
    const { what, todo } = await refusal(machine.start(), 1);
    expect(what).toContain(`${machine.dir} belongs to user ${NOBODY}, who can change it`);
    expect(todo).toContain("run webhookd as that user");
    expect(await machine.webhookd("backup", "--offline")).toMatchObject({ code: 0 });
  });

  it("a data directory that has lost its database", async ({ machine }) => {
    await (await machine.serve()).stop();
    rmSync(join(machine.dir, "webhookd.db"));
    const { what, todo } = await refusal(machine.start(), 65);
    expect(what).toContain(join(machine.dir, "webhookd.db"));
    expect(todo).toContain("restore");
  });

  it("to make a store with --no-create", async ({ machine }) => {
    const { what } = await refusal(machine.start({ flags: ["--no-create"] }), 1);
    expect(what).toContain(machine.dir);
    expect(existsSync(machine.dir)).toBe(false);
  });

  it("a configuration file with a key that it does not know, by file and line", async ({ machine }) => {
    const file = join(machine.home, "webhookd.toml");
    writeFileSync(file, '[server]\nlisten = "127.0.0.1:0"\n\n[retry]\ntimeot = "10s"\n');
    const { what, todo } = await refusal(machine.start({ flags: ["--config", file] }), 2);
    expect(what).toContain("webhookd.toml:5: [retry] timeot");
    expect(todo).toContain("timeout");
    expect(existsSync(machine.dir)).toBe(false);
  });
});

describe.concurrent("serve only warns", () => {
  it("about files that other users can read", async ({ machine }) => {
    await (await machine.serve()).stop();
    const key = join(machine.dir, "admin.key");
    chmodSync(machine.dir, 0o755);
    chmodSync(key, 0o644);
    const { process } = await machine.serve();
    const warning = await process.json(({ msg }) => String(msg).includes("other users can read"));
    expect(warning).toMatchObject({ level: "warn", open: [`${machine.dir} (mode 0755)`, `${key} (mode 0644)`] });
  });

  it("that it runs as root, and nobody else", async ({ machine }) => {
    const { process } = await machine.serve();
    expect(process.lines.filter((line) => line.includes("running as root")).length).toBe(isRoot ? 1 : 0);
  });
});

describe.concurrent("serve with TLS", () => {
  it("refuses a certificate that is not there, and one that does not fit its key, before it makes anything", async ({
    machine,
  }) => {
    const settings = { SERVER_TLS_CERT: tlsFile("good"), SERVER_TLS_KEY: join(machine.home, "none.pem") };
    const missing = await refusal(machine.start({ settings }), 2);
    expect(missing.what).toBe(`[server] tls_key: ${settings.SERVER_TLS_KEY} cannot be read (ENOENT)`);
    const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
    writeFileSync(settings.SERVER_TLS_KEY, privateKey.export({ type: "pkcs8", format: "pem" }));
    const { what, todo } = await refusal(machine.start({ settings }), 2);
    expect(what).toContain(`does not belong to the first certificate in ${settings.SERVER_TLS_CERT}`);
    expect(todo).toContain("chain");
    expect(existsSync(machine.dir)).toBe(false);
  });

  it("only warns of an expired one", async ({ machine }) => {
    const settings = { SERVER_TLS_CERT: tlsFile("expired"), SERVER_TLS_KEY: tlsFile("leaf.key") };
    const daemon = await machine.serve({ settings });
    expect(daemon.url).toMatch(/^https:/);
    const warning = await daemon.process.json(({ msg }) => String(msg).includes("expired at 2020-02-01"));
    expect(warning).toMatchObject({ level: "warn", file: settings.SERVER_TLS_CERT });
    expect(await daemon.stop()).toBe(0);
  });
});

/** Returns the two lines that a person gets. Any other output, above all a stack trace, fails. */
async function refusal(process: TestProcess, code: number): Promise<{ what: string; todo: string }> {
  expect(await process.exit, process.stderr).toBe(code);
  const [, what, todo] = /^webhookd: ([^\n]+)\n(?: {2}([^\n]+)\n)?$/.exec(process.stderr) ?? [];
  expect(what, process.stderr).toBeDefined();
  expect(process.stdout).not.toContain("listening");
  return { what: what!, todo: todo ?? "" };
}
