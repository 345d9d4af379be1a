import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { traceContext } from "../../src/domain/events/event.ts";

const TRACE = "0af7651916cd43dd8448eb211c80319c";
const PARENT = "b7ad6b7169203331";
const GOOD = `00-${TRACE}-${PARENT}-01`;
const state = (text: string) => traceContext(GOOD, text)!.tracestate;

describe("a traceparent", () => {
  it.each([GOOD, `00-${TRACE}-${PARENT}-00`, `01-${TRACE}-${PARENT}-01`, `cc-${TRACE}-${PARENT}-01-what.comes.next`])(
    "is taken as it is: %s",
    (text) => {
      expect(traceContext(text, undefined)).toEqual({ traceparent: text, tracestate: null });
    },
  );

  it.each([
    ["empty", ""],
    ["in upper case", GOOD.toUpperCase()],
    ["of version ff", `ff-${TRACE}-${PARENT}-01`],
    ["of version 00 with more behind it", `${GOOD}-more`],
    ["with something behind it that no dash parts", `01-${TRACE}-${PARENT}-01.more`],
    ["without a trace", `00-${"0".repeat(32)}-${PARENT}-01`],
    ["without a parent", `00-${TRACE}-${"0".repeat(16)}-01`],
    ["too short", `00-${TRACE}-${PARENT}-1`],
    ["sent twice", `${GOOD}, ${GOOD}`],
    ["longer than any version is", `01-${TRACE}-${PARENT}-01-${"x".repeat(256)}`],
    ["with what a header must not hold", `01-${TRACE}-${PARENT}-01-\r\nx: y`],
  ])("is no trace when it is %s", (_, text) => {
    expect(traceContext(text, "a=1")).toBeUndefined();
  });
});

describe("a tracestate", () => {
  it.each([
    ["rojo=00f067aa0ba902b7", "rojo=00f067aa0ba902b7"],
    [
      "rojo=00f067aa0ba902b7, congo=t61rcWkgMzE \t, tenant@system=a b",
      "rojo=00f067aa0ba902b7,congo=t61rcWkgMzE,tenant@system=a b",
    ],
    ["a=1,,b=2, ", "a=1,b=2"],
    ["9/*_-=!~", "9/*_-=!~"],
  ])("is passed on: %j", (given, sent) => {
    expect(state(given)).toBe(sent);
  });

  it.each([
    "",
    " , ",
    "a",
    "=1",
    "A=1",
    "a=",
    "a=b=c",
    "a=1,a=2",
    "a=é",
    "a=1\nb",
    `${"k".repeat(257)}=1`,
    `a=${"v".repeat(257)}`,
  ])("that is malformed or empty is left out, and the parent is not: %j", (text) => {
    expect(traceContext(GOOD, text)).toEqual({ traceparent: GOOD, tracestate: null });
  });

  it("has at most 32 members", () => {
    const members = Array.from({ length: 33 }, (_, at) => `k${at}=1`);
    expect(state(members.slice(0, 32).join(","))).not.toBeNull();
    expect(state(members.join(","))).toBeNull();
  });

  it("beyond 512 characters loses whole members: the long ones first, then the last ones", () => {
    const long = `long=${"x".repeat(200)}`;
    const short = Array.from({ length: 10 }, (_, at) => `s${at}=${"y".repeat(50)}`);
    expect(state([long, ...short].join(","))).toBe(short.slice(0, 9).join(","));
    expect(state([...short.slice(0, 5), long].join(","))).toBe([...short.slice(0, 5), long].join(","));
  });

  it("is never more than a header may hold, whatever is sent", () => {
    const member = fc
      .tuple(fc.stringMatching(/^[a-z]{1,5}$/), fc.stringMatching(/^[!-+.-<>-~]{1,200}$/))
      .map(([key, value]) => `${key}=${value}`);
    const junk = fc.string({ unit: "binary", maxLength: 20 });
    const some = fc.array(fc.oneof({ weight: 20, arbitrary: member }, junk), { maxLength: 12 });
    fc.assert(
      fc.property(some, (members) => {
        const sent = state(members.join(","));
        expect(sent === null || /^[\x20-\x7e]{1,512}$/.test(sent)).toBe(true);
      }),
    );
  });
});
