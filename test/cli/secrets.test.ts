import { cpSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { EXIT } from "../../cli/exit-code.ts";
import { openStore } from "../../src/store/open.ts";
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

// Once for all: sealing takes half a second.
beforeAll(async () => {
  writeFileSync(passphrase, `${PASSPHRASE}\n`, { mode: 0o600 });
  const backup = async (of: string, seal: boolean, at: number) => {
    const { store } = await openStore(optionsOf({ dir: of, create: true }));
    if (of === whole && !seal) endpoint = await addEndpoint(store, { uid: "cus_7", headers: { "x-token": "canary" } });
    const rules = { dir: join(home, "backups"), mayMake: true, keep: 0, ...(seal && { passphrase: PASSPHRASE }) };
    const { file } = await store.backup(rules, START + at);
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
const keyOnly = (backup: string) => run(["restore", "--key-only", backup, "--seal-with", passphrase]);

describe("webhookd restore --key-only", () => {
  it("takes the key out of a sealed backup, and leaves the store as it is", async () => {
    const [key, database] = [readFileSync(keyFile, "utf8"), readFileSync(join(dir, "webhookd.db"))];
    for (const damage of [() => rmSync(keyFile), () => writeFileSync(keyFile, "not a key\n", { mode: 0o600 })]) {
      damage();
      const { code, out } = await keyOnly(sealed);
      expect([code, out]).toEqual([EXIT.ok, expect.stringContaining("The store is as it was.\n")]);
      expect(readFileSync(keyFile, "utf8")).toBe(key);
    }
    expect(readFileSync(join(dir, "webhookd.db")).equals(database)).toBe(true);
    expect(readFileSync(join(dir, "secret.key.old-unreadable"), "utf8")).toBe("not a key\n");
    const { store } = await openStore(optionsOf({ dir, create: false }));
    expect([await store.getPause(), await store.target(endpoint)]).toMatchObject([null, { enabled: true }]);
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
      err: expect.stringContaining("not the one of"),
    });
    const words = ["restore", "--key-only", sealed, "--seal-with", passphrase, "--secret-key", `${keyFile}.away`];
    expect((await run(words)).code).toBe(EXIT.usage);
  });
});

describe("webhookd secrets", () => {
  it("reissue shows whom it touches, asks for their count, and lists who must be told", async () => {
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
    expect(out).toMatch(/^1 endpoint has a new signing secret\. Tell the people of each:\n/);
    for (const next of ["PAUSED", "webhookd endpoints secret ep_…", "--headers-from FILE", "webhookd resume"]) {
      expect(out).toContain(next);
    }
  });

  it("rekey says where the old key is kept", async () => {
    const old = readFileSync(keyFile, "utf8");
    const { code, out } = await run(["secrets", "rekey", "--json"]);
    const { old_key_file: kept, secret_key_file: file } = JSON.parse(out);
    expect([code, file, readFileSync(kept, "utf8")]).toEqual([EXIT.ok, keyFile, old]);
    expect((await run(["secrets", "rekey"])).out).toContain("No endpoint's secret changed.\n");
  });
});
