/** A customer's host or name finds the endpoint, without an id. */
import { describe, expect, it } from "vitest";
import { EXIT } from "../../cli/exit-code.ts";
import { anEndpoint } from "../../src/api/endpoints/fields.ts";
import { typed } from "./typed.ts";

const ACME = { ...anEndpoint, uid: "shop-7" };
const OTHER = { ...anEndpoint, id: "ep_06fbqxvx9r4m8q2v6ng0c3kz7t", uid: "shop-77" };
const found = (...data: object[]) => ({ answers: { listEndpoints: { data, next_cursor: null } } });

describe("an endpoint is found", () => {
  it.each([["endpoints show"], ["endpoints secret"], ["endpoints enable"], ["endpoints disable"]])(
    "by %s and a part of its URL",
    async (command) => {
      const { code, daemon } = await typed([...command.split(" "), "example.com/ho"], found(ACME));
      expect(code).toBe(EXIT.ok);
      expect(daemon.seen[0]!.path).toContain("match=example.com%2Fho");
      expect(daemon.seen[1]!.path).toContain(ACME.id);
    },
  );

  it.each([
    ["failures --endpoint acme"],
    ["failures acme"],
    ["deliveries list --endpoint acme"],
    ["deliveries list --filter", "status:failed endpoint:acme since:2h"],
    ["events list --endpoint acme"],
    ["replay --dry-run --endpoint acme"],
  ])("by %s", async (line, ...more) => {
    const { code, daemon } = await typed([...line.split(" "), ...more], found(ACME));
    expect(code).toBe(EXIT.ok);
    expect(daemon.seen[0]!.path).toContain("match=acme");
    expect(JSON.stringify(daemon.seen[1])).toContain(ACME.id);
  });

  it("by its whole uid, even where others contain it", async () => {
    const { code, daemon } = await typed(["endpoints", "show", "shop-7"], found(OTHER, ACME));
    expect(code).toBe(EXIT.ok);
    expect(daemon.seen[1]!.path).toContain(ACME.id);
  });

  it("without a question where its id is given", async () => {
    const { daemon } = await typed(["endpoints", "show", ACME.id], found());
    expect(daemon.asked()).toEqual(["getEndpoint", "listEndpointAttempts", "listEventTypes"]);
  });
});

describe("nothing is done", () => {
  it("where nothing has the word", async () => {
    const { code, err, daemon } = await typed(["endpoints", "disable", "acme"], found());
    expect([code, daemon.asked()]).toEqual([EXIT.not_found, ["listEndpoints"]]);
    expect(err).toContain('no endpoint has "acme" in its URL, uid or description');
  });

  it("where several have it, which are named", async () => {
    const { code, err, daemon } = await typed(["endpoints", "disable", "shop"], found(ACME, OTHER));
    expect([code, daemon.asked()]).toEqual([EXIT.usage, ["listEndpoints"]]);
    expect(err).toContain('2 endpoints have "shop": give a longer part of it, or an id');
    expect(err).toContain(`${ACME.id} shop-7, ${OTHER.id} shop-77.`);
  });

  it("by what looks like another id or a key, which is not repeated", async () => {
    for (const word of ["evt_06fbqxvx9r4m8q2v6ng0c3kz7t", "ep_06fb", "whk_secret", "whsec_secret"]) {
      const { code, err, daemon } = await typed(["endpoints", "show", word], found());
      expect([word, code, daemon.seen]).toEqual([word, EXIT.usage, []]);
      expect(err).not.toContain("secret");
    }
  });
});

it("is what the audit log is asked about; any other id is asked about as it is", async () => {
  const none = { data: [], next_cursor: null };
  const answers = { listAudit: none, listEndpoints: { data: [anEndpoint], next_cursor: null } };
  const word = await typed(["audit", "list", "example"], { answers });
  expect(word.last!.path).toContain(`object=${anEndpoint.id}`);
  const job = "job_06fbqxvy4r2s4t6v8w0x2y4z60";
  const whole = await typed(["audit", "list", job], { answers });
  expect(whole.daemon.seen.map(({ path }) => path)).toEqual([expect.stringContaining(`/v1/audit?object=${job}`)]);
});
