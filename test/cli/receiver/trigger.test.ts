import { afterEach, describe, expect, it } from "vitest";
import { EXIT } from "../../../cli/exit-code.ts";
import { BUILT_IN_TYPES } from "../../../src/domain/events/event-type.ts";
import { TestDaemon } from "../../harness/daemon.ts";
import { TestReceiver, type Answer } from "../../harness/receiver.ts";
import { FakeIo } from "../fake-io.ts";
import { webhookd } from "../runs.ts";

const EXAMPLES = BUILT_IN_TYPES.filter(({ source }) => source === "example");

let receiver: TestReceiver | undefined;
afterEach(() => receiver?.close());

async function site(options: { dev?: boolean; answers?: Answer[]; register?: boolean } = {}) {
  receiver = await TestReceiver.start(options.answers ?? []);
  const settings = { EGRESS_ALLOW_HTTP: "true", EGRESS_PORTS: "any", EGRESS_ALLOW_CIDRS: "127.0.0.1/32" };
  const dev = options.dev ?? true;
  const daemon = await TestDaemon.start(dev ? {} : { dev, settings });
  const endpoint = options.register === false ? null : await daemon.register(receiver.url);
  const trigger = async (...words: string[]) => {
    const io = new FakeIo({ input: ['{"own":1.10}'] });
    const code = await webhookd(io, "trigger", ...words, "--socket", daemon.config.server.socket);
    return { code, out: io.out, err: io.err, time: io.now() - 1_700_000_000_000 };
  };
  return { receiver, daemon, endpoint: endpoint?.id ?? "", trigger };
}

const dataOf = ({ requests }: TestReceiver) =>
  requests.map(({ body }) =>
    body
      .toString()
      .replace(/^.*,"data":/, "")
      .slice(0, -1),
  );

describe("webhookd trigger", () => {
  it("publishes the sample of a type and says what came back", async () => {
    const { trigger, receiver, endpoint } = await site();
    const { code, out, err } = await trigger("budget.exceeded");
    expect({ code, err }).toEqual({ code: EXIT.ok, err: "" });
    expect(out).toMatch(
      new RegExp(
        `^evt_\\S+  budget\\.exceeded\n  ${endpoint}  127\\.0\\.0\\.1:\\d+/hook  200 in \\d+ ms\nDelivered\\.\n$`,
      ),
    );
    expect(JSON.parse(dataOf(receiver)[0]!)).toEqual(
      BUILT_IN_TYPES.find(({ name }) => name === "budget.exceeded")!.sample,
    );
  });

  it("exits 8 when it was not delivered, or nobody chose the type", async () => {
    const { trigger } = await site({ answers: [503] });
    const failed = await trigger("budget.exceeded");
    expect(failed.code).toBe(EXIT.answer_is_no);
    expect(failed.out).toMatch(/503 in \d+ ms; next attempt in .+\nNot delivered\.\n$/);
    const nobody = await trigger("goal.achieved");
    expect(nobody.code).toBe(EXIT.answer_is_no);
    expect(nobody.out).toContain("No endpoint of tenant default chose this type.");
    expect(nobody.err).toContain("webhookd listen --register");
  });

  it("sends a test event to one endpoint alone, and shows what it answered, harmlessly", async () => {
    const { trigger, receiver, endpoint } = await site({ answers: [200, { status: 500, body: "no\x1b[2J" }] });
    expect(await trigger("goal.achieved", "--endpoint", endpoint)).toMatchObject({
      code: EXIT.ok,
      out: expect.stringContaining("(test)"),
    });
    expect(receiver.requests[0]!.headers).toMatchObject({ "x-webhookd-test": "1" });
    const failed = await trigger("goal.achieved", "--endpoint", endpoint);
    expect(failed.code).toBe(EXIT.answer_is_no);
    expect(failed.out).toMatch(/ {2}500 in \d+ ms\n {2}no<U\+001B>\[2J\nNot delivered\.\n$/);
    const json = await trigger("goal.achieved", "--endpoint", endpoint, "--json");
    expect(JSON.parse(json.out)).toMatchObject({ trigger: "test", outcome: "succeeded" });
  });

  it("asks which endpoints are meant where real customers might be", async () => {
    const { trigger, receiver, endpoint } = await site({ dev: false });
    const { code, out, err } = await trigger("budget.exceeded");
    expect({ code, out }).toEqual({ code: EXIT.usage, out: "" });
    expect(err).toMatch(/--endpoint ep_… to send a test event.*--all to publish.*Nothing was done/);
    expect(receiver.requests).toEqual([]);
    expect((await trigger("budget.exceeded", "--all")).code).toBe(EXIT.ok);
    expect((await trigger("budget.exceeded", "--endpoint", endpoint)).code).toBe(EXIT.ok);
  });

  it("takes other data byte for byte, and changes single fields of it or of the sample", async () => {
    const { trigger, receiver } = await site();
    await trigger("budget.exceeded", "--data", '{ "b":1.10, "a":9007199254740993 }');
    await trigger("budget.exceeded", "--data", "-");
    await trigger(
      "budget.exceeded",
      "--data",
      '{"list":[{"a":1}]}',
      "--set",
      "data.list.0.b=x=1",
      "--set",
      "data.n.m=[2]",
    );
    await trigger("budget.exceeded", "--set", "data.spent.value=12.5", "--set", "data.__proto__.x=1");
    const [raw, piped, changed, sample] = dataOf(receiver);
    expect(raw).toBe('{ "b":1.10, "a":9007199254740993 }');
    expect(piped).toBe('{"own":1.10}');
    expect(changed).toBe('{"list":[{"a":1,"b":"x=1"}],"n":{"m":[2]}}');
    expect(sample).toMatch(/"spent":\{"value":12\.5,"currency":"EUR"\},"__proto__":\{"x":1\}\}$/);
  });

  it("with --print shows what it would publish and asks nobody", async () => {
    const io = new FakeIo();
    expect(await webhookd(io, "trigger", "goal.achieved", "--set", "data.name=x", "--print", "--socket", "/none")).toBe(
      EXIT.ok,
    );
    expect(JSON.parse(io.out)).toMatchObject({ type: "goal.achieved", data: { name: "x" } });
  });

  it("sends several at a pace and counts what arrived", async () => {
    const { trigger, receiver } = await site({ answers: [200, 503, 200, 200] });
    const { code, out, err, time } = await trigger("budget.exceeded", "--count", "4", "--pace", "2/s");
    expect(code).toBe(EXIT.partly_done);
    expect(out.match(/^evt_/gm)).toHaveLength(4);
    expect(err).toBe("3 of 4 delivered.\n");
    expect(time).toBeGreaterThanOrEqual(1500);
    expect(receiver.requests).toHaveLength(4);
    expect((await trigger("budget.exceeded", "--count", "2")).code).toBe(EXIT.ok);
  });

  it("lists the types and says whose data is specified", async () => {
    const { trigger } = await site({ register: false });
    const { code, out } = await trigger("--list");
    expect(code).toBe(EXIT.ok);
    expect(out.match(/an example; the specification has none/g)).toHaveLength(EXAMPLES.length);
    expect(out).toMatch(/^transaction\.enriched +as specified/m);
    expect(JSON.parse((await trigger("--list", "--json")).out).data).toHaveLength(BUILT_IN_TYPES.length);
  });

  it.each([
    [[], "`webhookd trigger --list` lists them. Nothing was done.\n"],
    [["budget.exceded"], "Did you mean budget.exceeded?"],
    [["budget.exceeded", "--set", "amount=1"], "--set takes data.field=value"],
    [["budget.exceeded", "--set", "data..a=1"], "--set takes data.field=value"],
    [["budget.exceeded", "--data", "[1]"], "--data contains a JSON array"],
    [["budget.exceeded", "--count", "0"], "--count must be a number from 1 to 1000"],
    [["budget.exceeded", "--endpoint", "evt_1"], "is not the id of an endpoint"],
    [["budget.exceeded", "--endpoint", "ep_00000000000000000000000000", "--all"], "cannot be combined"],
    [
      ["budget.exceeded", "--endpoint", "ep_00000000000000000000000000", "--set", "data.a=1"],
      "publish a real event with --all",
    ],
  ])("refuses %j and publishes nothing", async (words, message) => {
    const { trigger, receiver } = await site();
    const { code, out, err } = await trigger(...words);
    expect({ code, out }).toEqual({ code: EXIT.usage, out: "" });
    expect(err).toContain(message);
    expect(err).toMatch(/Nothing was (published|done)/);
    expect(receiver.requests).toEqual([]);
  });
});
