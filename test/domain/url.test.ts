import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { checkEndpointUrl, type UrlPolicy } from "../../src/domain/network/url.ts";
import { anAddressPolicy } from "../harness/egress.ts";
import { aUrlPolicy, policyOf, ssrfCorpus } from "./corpus.ts";

const DEFAULT = aUrlPolicy();

const ofLength = (bytes: number) => `https://example.com/${"a".repeat(bytes - 20)}`;

function codeOf(url: string, policy: UrlPolicy = DEFAULT): string | null {
  const checked = checkEndpointUrl(url, policy);
  return "code" in checked ? checked.code : null;
}

describe("the SSRF corpus at registration", () => {
  it.each(ssrfCorpus)("$id: $why", (entry) => {
    // Registration does no DNS look-up, so it accepts names that only the connection refuses.
    const { code } = entry.expect.stage === "register" ? entry.expect : { code: null };
    expect(codeOf(entry.input.url, policyOf(entry))).toBe(code);
  });
});

describe("an endpoint's URL", () => {
  it.each([
    ["https://EXAMPLE.com:443/Hooks?x=1&y=%7e", "https://example.com/Hooks?x=1&y=%7e"],
    ["HTTPS://example.com", "https://example.com/"],
    ["https://example.com/a/../b", "https://example.com/b"],
    ["https://пример.рф/é", "https://xn--e1afmkfd.xn--p1ai/%C3%A9"],
    [
      "https://example.com/\u{1f469}\u200d\u{1f4bb}/❤\ufe0f?می\u200cخواهم",
      "https://example.com/%F0%9F%91%A9%E2%80%8D%F0%9F%92%BB/%E2%9D%A4%EF%B8%8F?%D9%85%DB%8C%E2%80%8C%D8%AE%D9%88%D8%A7%D9%87%D9%85",
    ],
    ["https://example.com/a?", "https://example.com/a?"],
  ])("%s is stored as %s", (raw, url) => {
    expect(checkEndpointUrl(raw, DEFAULT)).toEqual({ url });
  });

  it.each([
    ["//example.com/", "url_invalid"],
    ["example.com/hook", "url_invalid"],
    ["https://", "url_invalid"],
    ["https://?x", "url_invalid"],
    ["https://:443/", "url_invalid"],
    ["https:example.com", "url_invalid"],
    ["https://exa<mple.com/", "url_invalid"],
    ["data:text/plain,x", "url_scheme"],
    ["wss://example.com/", "url_scheme"],
    ["https://a.example.com:x@b.com/", "url_userinfo"],
    ["https://example.com/a#", "url_fragment"],
    ["https://example.com/\u2028", "url_forbidden_char"],
    ["https://example.com/\u00a0", "url_forbidden_char"],
    ["https://exam\u2060ple.com/", "url_forbidden_char"],
    ["https://exam\ufe0fple.com/", "url_forbidden_char"],
    ["https://exam\u200dple.com/", "url_forbidden_char"],
    ["https:\u200d//example.com/", "url_forbidden_char"],
    ["https://example.com\\\u200d/", "url_forbidden_char"],
    ["https://example.com/\u200b", "url_forbidden_char"],
    ["https://example.com/\u2066", "url_forbidden_char"],
    ["https://example.com/\u00ad", "url_forbidden_char"],
    ["https://exam\u034fple.com/", "url_forbidden_char"],
    ["https://example.com/\u202e", "url_forbidden_char"],
    ["https://example.com/\x7f", "url_forbidden_char"],
    ["https://example.com/\u0085", "url_forbidden_char"],
    ["https://example.com/\ufdd0", "url_forbidden_char"],
    ["https://127.0.0.1./", "address_not_public"],
    ["https://[::FFFF:7F00:1]/", "address_not_public"],
    ["https://8.8.8.8./", "host_noncanonical"],
    ["https://134744072/", "host_noncanonical"],
    ["https://８.8.8.8/", "host_noncanonical"],
    ["https://[2606:4700:4700::0:1111]/", "host_noncanonical"],
    ["https://example.com./", "host_trailing_dot"],
    ["https://.example.com/", "host_invalid"],
    ["https://example-.com/", "host_invalid"],
    ["https://exa*mple.com/", "host_invalid"],
    [`https://${"a".repeat(64)}.com/`, "host_invalid"],
    [`https://${"a.".repeat(127)}com/`, "host_invalid"],
    ["https://x.metadata.goog/", "host_metadata"],
    ["https://METADATA.tencentyun.com/", "host_metadata"],
    ["https://localhost/", "host_special_use"],
    ["https://router.home.arpa/", "host_special_use"],
    ["https://example/", "host_special_use"],
    ["https://intranet/", "host_special_use"],
    ["https://com/", "host_single_label"],
    ["https://example.com:80/", "port_not_allowed"],
    ["https://8.8.8.8:22/", "port_not_allowed"],
  ])("%j has the fault %s", (raw, code) => {
    expect(codeOf(raw)).toBe(code);
  });

  it.each([
    ["https://[2606:4700:4700::ABCD]/", "letters of an IPv6 address in upper case"],
    ["https://localhost.example.com/", "a special-use word that is not the suffix"],
    ["https://mylocal/".replace("/mylocal", "/my.locality"), "a label that only begins like one"],
    ["https://example.com:/", "an empty port"],
    ["https://example.com/%0d%0a", "escapes in the path"],
    [`https://${"a".repeat(63)}.com/`, "a label of 63 characters"],
  ])("%s is accepted: %s", (raw) => {
    expect(codeOf(raw)).toBeNull();
  });

  it("has its first fault reported, in the order of the interface", () => {
    const faults: [code: string, url: string][] = [
      ["url_too_long", `ftp://a@%41/\\#${"x".repeat(2048)}`],
      ["url_forbidden_char", "ftp://a@%41/\\#"],
      ["url_scheme", "ftp://a@%41/#"],
      ["url_invalid", "https:/a@%41/#"],
      ["url_userinfo", "https://a@%41/#"],
      ["url_fragment", "https://%41:99999/#"],
      ["host_invalid", "https://%41:99999/"],
      ["url_invalid", "https://A:99999/"],
      ["address_not_public", "https://0x7f.1:22/"],
      ["host_noncanonical", "https://0x08.8.8.8:22/"],
      ["host_is_ip", "https://8.8.8.8:22/"],
      ["host_trailing_dot", "https://_.metadata.goog.:22/"],
      ["host_invalid", "https://_.metadata.goog:22/"],
      ["host_metadata", "https://metadata.goog:22/"],
      ["host_special_use", "https://localhost:22/"],
      ["host_single_label", "https://wiki:22/"],
      ["port_not_allowed", "https://example.com:22/"],
    ];
    const policy = aUrlPolicy({ allowIpHosts: false });
    expect(faults.map(([, url]) => codeOf(url, policy))).toEqual(faults.map(([code]) => code));
  });

  it("may be 2,048 bytes long, in the form that is stored too", () => {
    expect(codeOf(ofLength(2048))).toBeNull();
    expect(codeOf(ofLength(2049))).toBe("url_too_long");
    expect(codeOf(`https://example.com/${"é".repeat(500)}`)).toBe("url_too_long");
  });

  it("is, as stored, accepted again and unchanged", () => {
    const part = fc.string({ unit: fc.constantFrom(..."abcXYZ019-_.~%/?&=+é日:;,'\"<>|^`{}[]()*!$ "), maxLength: 30 });
    const host = fc.oneof(
      fc.domain(),
      fc.ipV4(),
      fc.ipV6().map((ip) => `[${ip}]`),
      fc.webAuthority(),
    );
    fc.assert(
      fc.property(host, part, (authority, rest) => {
        const checked = checkEndpointUrl(`https://${authority}/${rest}`, DEFAULT);
        if ("code" in checked) return;
        expect(checkEndpointUrl(checked.url, DEFAULT)).toEqual(checked);
        expect(new URL(checked.url).href).toBe(checked.url);
      }),
      { numRuns: 1000 },
    );
  });

  it("never throws, whatever the text", () => {
    const text = fc.oneof(
      fc.string({ unit: "binary" }),
      fc.webUrl(),
      fc.string().map((rest) => `https://${rest}`),
    );
    fc.assert(fc.property(text, (raw) => void checkEndpointUrl(raw, DEFAULT)));
  });
});

describe("a refusal names the setting that decides it", () => {
  const settingOf = (url: string, policy = DEFAULT) => {
    const checked = checkEndpointUrl(url, policy);
    return "code" in checked ? (checked.setting ?? null) : "accepted";
  };
  const allowing = (host: string) =>
    `[egress] allow_hosts = ["${host}"] allows the name, and allow_cidrs the network that it leads to`;

  it.each([
    ["https://127.0.0.1/", '--dev allows it, and so does [egress] allow_cidrs = ["127.0.0.1/32"]'],
    ["https://[::1]/", '--dev allows it, and so does [egress] allow_cidrs = ["::1/128"]'],
    ["https://10.1.2.3/", '[egress] allow_cidrs = ["10.1.2.3/32"] allows it'],
    ["https://[fd00::1]/", '[egress] allow_cidrs = ["fd00::1/128"] allows it'],
    ["https://169.254.169.254/", null],
    ["https://localhost/", "--dev allows it"],
    ["https://app.internal/", allowing("app.internal")],
    ["https://hook/", allowing("hook")],
    ["https://my_app.example.com/", allowing("my_app.example.com")],
    ["https://metadata/", null],
    ["https://metadata.google.internal/", null],
    ["https://metadata.goog/", null],
    ["https://exa*mple.com/", null],
    ["http://example.com/", "--dev or [egress] allow_http = true allows http://"],
    ["ftp://example.com/", null],
  ])("%s: %s", (url, setting) => {
    expect(settingOf(url)).toBe(setting);
  });

  it("and what it says to write is what helps", () => {
    for (const url of ["https://127.0.0.1/", "https://[::1]/", "https://10.1.2.3/", "https://[fd00::1]/"]) {
      const [, block] = /allow_cidrs = \["([^"]+)"\]/.exec(settingOf(url)!)!;
      expect(settingOf(url, aUrlPolicy({ address: anAddressPolicy({ allowCidrs: [block!] }) }))).toBe("accepted");
    }
    const own = anAddressPolicy({ allowCidrs: ["192.168.0.0/16", "127.0.0.0/8"] }, ["192.168.7.1"]);
    const self = '[egress] allow_cidrs = ["192.168.7.1/32"] allows it';
    expect(settingOf("https://192.168.7.1/", aUrlPolicy({ address: own }))).toBe(self);
    for (const url of ["https://app.internal/", "https://hook/", "https://my_app.example.com/"])
      expect(settingOf(url, aUrlPolicy({ allowHosts: [new URL(url).hostname] }))).toBe("accepted");
  });

  it("but for webhookd's own port, which nothing opens", () => {
    const nothing = "no setting allows webhookd's own port on this host";
    const rules = { allowCidrs: ["127.0.0.1/32"], ownPort: 8443 };
    expect(settingOf("https://127.0.0.1:8443/", aUrlPolicy({ address: anAddressPolicy(rules) }))).toBe(nothing);
    const shut = anAddressPolicy({ ownPort: 8443 });
    expect(settingOf("https://127.0.0.1:8443/", aUrlPolicy({ address: shut }))).toBe(nothing);
  });
});

describe("the switches of [egress]", () => {
  it("allow_http admits http on port 80 and the listed ports", () => {
    const policy = aUrlPolicy({ allowHttp: true });
    expect(codeOf("http://example.com/", policy)).toBeNull();
    expect(codeOf("http://example.com:8443/", policy)).toBeNull();
    expect(codeOf("http://example.com:8080/", policy)).toBe("port_not_allowed");
    expect(codeOf("https://example.com:80/", policy)).toBe("port_not_allowed");
    expect(codeOf("ftp://example.com/", policy)).toBe("url_scheme");
  });

  it("allow_cidrs opens address literals too", () => {
    const policy = aUrlPolicy({ address: anAddressPolicy({ allowCidrs: ["10.20.0.0/16"] }) });
    expect(codeOf("https://10.20.1.5/", policy)).toBeNull();
    expect(codeOf("https://10.21.1.5/", policy)).toBe("address_not_public");
  });

  it("--dev admits localhost, loopback literals and any port, but http by its own switch", () => {
    const policy = aUrlPolicy({ dev: true, address: anAddressPolicy({ allowLoopback: true }) });
    expect(codeOf("https://localhost:34567/", policy)).toBeNull();
    expect(codeOf("https://127.0.0.1:34567/", policy)).toBeNull();
    expect(codeOf("https://[::1]:34567/", policy)).toBeNull();
    expect(codeOf("http://localhost:34567/", policy)).toBe("url_scheme");
    expect(codeOf("http://localhost:34567/", { ...policy, allowHttp: true })).toBeNull();
    expect(codeOf("https://10.0.0.1/", policy)).toBe("address_not_public");
    expect(codeOf("https://wiki/", policy)).toBe("host_single_label");
  });
});
