import { describe, expect, it } from "vitest";
import { Windows } from "../../src/delivery/windows.ts";
import { Withdrawal } from "../../src/delivery/withdrawal.ts";
import type { Claim } from "../../src/domain/delivery.ts";

function aClaim(event: string, endpoint = "ep_a"): Claim {
  const body = new Uint8Array(1000);
  const delivery = `dlv_${event}_${endpoint}`;
  return { event, delivery, endpoint, body, number: 1, round: 1, retry: 0, trigger: "ladder", dueAt: 5, fresh: true };
}

/** A sender that has started nothing but what is `onWire`. */
function aScene(onWire: readonly Claim[] = []) {
  const windows = new Windows();
  const resent: string[] = [];
  let queue: Claim[] = [];
  const withdrawal = new Withdrawal({
    windows,
    async takeBack(endpoint) {
      const given = queue.filter((claim) => claim.endpoint === endpoint && !onWire.includes(claim));
      queue = queue.filter((claim) => !given.includes(claim));
      return given;
    },
    release: ({ endpoint, delivery }) => {
      windows.release(endpoint, delivery);
      withdrawal.released(delivery);
    },
    resend: (_, claims) => resent.push(...withdrawal.sift(claims).map(({ event }) => event)),
  });
  const hold = (...claims: Claim[]) => {
    for (const claim of claims) windows.hold(claim);
    queue.push(...claims);
  };
  return { windows, withdrawal, resent, hold };
}

describe("withdrawing", () => {
  it("lets go of what was taken back, bytes and all, and sends the others on", async () => {
    const { windows, withdrawal, resent, hold } = aScene();
    const [a, b] = [aClaim("1"), aClaim("2")];
    hold(a, b);
    await withdrawal.withdraw([a]);
    expect(resent).toEqual(["2"]);
    expect([windows.held, windows.bytes]).toEqual([1, 1000]);
    expect(windows.find("ep_a", a.delivery)).toBeUndefined();
  });

  it("holds what is on the wire until it has ended, and does not send it again", async () => {
    const onWire = aClaim("1");
    const { windows, withdrawal, resent, hold } = aScene([onWire]);
    hold(onWire);
    await withdrawal.withdraw([onWire]);
    expect(windows.find("ep_a", onWire.delivery)).toBe(onWire);
    expect(withdrawal.sift([onWire, aClaim("2")]).map(({ event }) => event)).toEqual(["2"]);
    expect([windows.held, windows.bytes, resent]).toEqual([0, 0, []]);
  });

  it("forgets a delivery that was released, so that a later claim of it is sent", async () => {
    const onWire = aClaim("1");
    const { withdrawal, hold } = aScene([onWire]);
    hold(onWire);
    await withdrawal.withdraw([onWire]);
    withdrawal.released(onWire.delivery);
    expect(withdrawal.sift([onWire])).toEqual([onWire]);
  });

  it("has what waits read again, wherever the horizon is: it may have been replayed meanwhile", async () => {
    const { windows, withdrawal, hold } = aScene();
    const claim = aClaim("1");
    hold(claim);
    const window = windows.of("ep_a");
    window.beginRead();
    windows.endRead(window, { claims: [], nextDueAt: null }, 10, 100);
    expect(window.reaches(5)).toBe(true);
    await withdrawal.withdraw([claim]);
    expect(window.reaches(5)).toBe(false);
    expect(windows.nextDueAt).toBe(0);
  });

  it("keeps a read that is under way from bringing back what nobody held", async () => {
    const { windows, withdrawal } = aScene();
    const claim = aClaim("1");
    const window = windows.of("ep_a");
    window.beginRead();
    await withdrawal.withdraw([claim]);
    expect(windows.endRead(window, { claims: [claim], nextDueAt: null }, 10, 100)).toEqual([]);
  });
});
