import { spawnSync } from "node:child_process";
import type { NetworkInterfaceInfo } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { readOwnAddresses } from "../../../src/delivery/http/egress.ts";
import { ManualClock } from "../../harness/clock.ts";
import { aDirectory } from "../../harness/daemon.ts";

function interfaces(...addresses: string[]) {
  return { lo: addresses.map((address) => ({ address }) as NetworkInterfaceInfo) };
}

describe("own addresses", () => {
  it("are read again when they are a second old", () => {
    const clock = new ManualClock();
    let now = interfaces("192.0.2.1");
    let reads = 0;
    const own = readOwnAddresses(clock, () => (reads++, now));
    now = interfaces("192.0.2.1", "192.0.2.2");
    clock.advance(999);
    expect([own(), own()]).toEqual([["192.0.2.1"], ["192.0.2.1"]]);
    expect(reads).toBe(1);
    clock.advance(1);
    expect(own()).toEqual(["192.0.2.1", "192.0.2.2"]);
    expect(own()).toBe(own());
    expect(reads).toBe(2);
  });

  it("are those known last while the kernel cannot be asked", () => {
    const clock = new ManualClock();
    let ask: () => ReturnType<typeof interfaces> = () => interfaces("192.0.2.1");
    const own = readOwnAddresses(clock, () => ask());
    ask = () => {
      throw new Error("EMFILE");
    };
    clock.advance(1000);
    expect(own()).toEqual(["192.0.2.1"]);
  });
});

const SITE = join(import.meta.dirname, "../../harness/own-address-site.ts");
const namespace = ["--net", ...(process.getuid?.() === 0 ? [] : ["--map-root-user"])];
const missing = spawnSync("unshare", [...namespace, "ip", "link", "set", "lo", "up"]).status !== 0;
if (missing) console.warn("SKIPPED: no network namespace can be made here, so no address is added to a host");

describe("an address that the host is given while the daemon runs", () => {
  it.skipIf(missing)("gets not one SYN, and cannot be registered", () => {
    const { stdout, stderr } = spawnSync("unshare", [...namespace, process.execPath, SITE, aDirectory()], {
      encoding: "utf8",
      timeout: 60_000,
    });
    expect(stderr).toBe("");
    const self = "address_self";
    expect(JSON.parse(stdout)).toEqual({ error: self, opened: 0, connections: 0, registered: self });
  });
});
