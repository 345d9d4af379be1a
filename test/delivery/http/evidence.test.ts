import { describe, expect, it } from "vitest";
import { faultOf } from "../../../src/delivery/http/fault.ts";
import { dnsFault } from "../../../src/delivery/http/resolver.ts";
import { evidenceOf, noResponse } from "../../../src/domain/deliveries/attempt.ts";

const failed = (code: string, address = "93.184.216.34") => faultOf(Object.assign(new Error(code), { code, address }));

describe("what an attempt's end says of this host", () => {
  it.each([
    ["ECONNREFUSED", "answer"],
    ["ECONNRESET", "answer"],
    ["EPROTO", "answer"],
    ["ETIMEDOUT", "silence"],
    ["EHOSTUNREACH", "silence"],
    ["EHOSTDOWN", "silence"],
    ["EPERM", "silence"],
    ["ENETUNREACH", "cut_off"],
    ["ENETDOWN", "cut_off"],
    ["EMFILE", "shortage"],
    ["ENFILE", "shortage"],
    ["ENOMEM", "shortage"],
    ["ENOBUFS", "shortage"],
    ["EADDRNOTAVAIL", "shortage"],
  ])("of a socket that failed with %s: %s", (code, evidence) => expect(failed(code).evidence).toBe(evidence));

  it.each(["ENETUNREACH", "EADDRNOTAVAIL"])("%s of an IPv6 address is nothing but a host without IPv6", (code) => {
    expect(failed(code, "2606:2800:220:1::1")).toMatchObject({ error: "unreachable", evidence: "silence" });
  });

  it.each([
    ["ENOTFOUND", "answer"],
    ["ENODATA", "answer"],
    ["ETIMEOUT", "no_look_up"],
    ["ESERVFAIL", "no_look_up"],
    ["EREFUSED", "no_look_up"],
    ["EAI_AGAIN", "no_look_up"],
    ["ECONNREFUSED", "cut_off"],
    ["EMFILE", "shortage"],
    ["ENOMEM", "shortage"],
  ])("of a look-up that failed with %s: %s", (code, evidence) => expect(dnsFault([code]).evidence).toBe(evidence));

  it("of an attempt that nobody was asked for: nothing", () => {
    for (const error of ["address_denied", "payload_corrupt", "interrupted"] as const) {
      expect(noResponse(error, "", 0).evidence).toBe("none");
    }
    expect(evidenceOf(null)).toBe("answer");
  });
});
