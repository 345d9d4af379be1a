import type { Socket } from "node:net";
import { describe, expect, it } from "vitest";
import { Peers } from "../../../src/api/server/socket.ts";
import { silentLog } from "../../../src/log.ts";
import type { Koffi } from "../../../src/native.ts";

const socket = { _handle: { fd: 0 } } as unknown as Socket;

function peers(platform: NodeJS.Platform, loadKoffi: () => Koffi) {
  const warnings: string[] = [];
  const log = { ...silentLog, warn: (_: object, message: string) => void warnings.push(message) };
  return { warnings, peers: new Peers({ platform, loadKoffi, log }) };
}

describe("callers over the unix socket", () => {
  it("are known by no uid where koffi cannot be loaded, which is tried, and said, once", () => {
    let loads = 0;
    const { peers: own, warnings } = peers("linux", () => {
      loads++;
      throw new Error("Cannot find module 'koffi'\nRequire stack:\n- /a/file");
    });
    expect(own.trouble).toBeNull();
    expect(loads).toBe(0);
    expect([own.of(socket), own.of(socket)]).toEqual([null, null]);
    expect(loads).toBe(1);
    expect(own.trouble).toBe("Cannot find module 'koffi'");
    expect(warnings).toEqual(["the audit log cannot record the uid of callers over the unix socket"]);
  });

  it("are not asked for on another system than Linux, which is known at once", () => {
    const { peers: own, warnings } = peers("darwin", () => expect.unreachable("it is not loaded"));
    expect(own.trouble).toMatch(/only the Linux kernel says who is calling, and this is darwin$/);
    expect(own.of(socket)).toBeNull();
    expect(warnings).toEqual([]);
  });

  it("are known by none when the kernel does not answer", () => {
    const { peers: own } = peers("linux", () => ({ load: () => ({ func: () => () => -1 }) }));
    expect(own.of(socket)).toBeNull();
    expect(own.trouble).toBeNull();
  });
});
