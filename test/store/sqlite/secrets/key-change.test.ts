import {
  accessSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { randomBytes } from "node:crypto";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { newPrivateKey } from "../../../../src/domain/endpoints/asymmetric.ts";
import { reissueSecrets, rekeyStore } from "../../../../src/store/opening/maintenance.ts";
import { isKeyOf } from "../../../../src/store/sqlite/secrets/key-change.ts";
import { openStore } from "../../../../src/store/opening/open.ts";
import { readSecretKey } from "../../../../src/store/files/key-files.ts";
import { Meta } from "../../../../src/store/sqlite/engine/meta.ts";
import { openFile } from "../../../../src/store/sqlite/engine/open-database.ts";
import type { Store } from "../../../../src/store/store.ts";
import { ManualClock } from "../../../harness/clock.ts";
import { addEndpoint, draft, withCapacity, START } from "../../fixtures.ts";
import { optionsOf } from "../../stores.ts";
import { Box } from "../../../../src/store/rows/box.ts";

/** Kills the process before the call that follows this many. After that no call changes a file. */
const life = vi.hoisted(() => ({ left: Number.POSITIVE_INFINITY }));

vi.mock("node:fs", async (original) => {
  const fs = await original<typeof import("node:fs")>();
  const mortal = <A extends unknown[], R>(call: (...args: A) => R) =>
    ((...args: A) => {
      // After a kill the system releases the lock, so that removal always works.
      if (!String(args[0]).endsWith("webhookd.pid") && life.left-- <= 0) throw new Error("killed");
      return call(...args);
    }) as typeof call;
  const open = ((path: string, flags: string, mode?: number) =>
    flags === "r" ? fs.openSync(path, flags) : mortal(fs.openSync)(path, flags, mode)) as typeof fs.openSync;
  return {
    ...fs,
    openSync: open,
    accessSync: vi.fn(fs.accessSync),
    writeSync: mortal(fs.writeSync as (...args: unknown[]) => number),
    fsyncSync: mortal(fs.fsyncSync),
    renameSync: mortal(fs.renameSync),
    rmSync: mortal(fs.rmSync),
    chmodSync: mortal(fs.chmodSync),
    chownSync: mortal(fs.chownSync),
  };
});

const home = mkdtempSync(join(tmpdir(), "webhookd-rekey-"));
afterAll(() => rmSync(home, { recursive: true, force: true }));

const clock = new ManualClock();
const [before, dir] = [join(home, "before"), join(home, "data")];
const secretKeyFile = join(dir, "secret.key");
const NEXT_KEY = newPrivateKey(randomBytes);
const HEADERS = { "x-token": "header-canary" };
const once = { key: "once", fingerprint: Buffer.alloc(32, 1), expiresAt: START + 86_400_000 };
const another = { ...once, fingerprint: Buffer.alloc(32, 2) };
let plain: string;
let headed: string;
let signed: string;
let secrets: readonly unknown[];

beforeAll(async () => {
  const { store } = await openStore(optionsOf({ dir: before, clock }));
  plain = await addEndpoint(store);
  headed = await addEndpoint(store, { headers: HEADERS });
  await store.secrets.rotate(null, headed, { secret: "the one that comes next", switchesAt: START + 60_000 }, START);
  signed = await addEndpoint(store, { tenant: "signed", signatures: ["ed25519"] });
  await store.signingKeys.rotate("signed", { secret: NEXT_KEY, switchesAt: START + 60_000 }, START);
  await store.signingKeys.publish("signed", true);
  secrets = await secretsOf(store);
  await store.events.publish([draft({ idempotency: once })], START, withCapacity);
  await store.close();
});

function prepare(without?: "secret.key"): void {
  life.left = Number.POSITIVE_INFINITY;
  rmSync(dir, { recursive: true, force: true });
  cpSync(before, dir, { recursive: true });
  if (without !== undefined) rmSync(join(dir, without));
}

async function secretsOf(store: Store) {
  return [
    await store.secrets.get(null, plain),
    await store.secrets.get(null, headed),
    await store.signingKeys.get("signed"),
  ];
}

const key = () => readFileSync(secretKeyFile, "utf8");
const again = () => openStore(optionsOf({ dir, clock, create: false }));
const rekey = () => rekeyStore({ dir, secretKeyFile, clock });
const reissue = () => reissueSecrets({ dir, secretKeyFile, clock, confirm: async () => true });

/** Repeats the change and kills it one call later each time, until it succeeds. */
async function killedEverywhere(change: () => Promise<unknown>, look: () => Promise<string>, without?: "secret.key") {
  const ends: string[] = [];
  for (let calls = 0, done = false; !done; calls++) {
    prepare(without);
    life.left = calls;
    done = await change().then(
      () => true,
      () => false,
    );
    life.left = Number.POSITIVE_INFINITY;
    ends.push(done ? "done" : await look());
  }
  return ends.join(" ");
}

describe("changing secret.key", () => {
  it("killed at any step leaves a store that opens with one key or the other, and every secret as it was", async () => {
    const old = readFileSync(join(before, "secret.key"), "utf8");
    const ends = await killedEverywhere(rekey, async () => {
      const { store } = await again();
      expect(await secretsOf(store)).toEqual(secrets);
      expect(await store.endpoints.target(headed)).toMatchObject({ headers: HEADERS });
      await store.close();
      expect(existsSync(`${secretKeyFile}.next`)).toBe(false);
      return key() === old ? "old" : "new";
    });
    expect(ends).toMatch(/^(old ){5,}(new ){5,}done$/);
  });

  it("under a store in use, killed at any step, does the same", async () => {
    const old = readFileSync(join(before, "secret.key"), "utf8");
    const inUse = async () => {
      const calls = life.left;
      life.left = Number.POSITIVE_INFINITY;
      const { store } = await again();
      life.left = calls;
      // A killed process loses its memory. Closing the file changes no other file.
      await store.operations.rekey().finally(() => store.close());
    };
    const ends = await killedEverywhere(inUse, async () => {
      const { store } = await again();
      expect(await secretsOf(store)).toEqual(secrets);
      expect(await store.endpoints.target(headed)).toMatchObject({ headers: HEADERS });
      await store.close();
      expect(existsSync(`${secretKeyFile}.next`)).toBe(false);
      return key() === old ? "old" : "new";
    });
    expect(ends).toMatch(/^(old ){5,}(new ){5,}done$/);
  });

  it("keeps the old key under its id, and knows the idempotency keys of before", async () => {
    prepare();
    const old = key();
    const { kept } = await rekey();
    expect([readFileSync(kept!, "utf8"), key() === old]).toEqual([old, false]);
    const { kept: second } = await rekey();
    expect(readdirSync(dir).filter((name) => name.includes(".old-"))).toHaveLength(2);
    expect(second).not.toBe(kept);
    const { store } = await again();
    const [repeated] = await store.events.publish([draft({ idempotency: once })], START, withCapacity);
    expect(repeated).toMatchObject({ duplicate: true });
    await expect(store.events.publish([draft({ idempotency: another })], START, withCapacity)).rejects.toThrow();
    await store.close();
  });

  it("goes nowhere with another store's key, or none", async () => {
    prepare("secret.key");
    await expect(rekey()).rejects.toMatchObject({
      exitCode: 1,
      hint: expect.stringMatching(/^put your copy back; if/),
    });
    await expect(again()).rejects.toMatchObject({
      exitCode: 1,
      hint: expect.stringMatching(/^put your copy back .*--key-only/),
    });
  });
});

describe("changing secret.key under a store in use", () => {
  it("takes up what changes meanwhile, in steps that leave turns to others", async () => {
    prepare();
    const { store } = await again();
    const rotating = await addEndpoint(store);
    for (let count = 1; count < 200; count++) await addEndpoint(store);
    let turns = 0;
    let isDone = false;
    const count = () => void (turns++, isDone || setImmediate(count));
    const changing = store.operations.rekey().finally(() => (isDone = true));
    count();
    const added = await addEndpoint(store, { headers: HEADERS });
    await store.secrets.rotate(null, plain, { secret: "another one", switchesAt: START }, START);
    const next = { secret: "the next one", switchesAt: START + 60_000 };
    await store.secrets.rotate(null, rotating, next, START);
    await store.endpoints.update(null, headed, (settings) => ({ ...settings, headers: { "x-new": "1" } }), START);
    expect(isDone).toBe(false);
    expect(await changing).toMatchObject({ keyFile: secretKeyFile, resealed: 204, damaged: [] });
    expect(turns).toBeGreaterThan(5);
    const look = async (at: Store) => {
      expect(await at.secrets.get(null, plain)).toMatchObject({ current: "another one" });
      expect(await at.secrets.get(null, rotating)).toMatchObject({ next });
      expect(await at.endpoints.target(headed)).toMatchObject({ headers: { "x-new": "1" } });
      expect(await at.endpoints.target(added)).toMatchObject({ headers: HEADERS });
      await at.close();
    };
    await look(store);
    await look((await again()).store);
  });

  it("goes on once its name can be taken, and never writes over the store's only key", async () => {
    prepare();
    const { store } = await again();
    const old = key();
    const kept = `${secretKeyFile}.old-${new Box(Buffer.from(old.trim(), "hex"), () => Buffer.alloc(12)).keyId}`;
    mkdirSync(`${kept}.tmp`);
    await expect(store.operations.rekey()).rejects.toMatchObject({
      code: "rekey_failed",
      detail: expect.stringContaining(".next"),
    });
    expect([key(), await secretsOf(store)]).toEqual([old, secrets]);
    const only = readFileSync(`${secretKeyFile}.next`, "utf8");
    await expect(store.operations.rekey()).rejects.toMatchObject({ code: "rekey_failed" });
    expect(readFileSync(`${secretKeyFile}.next`, "utf8")).toBe(only);
    rmdirSync(`${kept}.tmp`);
    const after = await store.operations.rekey();
    expect([readFileSync(kept, "utf8"), readFileSync(after.kept!, "utf8")]).toEqual([old, only]);
    await store.close();
    const { store: reopened } = await again();
    expect(await secretsOf(reopened)).toEqual(secrets);
    await reopened.close();
  });

  it("leaves the key of before in use where the transaction fails", async () => {
    prepare();
    const { store } = await again();
    const db = openFile(join(dir, "webhookd.db"), { timeout: 5000, nativeBinding: undefined });
    db.exec("CREATE TRIGGER no BEFORE UPDATE OF secret ON endpoint BEGIN SELECT RAISE(ABORT, 'no'); END");
    await expect(store.operations.rekey()).rejects.toThrow("no");
    expect(await secretsOf(store)).toEqual(secrets);
    db.exec("DROP TRIGGER no");
    db.close();
    const added = await addEndpoint(store, { headers: HEADERS });
    await store.close();
    const { store: reopened } = await again();
    expect([await secretsOf(reopened), existsSync(`${secretKeyFile}.next`)]).toEqual([secrets, false]);
    expect(await reopened.endpoints.target(added)).toMatchObject({ headers: HEADERS });
    await reopened.close();
  });

  it("is refused while a backup is made; one that is asked for meanwhile has rows and a key that fit", async () => {
    prepare();
    const { store } = await again();
    for (let count = 0; count < 100; count++) await addEndpoint(store);
    const place = { dir: join(dir, "backups"), mayMake: true, keep: 0, passphrase: "correct horse battery" };
    const backup = store.operations.backup(place, START);
    await expect(store.operations.rekey()).rejects.toMatchObject({ code: "backup_running" });
    await backup;
    const [rekeyed, same, { file }] = await Promise.all([
      store.operations.rekey(),
      store.operations.rekey(),
      store.operations.backup(place, START + 1),
    ]);
    expect(same).toEqual(rekeyed);
    const db = openFile(file, { timeout: 5000, nativeBinding: undefined });
    expect(isKeyOf(new Meta(db).keyCheck, readSecretKey(secretKeyFile))).toBe(true);
    db.close();
    await store.close();
  });

  it("changes nothing outside the data directory, and nothing that is read-only or another store's", async () => {
    prepare();
    const elsewhere = join(home, "elsewhere.key");
    cpSync(secretKeyFile, elsewhere);
    const { store: fed } = await openStore(optionsOf({ dir, clock, create: false, secretKeyFile: elsewhere }));
    const outside = { code: "key_not_changeable", detail: expect.stringContaining("WEBHOOKD_DATA_SECRET_KEY_FILE") };
    await expect(fed.operations.rekey()).rejects.toMatchObject(outside);
    await fed.close();
    const { store } = await again();
    const old = key();
    writeFileSync(secretKeyFile, `${"00".repeat(32)}\n`);
    await expect(store.operations.rekey()).rejects.toMatchObject({ code: "key_not_changeable" });
    writeFileSync(secretKeyFile, old);
    vi.mocked(accessSync).mockImplementationOnce(() => {
      throw new Error("EROFS");
    });
    await expect(store.operations.rekey()).rejects.toMatchObject({ detail: expect.stringContaining("is read-only") });
    await store.close();
    expect([key(), readdirSync(dir).filter((name) => name.includes("key."))]).toEqual([old, []]);
  });

  it("saves a store whose file was lost meanwhile", async () => {
    prepare();
    const { store } = await again();
    rmSync(secretKeyFile);
    expect(await store.operations.rekey()).toMatchObject({ kept: null });
    await store.close();
    const { store: reopened } = await again();
    expect(await secretsOf(reopened)).toEqual(secrets);
    await reopened.close();
  });
});

describe("reissuing secrets", () => {
  it("killed at any step leaves what was there, or new secrets that a start goes on with", async () => {
    const ends = await killedEverywhere(
      reissue,
      async () => {
        const opened = await again().catch((error: unknown) => error);
        if (opened instanceof Error) {
          expect(opened.message).toContain("is missing");
          // The command can be run again.
          await reissue();
          return "none";
        }
        await (opened as Awaited<ReturnType<typeof again>>).store.close();
        return "new";
      },
      "secret.key",
    );
    expect(ends).toMatch(/^(none ){5,}(new ){1,}done$/);
  });

  it("gives every endpoint a new one, holds back what lost its headers, and starts paused", async () => {
    prepare("secret.key");
    const reissued = await reissue();
    expect(reissued!.endpoints.map(({ endpoint, lostHeaders }) => [endpoint, lostHeaders])).toEqual([
      [plain, []],
      [headed, ["x-token"]],
      [signed, []],
    ]);
    const { store } = await again();
    const now = await store.secrets.get(null, plain);
    expect(now).toEqual({ current: expect.stringMatching(/^whsec_.{44}$/), next: null });
    expect(now).not.toEqual(secrets[0]);
    expect(await store.endpoints.target(headed)).toMatchObject({ damaged: { parts: ["headers"] } });
    const keys = await store.signingKeys.get("signed");
    expect(keys).toEqual({ current: expect.stringMatching(/^whsk_.{44}$/), next: null, published: true });
    expect(keys).not.toMatchObject({ current: (secrets[2] as { current: string }).current });
    expect(await store.endpoints.target(signed)).toMatchObject({
      privateKeys: [(keys as { current: string }).current],
    });
    expect(await store.operations.getPause()).toMatchObject({ by: "secrets reissue" });
    await store.endpoints.update(null, headed, (settings) => ({ ...settings, headers: HEADERS }), START);
    expect(await store.endpoints.target(headed)).toMatchObject({ headers: HEADERS, nextSigningSecret: null });
    await store.close();
  });

  it("is refused while the key is there, and changes nothing unless it is confirmed", async () => {
    prepare();
    await expect(reissue()).rejects.toMatchObject({ hint: expect.stringContaining("secrets rekey") });
    prepare("secret.key");
    expect(await reissueSecrets({ dir, secretKeyFile, clock, confirm: async () => false })).toBeNull();
    expect(readdirSync(dir).filter((name) => name.startsWith("secret.key"))).toEqual([]);
  });
});
