import { describe, expect, it } from "vitest";
import { anEndpoint } from "../../src/api/endpoints/fields.ts";
import { someFailures } from "../../src/api/reports/failures.ts";
import { SORTS } from "../../tui/state/lists/sorts.ts";
import type { Tab } from "../../tui/model/list.ts";
import { asked, Dashboard, idOf, NOW, shown } from "./daemon.ts";

const orders = (dashboard: Dashboard, operation: string) =>
  asked(dashboard, operation).flatMap(({ ask }) => (ask.query?.["limit"] === undefined ? [] : [ask.query["order"]]));
const row = (screen: string, n: number) => screen.split("\n")[n + 3]!;

describe("a list that the daemon sorts", () => {
  it.each([
    ["events", "listEvents"],
    ["deliveries", "listDeliveries"],
    ["activity", "listAudit"],
  ] as const)("of %s is read from its oldest by o, and from its newest again", (tab, operation) => {
    const dashboard = new Dashboard({ tab }).connected().press("o");
    expect(orders(dashboard, operation).at(-1)).toBe("oldest");
    expect(shown(dashboard)).toMatch(/^ 1 of \d+, oldest first/m);
    dashboard.press("o");
    expect(orders(dashboard, operation).at(-1)).toBe("newest");
    expect(shown(dashboard)).not.toContain(" first");
  });

  it("of endpoints goes by what the daemon sorts them by, and by that from its other end", () => {
    const dashboard = new Dashboard({ tab: "endpoints", jobs: [] }).connected();
    const sort = () => {
      const { sort = null, order = null } = asked(dashboard, "listEndpoints").at(-1)!.ask.query!;
      return [sort ?? order, /^ 1 of 1(?:, (.+?))?(?: {3}.*)?$/m.exec(shown(dashboard))?.[1]];
    };
    const seen = Array.from({ length: SORTS.endpoints.length }, () => (dashboard.press("o"), sort()));
    expect(seen).toEqual([
      ["newest", "newest first"],
      ["oldest", "oldest first"],
      ["host", "by host"],
      ["last_success", "longest without success first"],
      ["last_failure", "latest failure first"],
      // The list begins with this order, because people look for endpoints that fail.
      ["failing", undefined],
    ]);
    const data = Array.from({ length: 60 }, (_, n) => ({ ...anEndpoint, id: idOf("ep", n) }));
    const more = { data, next_cursor: "more" };
    const other = new Dashboard({ tab: "endpoints", instead: { listEndpoints: more } }).connected();
    other.answers = false;
    other.press("o", "o", "o", "G");
    expect(other.effects.at(-1)).toMatchObject({ call: { ask: { query: { sort: "-host" } } } });
  });

  it("begins with its first row, has its other end, and keeps its order under a filter", () => {
    const dashboard = new Dashboard({ tab: "events", jobs: [] }).connected().press("o");
    expect(row(shown(dashboard), 0)).toMatch(/EVENT .*AGE▼ ENDPOINT/);
    expect(row(shown(dashboard), 1)).toContain(`▶ ✗ failed    evt_…${idOf("evt", 1).slice(-8)}`);
    expect(shown(dashboard)).toContain("HOLD");
    dashboard.press("G");
    expect(orders(dashboard, "listEvents").at(-1)).toBe("newest");
    expect(shown(dashboard)).toMatch(/▶ ✗ failed    evt_…0+250/);
    dashboard.press("f");
    expect(orders(dashboard, "listEvents").at(-1)).toBe("oldest");
    expect(shown(dashboard)).toContain("1 of 250, oldest first   / status:failed");
  });

  it("counts no newer rows above it, and takes a page anew as it is", () => {
    const dashboard = new Dashboard({ tab: "events", jobs: [] }).connected().press("o", "p", "p");
    const change = { event: idOf("evt", 999), delivery: idOf("dlv", 999), endpoint: idOf("ep", 1), status: "pending" };
    const at = new Date(NOW).toISOString();
    dashboard.stream({ kind: "delivery", data: { ...change, at, attempts: 0 } } as never).pass(1000);
    expect(shown(dashboard)).not.toContain("newer");
    expect(row(shown(dashboard), 1)).toContain(idOf("evt", 1).slice(-8));
  });
});

describe("failures", () => {
  const group = (n: number, change: object) => ({ ...someFailures.data[0]!, endpoint: idOf("ep", n), ...change });
  const [early, late] = ["2026-11-19T00:00:00.000Z", "2026-11-20T09:59:59.000Z"];
  const data = [
    group(2, { failed: 5, pending: 100, error: "timeout", status_code: null }),
    group(3, { failed: 50, pending: 1, error: "dns_failure", status_code: null, first_at: early }),
    group(1, { failed: 0, pending: 30, last_at: late }),
  ];

  it.each(["failures", "overview"] satisfies Tab[])("on %s are sorted by what is on the screen", (tab) => {
    const instead = { listFailures: { ...someFailures, data, total: 3 } };
    const dashboard = new Dashboard({ tab, instead, jobs: [], size: { columns: 120, rows: 40 } }).connected();
    const seen = Array.from({ length: SORTS.failures.length }, () => {
      const lines = shown(dashboard).split("\n");
      const at = lines.findIndex((line) => /FAILED.* CAUSE/.test(line));
      const first = lines.slice(at + 1, at + 4).map((line) => /^▶? *(\d+)/.exec(line)![1]);
      const mark = /(\S+)[▲▼]/.exec(lines[at]!)?.[0];
      const said = /^ 1 of 3(?:, (.+?))?(?: {3}.*)?$/m.exec(lines.join("\n"))?.[1];
      dashboard.press("o").pass(5000);
      return [said, mark, first.join(" ")];
    });
    expect(seen).toEqual([
      [undefined, undefined, "5 50 0"],
      ["most failed first", "FAILED▼", "50 5 0"],
      ["most waiting first", "RETRYIN▼", "5 0 50"],
      ["by cause", "CAUSE▲", expect.any(String)],
      ["by endpoint", "ENDPOINT▲", expect.any(String)],
      ["longest failing first", "SINC▼", expect.stringMatching(/^50/)],
      ["latest failure first", "LAS▲", expect.stringMatching(/^0/)],
    ]);
  });
});
