import { cpSync, existsSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { EXIT } from "../../cli/exit-code.ts";
import { TestDaemon } from "../harness/daemon.ts";
import { openStore } from "../../src/store/opening/open.ts";
import { addEndpoint, START } from "../store/fixtures.ts";
import { optionsOf } from "../store/stores.ts";
import { FakeIo } from "./fake-io.ts";
import { webhookd } from "./runs.ts";

const PASSPHRASE = "correct horse battery";
const home = mkdtempSync(join(tmpdir(), "webhookd-secrets-"));
const [whole, dir, passphrase] = [join(home, "whole"), join(home, "data"), join(home, "passphrase")];
let endpoint: string;
let sealed: string;
let bare: string;
let elsewhere: string;

// All tests share the backups, because sealing takes half a second.
beforeAll(async () => {
  writeFileSync(passphrase, `${PASSPHRASE}\n`, { mode: 0o600 });
  const backup = async (of: string, seal: boolean, at: number) => {
    const { store } = await openStore(optionsOf({ dir: of, create: true }));
    if (of === whole && !seal) endpoint = await addEndpoint(store, { uid: "cus_7", headers: { "x-token": "canary" } });
    const rules = { dir: join(home, "backups"), mayMake: true, keep: 0, ...(seal && { passphrase: PASSPHRASE }) };
    const { file } = await store.operations.backup(rules, START + at);
    await store.close();
    return file;
  };
  bare = await backup(whole, false, 0);
  sealed = await backup(whole, true, 1);
  elsewhere = await backup(join(home, "other"), true, 2);
});
afterAll(() => rmSync(home, { recursive: true, force: true }));
beforeEach(() => {
  rmSync(dir, { recursive: true, force: true });
  cpSync(whole, dir, { recursive: true });
});

async function run(words: readonly string[], options: ConstructorParameters<typeof FakeIo>[0] = {}) {
  const io = new FakeIo(options);
  const code = await webhookd(io, ...words, "--data-dir", dir);
  return { code, out: io.out, err: io.err };
}

const keyFile = join(dir, "secret.key");
/** These bytes are not even UTF-8: a file that is set aside must keep every byte. */
const NO_KEY = Buffer.from("not a k\xe9y\n", "latin1");
const keyOnly = (backup: string) => run(["restore", "--key-only", backup, "--seal-with", passphrase]);

describe("webhookd restore --key-only", () => {
  it("takes the key out of a sealed backup, and leaves the store as it is", async () => {
    const [key, database] = [readFileSync(keyFile, "utf8"), readFileSync(join(dir, "webhookd.db"))];
    for (const damage of [() => rmSync(keyFile), () => writeFileSync(keyFile, NO_KEY, { mode: 0o600 })]) {
      damage();
      const { code, out } = await keyOnly(sealed);
      expect([code, out]).toEqual([EXIT.ok, expect.stringContaining("The store is unchanged.\n")]);
      expect(readFileSync(keyFile, "utf8")).toBe(key);
    }
    expect(readFileSync(join(dir, "webhookd.db")).equals(database)).toBe(true);
    expect(readFileSync(join(dir, "secret.key.old-unreadable"))).toEqual(NO_KEY);
    const { store } = await openStore(optionsOf({ dir, create: false }));
    expect([await store.operations.getPause(), await store.endpoints.target(endpoint)]).toMatchObject([
      null,
      { enabled: true },
    ]);
    await store.close();
  });

  it("changes nothing where the key fits already, is not in the backup, or is another store's", async () => {
    expect(await keyOnly(sealed)).toMatchObject({
      code: EXIT.refused,
      err: expect.stringContaining("nothing needs to be"),
    });
    renameSync(keyFile, `${keyFile}.away`);
    expect(await keyOnly(bare)).toMatchObject({ code: EXIT.refused, err: expect.stringContaining("is not in") });
    expect(await keyOnly(elsewhere)).toMatchObject({
      code: EXIT.refused,
      err: expect.stringContaining("not the key of"),
    });
    const words = ["restore", "--key-only", sealed, "--seal-with", passphrase, "--secret-key", `${keyFile}.away`];
    expect((await run(words)).code).toBe(EXIT.usage);
  });
});

describe("webhookd secrets", () => {
  it("reissue shows the endpoints that it affects, asks for their number, and lists whom to notify", async () => {
    rmSync(keyFile);
    expect((await run(["secrets", "reissue"])).code).toBe(EXIT.usage);
    const refused = await run(["secrets", "reissue"], { isTTY: true, input: ["yes"] });
    expect([refused.code, refused.err]).toEqual([EXIT.refused, expect.stringContaining(endpoint)]);
    const { code, out } = await run(["secrets", "reissue", "--yes", "--json"]);
    expect([code, JSON.parse(out)]).toMatchObject([
      EXIT.ok,
      { secret_key_file: keyFile, paused: true, endpoints: [{ endpoint, uid: "cus_7", lost_headers: ["x-token"] }] },
    ]);
    expect(out).not.toContain("whsec_");
  });

  it("reissue says what to type next", async () => {
    rmSync(keyFile);
    const { code, out } = await run(["secrets", "reissue", "--yes"]);
    expect(code).toBe(EXIT.ok);
    expect(out).toMatch(/^1 endpoint has a new signing secret\. Tell the people who run:\n/);
    for (const next of ["PAUSED", "webhookd endpoints secret ep_…", "--headers-from FILE", "webhookd resume"]) {
      expect(out).toContain(next);
    }
  });

  it("rekey says where the old key is kept", async () => {
    const old = readFileSync(keyFile, "utf8");
    const { code, out } = await run(["secrets", "rekey", "--json"]);
    const { kept, secret_key_file: file, ...rest } = JSON.parse(out);
    expect([code, file, readFileSync(kept, "utf8")]).toEqual([EXIT.ok, keyFile, old]);
    expect(rest).toEqual({ resealed: 1, key_id: expect.stringMatching(/^[0-9a-f]{8}$/), damaged: [] });
    expect((await run(["secrets", "rekey"])).out).toContain("No signing secret changed.\n");
  });

  it("rekey asks the daemon that runs on the directory, and prints the same", async () => {
    const daemon = await TestDaemon.start({ dir });
    const old = readFileSync(keyFile, "utf8");
    const there = { machine: { exists: existsSync } };
    const { code, out } = await run(["secrets", "rekey", "--json"], there);
    const { kept, ...rest } = JSON.parse(out);
    expect([code, readFileSync(kept, "utf8")]).toEqual([EXIT.ok, old]);
    const key_id = expect.stringMatching(/^[0-9a-f]{8}$/);
    expect(rest).toEqual({ resealed: 1, secret_key_file: keyFile, key_id, damaged: [] });
    expect((await run(["secrets", "rekey"], there)).out).toMatch(
      /^1 endpoint is now sealed with the new key [0-9a-f]{8} in .*\nCopy that file off this host, and make a backup: .*\nOlder /,
    );
    const { body } = await daemon.request("GET", "/v1/audit?action=secret_key.rekey");
    expect(body.data.map(({ outcome }: { outcome: string }) => outcome)).toEqual(["ok", "ok"]);
    await daemon.stop();
  });

  it("rekey does not take another directory's daemon for the one that is named", async () => {
    const daemon = await TestDaemon.start({ settings: { SERVER_SOCKET: join(dir, "webhookd.sock") } });
    const [own, others] = [readFileSync(keyFile, "utf8"), readFileSync(join(daemon.dir, "secret.key"), "utf8")];
    expect((await run(["secrets", "rekey"], { machine: { exists: existsSync } })).code).toBe(EXIT.ok);
    expect(readFileSync(keyFile, "utf8")).not.toBe(own);
    expect(readFileSync(join(daemon.dir, "secret.key"), "utf8")).toBe(others);
    expect((await run(["secrets", "rekey", "--socket", daemon.daemon.socket!])).code).toBe(EXIT.usage);
    await daemon.stop();
  });

  it("rekey works on the directory where its key is not to be sent to its address, or is another daemon's", async () => {
    const other = await TestDaemon.start();
    const { port } = new URL(other.url);
    for (const listen of ["192.0.2.1:8420", `127.0.0.1:${port}`]) {
      const there = {
        machine: { exists: existsSync },
        env: { WEBHOOKD_SERVER_LISTEN: listen, WEBHOOKD_SERVER_BEHIND_PROXY: "true" },
      };
      expect((await run(["secrets", "rekey"], there)).code).toBe(EXIT.ok);
    }
    await other.stop();
  });

  it("rekey changes nothing under a daemon that cannot be found", async () => {
    const { store } = await openStore(optionsOf({ dir }));
    const old = readFileSync(keyFile, "utf8");
    expect((await run(["secrets", "rekey"])).code).toBe(EXIT.data_held);
    await store.close();
    expect(readFileSync(keyFile, "utf8")).toBe(old);
  });
});
