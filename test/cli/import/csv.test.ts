import { describe, expect, it } from "vitest";
import { csvIn } from "../../../cli/import/csv.ts";
import { Failure } from "../../../cli/failure.ts";

const SECRET = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD";
const HEAD = "url,events,secret";

const read = (text: string) => csvIn(text, "a.csv").endpoints;
const refusal = (text: string) => {
  try {
    return read(text);
  } catch (error) {
    if (error instanceof Failure) return error.message;
    throw error;
  }
};

describe("a CSV file", () => {
  it("has an endpoint on each line, with what its columns say", () => {
    const text = [
      "tenant,id,uid,url,events,secret,description,enabled,rate_per_second,headers,metadata,filter,format",
      `acme,17,crm,https://a.example/?x=1,"order.*, order.paid",${SECRET},"Says ""hello"", twice",no,2.5,"{""X-A"": ""1""}","{""n"": 1}","{""data"": {""x"": 5}}",data`,
    ].join("\r\n");
    const draft = {
      uid: "crm",
      url: "https://a.example/?x=1",
      events: ["order.*", "order.paid"],
      filter: { data: { x: 5 } },
      description: 'Says "hello", twice',
      headers: { "X-A": "1" },
      byHand: [],
      rate_per_second: 2.5,
      metadata: { n: 1 },
      format: "data",
      secrets: { current: SECRET, next: null, fitsTwo: false },
      enabled: false,
    };
    const whose = { id: "17", tenant: "acme", url: draft.url };
    expect(read(text)).toEqual([{ ...whose, draft, reason: null, notes: [] }]);
  });

  it("may leave out cells and columns, begin with a byte-order mark, and have empty lines and line breaks in cells", () => {
    const [one, two, ...more] = read(
      `\ufeff${HEAD},description\nhttps://a.example/,*,${SECRET},"One\nline"\n\n,,,\nhttps://b.example/,*,${SECRET},`,
    );
    expect(more).toEqual([]);
    expect(one).toMatchObject({ id: "a.example/", tenant: "default", draft: { description: "One line" } });
    expect(one!.draft).toMatchObject({ uid: null, enabled: true, rate_per_second: null, filter: null, headers: {} });
    expect(one!.draft).toHaveProperty("format", "envelope");
    expect(two!.url).toBe("https://b.example/");
  });

  it("may have long cells in quotes, and a long one that no quote ends is refused", () => {
    const long = 'x"",\n'.repeat(4_000_000);
    const [one] = read(`${HEAD},description\nhttps://a.example/,*,${SECRET},"${long}"`);
    expect(one!.draft!.description).toMatch(/^x", x", .+…$/);
    expect(refusal(`${HEAD}\nhttps://a.example/,*,"${long}`)).toContain("a.csv:2 begins a cell with a quote");
  });

  it("names an endpoint without an id by host and path, because the rest of a URL may be secret", () => {
    const urls = ["https://user:pass@a.example/hook?token=1", "user:pass@b.example", "https://a.example/hook?token=2"];
    const ids = read([HEAD, ...urls.map((url) => `${url},*,${SECRET}`)].join("\n")).map(({ id }) => id);
    expect(ids).toEqual(["a.example/hook", "line 3", "a.example/hook"]);
  });

  it.each([
    ["", "a.csv has no column url"],
    ["url,events\n", "a.csv has no column secret"],
    [`${HEAD},colour\n`, "a.csv has a column that is not known: colour"],
    [`${HEAD},url\n`, "a.csv names a column twice"],
    [`${HEAD}\nhttps://a.example/,*\n`, "a.csv:2 has 2 cells, and the first line has 3"],
    [`${HEAD}\n"a\nb",*,${SECRET}\nx"y,*,${SECRET}`, "a.csv:4 has a quote inside a cell"],
    [`${HEAD}\na,*,${SECRET}\n"b,*,${SECRET}\n`, "a.csv:3 begins a cell with a quote, and no quote ends it"],
  ])("is refused as a whole: %j", (text, says) => {
    const message = refusal(text);
    expect(message).toContain(says);
    expect(message).not.toContain(SECRET);
  });

  it("is refused with a format that there is not", () => {
    const [one] = read(`${HEAD},format\nhttps://a.example/,*,${SECRET},xml`);
    expect(one!.reason).toMatch(/^has a format that is none of envelope, .+ data$/);
  });

  it.each([
    [`a b,https://a.example/,*,${SECRET},,,`, "belongs to a tenant whose name cannot be one here"],
    [`t,https://a.example/,,${SECRET},,,`, "names no event types; * stands for all"],
    ["t,https://a.example/,*,hunter2,,,", "has a signing secret that cannot sign here"],
    ["t,https://a.example/,*,aaaaaaaaaaaaaaaa,,,", "has a signing secret that is easy to guess"],
    [`t,https://a.example/,*,${SECRET},maybe,,`, "has something else than true or false in enabled"],
    [`t,https://a.example/,*,${SECRET},,-1,`, "has a rate_per_second that is no number above 0"],
    [`t,https://a.example/,*,${SECRET},,,[1]`, "has headers that are no JSON object"],
    [`t,https://a.example/,*,${SECRET},,,"{""a"": 1}"`, "has headers of which one is no text"],
  ])("has a line that is refused: %j", (line, says) => {
    const [endpoint, other] = read(
      `tenant,url,events,secret,enabled,rate_per_second,headers\n${line}\nt,https://b.example/,*,${SECRET},,,`,
    );
    expect(endpoint!.draft).toBeNull();
    expect(endpoint!.reason).toContain(says);
    expect(endpoint!.reason).not.toContain("hunter2");
    expect(other!.draft).not.toBeNull();
  });
});
