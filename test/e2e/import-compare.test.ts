/** A Svix server and a daemon get the same events, and `import compare` says where they differ. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { EXIT } from "../../cli/exit-code.ts";
import { FakeIo } from "../cli/fake-io.ts";
import { webhookd } from "../cli/runs.ts";
import { aDirectory, TestDaemon } from "../harness/daemon.ts";
import type { ForeignServer } from "../harness/foreign-server.ts";
import { serveSvix, svixEndpoint, SVIX_KEY, type SvixMessage } from "../harness/svix.ts";

const PAID = { name: "invoice.paid", description: "" };

async function scene() {
  const daemon = await TestDaemon.start({});
  const endpoint = svixEndpoint("https://a.example.com/", { filterTypes: ["invoice.paid"], messages: [] });
  const applications = [{ id: "app_1", uid: "acme", name: "Acme", endpoints: [endpoint] }];
  const server = await serveSvix({ applications, eventTypes: [PAID] });
  const target = ["--url", daemon.url, "--key-file", join(daemon.dir, "admin.key")];
  const run = async (...words: string[]) => {
    const io = new FakeIo({ env: { SVIX_AUTH_TOKEN: SVIX_KEY } });
    const code = await webhookd(io, "import", ...words, ...target);
    return { code, out: io.out, err: io.err };
  };
  expect((await run("svix", "--from", server.url, "--yes")).code).toBe(EXIT.ok);
  const publish = async (id: string, n: number): Promise<SvixMessage> => {
    const event = { type: "invoice.paid", tenant: "acme", publisher_id: id, data: { n } };
    const { status, body } = await daemon.request("POST", "/v1/webhooks/events", event);
    expect(status).toBe(202);
    const { received_at: at } = (await daemon.request("GET", `/v1/webhooks/events/${body.id}`)).body;
    return { id: `msg_${id}`, eventId: id, eventType: "invoice.paid", payload: { n }, timestamp: at };
  };
  const compare = (from: ForeignServer | string, ...words: string[]) => {
    const source = typeof from === "string" ? ["csv", "--log", from] : ["svix", "--from", from.url];
    return run("compare", ...source, "--since", "2020-01-01", "--until", "2100-01-01", ...words);
  };
  return { daemon, endpoint, server, publish, compare, run };
}

describe("webhookd import compare", () => {
  it("finds no difference where both would send the same, however often the other attempted it", async () => {
    const { daemon, endpoint, server, publish, compare } = await scene();
    const nothing = await compare(server);
    expect([nothing.code, nothing.out]).toEqual([
      EXIT.answer_is_no,
      "Neither side had an event for 1 endpoint in that span.\n",
    ]);
    const message = await publish("inv_1", 1);
    endpoint.messages!.push(message, message);
    const same = await compare(server);
    expect([same.code, same.out]).toEqual([EXIT.ok, "1 endpoint: 1 delivery is the same on both sides.\n"]);
    const listed = (await daemon.request("GET", "/v1/webhooks/deliveries?tenant=acme")).body.data;
    expect(listed).toMatchObject([{ status: "shadowed", attempts: 0 }]);
  });

  it("shows per endpoint what only one has sent, and what differs, with counts and examples", async () => {
    const { endpoint, server, publish, compare } = await scene();
    const [same, changed] = [await publish("inv_1", 1), await publish("inv_2", 2)];
    for (const n of [3, 4, 5, 6]) await publish(`inv_${n}`, n);
    endpoint.messages!.push(
      same,
      { ...changed, payload: { n: "two" } },
      { ...same, id: "msg_9", eventId: "inv_9", payload: { n: 9 } },
    );
    const { code, out } = await compare(server, "--json");
    expect(code).toBe(EXIT.answer_is_no);
    expect(JSON.parse(out)).toMatchObject({
      same: false,
      endpoints: [
        {
          tenant: "acme",
          id: endpoint.id,
          url: "a.example.com/",
          same: 1,
          only_there: { count: 1, types: { "invoice.paid": 1 }, examples: [{ event: "msg_9", publisher_id: "inv_9" }] },
          only_here: { count: 4, examples: [{ publisher_id: "inv_3" }, {}, {}] },
          different: { count: 1, examples: [{ event: "msg_inv_2" }] },
        },
      ],
    });
    const shown = (await compare(server)).out;
    expect(shown).toMatch(
      /^TENANT +ENDPOINT +URL +SAME +ONLY THERE +ONLY HERE +DIFFERENT\nacme +ep_\S+ +a\.example\.com\/? +1 +1 +4 +1\n/,
    );
    expect(shown).toMatch(
      / only here: invoice\.paid evt_\S+, publisher's id inv_5, payload [0-9a-f]{12}, \S+Z, and 1 more\n/,
    );
    expect(shown).toMatch(/\n1 endpoint differs of 1; 1 delivery is the same on both sides\.\n$/);
  });

  it.each(["jsonl", "csv"])("reads a log of one's own sender in %s", async (kind) => {
    const { daemon, publish, run, compare } = await scene();
    const dir = aDirectory();
    const [list, log] = [join(dir, "endpoints.csv"), join(dir, `sent.${kind}`)];
    writeFileSync(
      list,
      "tenant,id,url,events,secret\nacme,17,https://b.example.com/,invoice.paid,whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD\n",
    );
    expect((await run("csv", list, "--yes")).code).toBe(EXIT.ok);
    const messages = [await publish("inv_1", 1), await publish("inv_2", 2)];
    const rows = messages.map(({ eventId, timestamp, payload }) => ({
      endpoint: "17",
      type: "invoice.paid",
      at: timestamp,
      publisher_id: eventId,
      payload,
    }));
    const quoted = (value: unknown) => `"${JSON.stringify(value).replaceAll('"', '""')}"`;
    const text =
      kind === "jsonl"
        ? rows.map((row) => JSON.stringify(row)).join("\n")
        : ["endpoint,type,at,publisher_id,payload"]
            .concat(rows.map((row) => `17,${row.type},${row.at},${row.publisher_id},${quoted(row.payload)}`))
            .join("\n");
    writeFileSync(log, `${text}\n`);
    const { code, out } = await compare(log);
    expect([code, out]).toEqual([EXIT.ok, "1 endpoint: 2 deliveries are the same on both sides.\n"]);
    writeFileSync(log, kind === "jsonl" ? '{"endpoint":"17"}\n' : "endpoint,type\n17,x\n");
    expect((await compare(log)).code).toBe(EXIT.usage);
    expect(daemon.url).toContain("http");
  });

  it("says what is missing before it asks anybody", async () => {
    const { run, server } = await scene();
    for (const [words, says] of [
      [["compare", "svix"], "there is nothing to compare with"],
      [["compare", "nobody", "--from", server.url], 'no import is from "nobody"'],
      [["compare", "svix", "--from", server.url, "--log", "x"], "--log and --from name two sources"],
      [["compare", "convoy", "--from", server.url], "needs a key"],
      [["compare", "outpost", "--log", "x.jsonl"], "no endpoint here came from outpost"],
      [["compare", "svix", "--from", server.url, "--since", "1h", "--until", "2h"], "--since is not before --until"],
    ] as const) {
      const { code, err } = await run(...words);
      expect([code, err]).toEqual([EXIT.usage, expect.stringContaining(says)]);
    }
  });
});
