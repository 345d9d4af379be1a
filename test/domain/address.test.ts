import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { AddressPolicy, isCidr } from "../../src/domain/network/address.ts";
import { anAddressPolicy } from "../harness/egress.ts";
import { policyOf, ssrfCorpus } from "./corpus.ts";

function checkAddress(ip: string, policy: AddressPolicy, { port = 443, tenant = "default" } = {}) {
  return policy.check({ ip, port, tenant });
}

const DEFAULT = anAddressPolicy();

/** Cases with `dns_failure` are left to the connector's test, because they have no address to judge. */
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
    // A connection looks the name up once, so only the answers to the first lookup count.
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
  const own = ["198.41.0.4", "127.0.0.1", "2001:500::1"];
  const policy = (...allowCidrs: string[]) => anAddressPolicy({ allowCidrs }, own);

  it("are refused, and opened only by an exact entry", () => {
    expect(checkAddress("198.41.0.4", policy())).toBe("address_self");
    expect(checkAddress("2001:0500::0001", policy())).toBe("address_self");
    expect(checkAddress("198.41.0.4", policy("198.41.0.0/24"))).toBe("address_self");
    expect(checkAddress("198.41.0.4", policy("198.41.0.4/32"))).toBeNull();
  });

  it("say first that they are not public, so that a fault names the host's addresses to nobody", () => {
    expect(checkAddress("127.0.0.1", policy())).toBe("address_not_public");
  });
});

describe("a wide allow_cidrs", () => {
  const own = ["10.1.2.3", "192.168.7.7", "2606:4700::7"];
  const API = 8420;
  const WIDE = [
    "0.0.0.0/0",
    "::/0",
    "127.0.0.0/8",
    "64:ff9b::/96",
    "64:ff9b:1::/48",
    "2000::/3",
    "2001::/32",
    "2002::/16",
  ];
  const hex = (ip: string) => {
    const value = numberOf(ip);
    return [`${(value >>> 16).toString(16)}:${(value & 0xffff).toString(16)}`, value] as const;
  };
  /** Returns every spelling in which IPv6 carries an IPv4 address to a translator or relay. */
  const carriers = (ip: string) => {
    const [low] = hex(ip);
    const [inverted] = hex(dotted(~numberOf(ip) >>> 0));
    const [a, b, c, d] = ip.split(".").map((byte) => Number(byte).toString(16).padStart(2, "0"));
    return [
      `::ffff:${low}`,
      `::${low}`,
      `::ffff:0:${low}`,
      `64:ff9b::${low}`,
      `64:ff9b:1::${low}`,
      `64:ff9b:1:7:8:9:${low}`,
      `64:ff9b:1:${a}${b}:${c}:${d}00::`,
      `64:ff9b:1:50${a}:${b}:${c}${d}::`,
      `64:ff9b:1:5050:${a}:${b}${c}:${d}00:0`,
      `2002:${low}::1`,
      `2001:0:${low}:8000:63bf:f7f7:f7f7`,
      `2001:0:4136:e378:8000:63bf:${inverted}`,
    ];
  };

  it.each(WIDE)("%s leaves every metadata service refused, whatever carries its address", (block) => {
    const policy = anAddressPolicy({ allowCidrs: [block] }, own);
    for (const ip of METADATA) {
      expect(checkAddress(ip, policy)).toBe("address_metadata");
      if (ip.includes(":")) continue;
      for (const carrier of carriers(ip)) expect(checkAddress(carrier, policy), carrier).toBe("address_metadata");
    }
  });

  it.each(["127.0.0.1", "127.0.0.53", "10.1.2.3", "::1", "::", "0.0.0.0", "2606:4700::7"])(
    "all together leave %s, which is this host, refused at every port",
    (ip) => {
      const policy = anAddressPolicy({ allowCidrs: WIDE, ownPort: API }, own);
      const carried = ip.includes(":") || ip === "0.0.0.0" ? [] : carriers(ip);
      for (const port of [443, API])
        for (const each of [ip, ...carried]) expect(checkAddress(each, policy, { port }), each).toBe("address_self");
    },
  );

  it.each(carriers("10.9.9.9"))("opens %s only if the address inside is open too", (carrier) => {
    expect(checkAddress(carrier, anAddressPolicy({ allowCidrs: ["2000::/3", "64:ff9b::/32"] }))).toBe(
      "address_not_public",
    );
    expect(checkAddress(carrier, anAddressPolicy({ allowCidrs: ["::/0", "10.0.0.0/8"] }))).toBeNull();
    const denied = anAddressPolicy({ allowCidrs: ["::/0", "10.0.0.0/8"], denyCidrs: ["10.9.0.0/16"] });
    expect(checkAddress(carrier, denied)).toBe("address_denied");
  });

  it("opens NAT64 to public addresses", () => {
    expect(checkAddress("64:ff9b::808:808", anAddressPolicy({ allowCidrs: ["64:ff9b::/96"] }))).toBeNull();
    expect(checkAddress("64:ff9b:1:fffe::808:808", anAddressPolicy({ allowCidrs: ["64:ff9b:1::/48"] }))).toBeNull();
  });
});

describe("our own port", () => {
  it.each([
    ["an exact entry", anAddressPolicy({ allowCidrs: ["127.0.0.1/32"], ownPort: 8420 })],
    ["--dev", anAddressPolicy({ allowLoopback: true, ownPort: 8420 })],
  ])("is opened by nothing, not by %s", (_by, policy) => {
    expect(checkAddress("127.0.0.1", policy, { port: 8420 })).toBe("address_self");
    expect(checkAddress("127.0.0.1", policy, { port: 9000 })).toBeNull();
  });

  it("is any port on another host", () => {
    expect(checkAddress("8.8.8.8", anAddressPolicy({ ownPort: 8420 }), { port: 8420 })).toBeNull();
  });
});

describe("a connection's two ends", () => {
  const ends = (policy: AddressPolicy, ip: string, local: string, port = 443) =>
    policy.checkEnds({ ip, port, tenant: "default" }, local);

  it("may not be the same address, unless it is open by name", () => {
    expect(ends(anAddressPolicy(), "93.184.216.34", "93.184.216.34")).toBe("address_self");
    expect(ends(anAddressPolicy(), "2606:4700:0::7", "2606:4700::7")).toBe("address_self");
    expect(ends(anAddressPolicy({ allowCidrs: ["10.0.0.0/8"] }), "10.0.0.1", "10.0.0.1")).toBe("address_self");
    expect(ends(anAddressPolicy({ allowCidrs: ["10.0.0.1/32"] }), "10.0.0.1", "10.0.0.1")).toBeNull();
    expect(ends(anAddressPolicy({ allowLoopback: true }), "127.0.0.1", "127.0.0.1")).toBeNull();
    expect(ends(anAddressPolicy(), "93.184.216.34", "10.0.0.2")).toBeNull();
  });

  it("say nothing when one is not known", () => {
    expect(ends(anAddressPolicy(), "93.184.216.34", "")).toBeNull();
  });
});

describe("networks of one tenant", () => {
  const tenants = [
    { names: ["acme", "acme-test"], allowCidrs: ["10.20.0.0/16", "169.254.169.254/32"] },
    { names: ["acme"], allowCidrs: ["10.30.0.0/16"] },
  ];
  const policy = anAddressPolicy({ allowCidrs: ["192.168.0.0/16"], tenants });
  const faults = (tenant: string) =>
    ["10.20.0.1", "10.30.0.1", "192.168.0.1", "169.254.169.254"].map((ip) => checkAddress(ip, policy, { tenant }));

  it("are open to that tenant beside what is open to all", () => {
    expect(faults("acme")).toEqual([null, null, null, null]);
    expect(faults("acme-test")).toEqual([null, "address_not_public", null, null]);
    expect(faults("other")).toEqual(["address_not_public", "address_not_public", null, "address_metadata"]);
  });

  it("are closed by deny_cidrs", () => {
    const denying = anAddressPolicy({ denyCidrs: ["10.20.1.0/24"], tenants });
    expect(checkAddress("10.20.1.1", denying, { tenant: "acme" })).toBe("address_denied");
  });
});

describe("own addresses that change", () => {
  it("count from the next check", () => {
    let own = ["198.41.0.4"];
    const rules = { allowCidrs: [], denyCidrs: [], tenants: [], allowLoopback: false, ownPort: 0 };
    const policy = new AddressPolicy(rules, () => own);
    expect(checkAddress("198.41.0.5", policy)).toBeNull();
    own = ["198.41.0.4", "198.41.0.5"];
    expect(checkAddress("198.41.0.5", policy)).toBe("address_self");
  });
});

describe("--dev", () => {
  const dev = anAddressPolicy({ allowLoopback: true }, ["127.0.0.1", "::1", "192.168.7.7"]);

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
