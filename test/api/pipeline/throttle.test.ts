import { describe, expect, it } from "vitest";
import { FailureThrottle } from "../../../src/api/pipeline/limits.ts";

function failMany(throttle: FailureThrottle, address: string, times: number, now = 0) {
  return Array.from({ length: times }, () => throttle.fail(address, now));
}

describe("failed authentications", () => {
  it("are thirty a minute for each peer", () => {
    const throttle = new FailureThrottle();
    expect(failMany(throttle, "192.0.2.1", 30)).toEqual(Array(30).fill(null));
    expect(throttle.fail("192.0.2.1", 1)).toEqual({ seconds: 60, isNews: true });
    expect(throttle.fail("192.0.2.1", 1)).toEqual({ seconds: 60, isNews: false });
    expect(throttle.fail("192.0.2.2", 1)).toBeNull();
    expect(throttle.fail("192.0.2.1", 59_500)).toMatchObject({ seconds: 1 });
    expect(throttle.fail("192.0.2.1", 60_000)).toBeNull();
  });

  it("count for a whole /64, which one host may own, and for each mapped IPv4 address", () => {
    const throttle = new FailureThrottle();
    failMany(throttle, "2001:db8:1:2::5", 30);
    expect(throttle.fail("2001:db8:1:2:aaaa:bbbb:cccc:dddd", 0)).toMatchObject({ seconds: 60 });
    expect(throttle.fail("2001:db8:1:3::5", 0)).toBeNull();
    failMany(throttle, "::ffff:192.0.2.1", 30);
    expect(throttle.fail("::ffff:192.0.2.2", 0)).toBeNull();
  });

  it("of ten thousand peers push out the first of them, so that memory is bounded", () => {
    const throttle = new FailureThrottle();
    failMany(throttle, "first", 31);
    failMany(throttle, "second", 31);
    for (let index = 0; index < 9_998; index++) throttle.fail(`peer ${index}`, 0);
    expect(throttle.fail("second", 0)).toMatchObject({ seconds: 60 });
    throttle.fail("one more", 0);
    expect(throttle.fail("first", 0)).toBeNull();
  });
});
