import { describe, expect, it } from "vitest";
import { takeInheritedSocket } from "../../cli/daemon/inherited-socket.ts";

describe("the socket of a service manager", () => {
  it("is descriptor 3, once, and no child hears of it", () => {
    const env = { LISTEN_FDS: "1", LISTEN_PID: "42", LISTEN_FDNAMES: "http", PATH: "/bin" };
    expect(takeInheritedSocket(env, 42)).toBe(3);
    expect(env).toEqual({ PATH: "/bin" });
    expect(takeInheritedSocket(env, 42)).toBeNull();
  });

  it("is not ours when it was given to another process", () => {
    const env = { LISTEN_FDS: "1", LISTEN_PID: "41" };
    expect(takeInheritedSocket(env, 42)).toBeNull();
    expect(env).toEqual({});
  });

  it("is one and not several", () => {
    expect(() => takeInheritedSocket({ LISTEN_FDS: "2", LISTEN_PID: "42" }, 42)).toThrow("accepts only one socket");
  });
});
