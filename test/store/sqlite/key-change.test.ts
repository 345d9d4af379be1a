import { cpSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { reissueSecrets, rekeyStore } from "../../../src/store/change-key.ts";
import { openStore } from "../../../src/store/open.ts";
import { ManualClock } from "../../harness/clock.ts";
import { addEndpoint, draft, room, START } from "../fixtures.ts";
import { optionsOf } from "../stores.ts";

/** Dies before the call that comes after so many; the dead change no file any more. */
const life = vi.hoisted(() => ({ left: Number.POSITIVE_INFINITY }));

vi.mock("node:fs", async (original) => {
  const fs = await original<typeof import("node:fs")>();
  const mortal = <A extends unknown[], R>(call: (...args: A) => R) =>
    ((...args: A) => {
      // The lock is let go of by the system, and by nobody's call.
      if (!String(args[0]).endsWith("webhookd.pid") && life.left-- <= 0) throw new Error("killed");
      return call(...args);
    }) as typeof call;
  const open = ((path: string, flags: string, mode?: number) =>
    flags === "r" ? fs.openSync(path, flags) : mortal(fs.openSync)(path, flags, mode)) as typeof fs.openSync;
  return {
    ...fs,
    openSync: open,
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
const HEADERS = { "x-token": "header-canary" };
const once = { key: "once", fingerprint: Buffer.alloc(32, 1), expiresAt: START + 86_400_000 };
const another = { ...once, fingerprint: Buffer.alloc(32, 2) };
let plain: string;
let headed: string;
let secrets: readonly unknown[];

beforeAll(async () => {
  const { store } = await openStore(optionsOf({ dir: before, clock }));
  plain = await addEndpoint(store);
  headed = await addEndpoint(store, { headers: HEADERS });
  await store.rotateSecret(null, headed, { secret: "the one that comes next", switchesAt: START + 60_000 }, START);
  secrets = [await store.signingSecrets(null, plain), await store.signingSecrets(null, headed)];
  await store.publish([draft({ idempotency: once })], START, room);
  await store.close();
});

function prepare(without?: "secret.key"): void {
  life.left = Number.POSITIVE_INFINITY;
  rmSync(dir, { recursive: true, force: true });
  cpSync(before, dir, { recursive: true });
  if (without !== undefined) rmSync(join(dir, without));
}

const key = () => readFileSync(secretKeyFile, "utf8");
const again = () => openStore(optionsOf({ dir, clock, create: false }));
const rekey = () => rekeyStore({ dir, secretKeyFile, clock });
const reissue = () => reissueSecrets({ dir, secretKeyFile, clock, confirm: async () => true });

/** Does it again and again, killed before one more of its changes each time, until it lives. */
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
      expect([await store.signingSecrets(null, plain), await store.signingSecrets(null, headed)]).toEqual(secrets);
      expect(await store.target(headed)).toMatchObject({ headers: HEADERS });
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
    const [repeated] = await store.publish([draft({ idempotency: once })], START, room);
    expect(repeated).toMatchObject({ duplicate: true });
    await expect(store.publish([draft({ idempotency: another })], START, room)).rejects.toThrow();
    await store.close();
  });

  it("goes nowhere with another store's key, or none", async () => {
    prepare("secret.key");
    await expect(rekey()).rejects.toMatchObject({ exitCode: 1, hint: expect.stringMatching(/^put the copy back; if/) });
    await expect(again()).rejects.toMatchObject({
      exitCode: 1,
      hint: expect.stringMatching(/^put the copy back .*--key-only/),
    });
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
          // And can be begun again.
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
    ]);
    const { store } = await again();
    const now = await store.signingSecrets(null, plain);
    expect(now).toEqual({ current: expect.stringMatching(/^whsec_.{44}$/), next: null });
    expect(now).not.toEqual(secrets[0]);
    expect(await store.target(headed)).toMatchObject({ damaged: { parts: ["headers"] } });
    expect(await store.getPause()).toMatchObject({ by: "secrets reissue" });
    await store.updateEndpoint(null, headed, (settings) => ({ ...settings, headers: HEADERS }), START);
    expect(await store.target(headed)).toMatchObject({ headers: HEADERS, nextSigningSecret: null });
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
