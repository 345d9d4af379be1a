import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { checkAddress, isCidr } from "../../src/domain/address.ts";
import { anAddressPolicy, policyOf, ssrfCorpus } from "./corpus.ts";

const DEFAULT = anAddressPolicy();

/** `dns_failure` is the connector's: there is no address to judge. */
const connectCases = ssrfCorpus.filter(({ expect: { stage, code } }) => stage === "connect" && code !== "dns_failure");

const ipv4 = fc.integer({ min: 0, max: 2 ** 32 - 1 });
const dotted = (value: number) => [24, 16, 8, 0].map((shift) => (value >>> shift) & 255).join(".");
const numberOf = (text: string) => text.split(".").reduce((value, part) => value * 256 + Number(part), 0);

const REFUSED_V4: readonly [first: string, last: string][] = [
  ["0.0.0.0", "0.255.255.255"],
  ["10.0.0.0", "10.255.255.255"],
  ["100.64.0.0", "100.127.255.255"],
  ["127.0.0.0", "127.255.255.255"],
  ["169.254.0.0", "169.254.255.255"],
  ["172.16.0.0", "172.31.255.255"],
  ["192.0.0.0", "192.0.0.255"],
  ["192.0.2.0", "192.0.2.255"],
  ["192.31.196.0", "192.31.196.255"],
  ["192.52.193.0", "192.52.193.255"],
  ["192.88.99.0", "192.88.99.255"],
  ["192.168.0.0", "192.168.255.255"],
  ["192.175.48.0", "192.175.48.255"],
  ["198.18.0.0", "198.19.255.255"],
  ["198.51.100.0", "198.51.100.255"],
  ["203.0.113.0", "203.0.113.255"],
  ["224.0.0.0", "255.255.255.255"],
];

const METADATA = [
  "169.254.169.254",
  "169.254.170.2",
  "169.254.170.23",
  "169.254.169.253",
  "169.254.42.42",
  "169.254.0.23",
  "100.100.100.200",
  "168.63.129.16",
  "192.0.0.192",
  "fd00:ec2::254",
  "fd00:ec2::23",
  "fd20:ce::254",
];

describe("the SSRF corpus at the connection", () => {
  it.each(connectCases)("$id: $why", (entry) => {
    const { address } = policyOf(entry);
    // A connection asks once, so the first lookup's answers count.
    const faults = (entry.input.dns?.[0] ?? []).map((ip) => checkAddress(ip, address));
    expect(faults.find((fault) => fault !== null) ?? null).toBe(entry.expect.code);
  });
});

describe("IPv4", () => {
  it.each(REFUSED_V4)("refuses %s to %s, and nothing beside the block", (first, last) => {
    expect(checkAddress(first, DEFAULT)).toBe("address_not_public");
    expect(checkAddress(last, DEFAULT)).toBe("address_not_public");
    const before = numberOf(first) - 1;
    const after = numberOf(last) + 1;
    if (before >= 0) expect(checkAddress(dotted(before), DEFAULT)).toBeNull();
    if (after < 2 ** 32) expect(checkAddress(dotted(after), DEFAULT)).toBeNull();
  });

  it("is judged as the table says, at any address", () => {
    fc.assert(
      fc.property(ipv4, (value) => {
        const ip = dotted(value);
        fc.pre(!METADATA.includes(ip));
        const refused = REFUSED_V4.some(([first, last]) => value >= numberOf(first) && value <= numberOf(last));
        expect(checkAddress(ip, DEFAULT)).toBe(refused ? "address_not_public" : null);
      }),
      { numRuns: 1000 },
    );
  });

  it("is never public inside IPv6: mapped, compatible, translated, 6to4", () => {
    fc.assert(
      fc.property(ipv4, (value) => {
        const high = (value >>> 16).toString(16);
        const low = (value & 0xffff).toString(16);
        for (const ip of [
          `::ffff:${dotted(value)}`,
          `::ffff:${high}:${low}`,
          `::${high}:${low}`,
          `::ffff:0:${high}:${low}`,
          `64:ff9b::${high}:${low}`,
          `64:ff9b:1::${high}:${low}`,
          `2002:${high}:${low}::1`,
        ]) {
          expect(checkAddress(ip, DEFAULT)).not.toBeNull();
        }
      }),
    );
  });
});

describe("IPv6", () => {
  it.each([
    "::",
    "::1",
    "::2",
    "100::1",
    "100:0:0:1::1",
    "1fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
    "4000::",
    "5f00::1",
    "8000::1",
    "fc00::1",
    "fe80::1",
    "febf:ffff::1",
    "fec0::1",
    "ff02::1",
    "2001::1",
    "2001:1ff:ffff:ffff:ffff:ffff:ffff:ffff",
    "2001:db8::1",
    "2620:4f:8000::1",
    "3ffe::1",
    "3fff:fff:ffff::1",
  ])("refuses %s", (ip) => {
    expect(checkAddress(ip, DEFAULT)).toBe("address_not_public");
  });

  it.each(["2000::", "2001:200::1", "2001:4860:4860::8888", "2606:4700:4700::1111", "2620:4f:8001::1", "3fff:1000::1"])(
    "allows %s",
    (ip) => {
      expect(checkAddress(ip, DEFAULT)).toBeNull();
    },
  );

  it("is judged alike in every spelling", () => {
    const groups = fc.array(fc.integer({ min: 0, max: 0xffff }), { minLength: 8, maxLength: 8 });
    const network = fc.constantFrom([0x2606, 0x4700], [0x2001, 0xdb8], [0xfd00, 0xec2], [0xfe80, 0]);
    fc.assert(
      fc.property(network, groups, ([first, second], rest) => {
        const all = [first!, second!, ...rest.slice(2)];
        const short = all.map((group) => group.toString(16)).join(":");
        const long = all.map((group) => group.toString(16).padStart(4, "0").toUpperCase()).join(":");
        expect(checkAddress(long, DEFAULT)).toBe(checkAddress(short, DEFAULT));
      }),
    );
  });

  it("with a zone is not public, whatever the address", () => {
    expect(checkAddress("2606:4700:4700::1111%eth0", DEFAULT)).toBe("address_not_public");
  });
});

describe("what is no address", () => {
  it.each(["", "example.com", "0x7f.1", "8.8.8", "08.8.8.8", "134744072", "8.8.8.8 ", "8.8.8.8/32", "[::1]"])(
    "%j is not public",
    (text) => {
      expect(checkAddress(text, DEFAULT)).toBe("address_not_public");
    },
  );
});

describe("metadata services", () => {
  it.each(METADATA)("%s opens only by an entry of exactly that address", (ip) => {
    const bits = ip.includes(":") ? 128 : 32;
    const broad = anAddressPolicy({ allowCidrs: ["0.0.0.0/0", "::/0", `${ip}/${bits - 1}`] });
    expect(checkAddress(ip, DEFAULT)).toBe("address_metadata");
    expect(checkAddress(ip, broad)).toBe("address_metadata");
    expect(checkAddress(ip, anAddressPolicy({ allowCidrs: [`${ip}/${bits}`] }))).toBeNull();
    expect(checkAddress(ip, anAddressPolicy({ allowCidrs: [ip] }))).toBeNull();
  });

  it("are known in mapped spelling, which no IPv4 entry opens", () => {
    expect(checkAddress("::ffff:169.254.169.254", DEFAULT)).toBe("address_metadata");
    const exact = anAddressPolicy({ allowCidrs: ["169.254.169.254/32"] });
    expect(checkAddress("::ffff:a9fe:a9fe", exact)).toBe("address_metadata");
  });
});

describe("the operator's lists", () => {
  it("deny before they allow, exact entries too", () => {
    const policy = anAddressPolicy({ allowCidrs: ["10.20.1.5/32", "10.20.0.0/16"], denyCidrs: ["10.20.1.0/24"] });
    expect(checkAddress("10.20.1.5", policy)).toBe("address_denied");
    expect(checkAddress("10.20.2.5", policy)).toBeNull();
  });

  it("deny a mapped address as the one it holds", () => {
    const policy = anAddressPolicy({ denyCidrs: ["93.184.216.0/24"] });
    expect(checkAddress("::ffff:93.184.216.34", policy)).toBe("address_denied");
  });

  it("allow no mapped address by an IPv4 block", () => {
    const policy = anAddressPolicy({ allowCidrs: ["10.0.0.0/8"] });
    expect(checkAddress("::ffff:10.0.0.1", policy)).toBe("address_not_public");
  });

  it("refuse to hold what is no block", () => {
    expect(() => checkAddress("8.8.8.8", anAddressPolicy({ denyCidrs: ["10.0.0.0/33"] }))).toThrow(RangeError);
  });

  it.each(["10.0.0.0/8", "10.0.0.1", "::/0", "fd00::/8", "0.0.0.0/0"])("may hold %s", (text) => {
    expect(isCidr(text)).toBe(true);
  });

  it.each([
    "",
    "/8",
    "10.0.0.0/",
    "10.0.0.0/33",
    "::/129",
    "10/8",
    "10.0.0.0/-1",
    "10.0.0.0/8/8",
    "host/8",
    "fe80::1%1/64",
  ])("may not hold %j", (text) => {
    expect(isCidr(text)).toBe(false);
  });
});

describe("our own addresses", () => {
  const own = { ownAddresses: ["198.41.0.4", "127.0.0.1", "2001:500::1"] };

  it("are refused, and opened only by an exact entry", () => {
    expect(checkAddress("198.41.0.4", anAddressPolicy(own))).toBe("address_self");
    expect(checkAddress("2001:0500::0001", anAddressPolicy(own))).toBe("address_self");
    expect(checkAddress("198.41.0.4", anAddressPolicy({ ...own, allowCidrs: ["198.41.0.0/24"] }))).toBe("address_self");
    expect(checkAddress("198.41.0.4", anAddressPolicy({ ...own, allowCidrs: ["198.41.0.4/32"] }))).toBeNull();
  });

  it("say first that they are not public, so that a fault names the host's addresses to nobody", () => {
    expect(checkAddress("127.0.0.1", anAddressPolicy(own))).toBe("address_not_public");
  });
});

describe("--dev", () => {
  const dev = anAddressPolicy({ allowLoopback: true, ownAddresses: ["127.0.0.1", "::1", "192.168.7.7"] });

  it.each(["127.0.0.1", "127.255.255.254", "::1"])("opens %s", (ip) => {
    expect(checkAddress(ip, dev)).toBeNull();
  });

  it.each(["192.168.7.7", "10.0.0.1", "0.0.0.0", "::", "::ffff:127.0.0.1", "128.0.0.0/1"])("does not open %s", (ip) => {
    expect(checkAddress(ip, dev)).toBe("address_not_public");
  });

  it("does not open what is denied", () => {
    const policy = anAddressPolicy({ allowLoopback: true, denyCidrs: ["127.0.0.0/8"] });
    expect(checkAddress("127.0.0.1", policy)).toBe("address_denied");
  });
});
