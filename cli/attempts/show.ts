import { adviceOnAttempt } from "../../src/client/advice.ts";
import type { Attempt } from "../../src/client/operations.ts";
import { printable } from "../../src/domain/printable.ts";
import { CLIENT, command } from "../command.ts";
import { EXIT } from "../exit-code.ts";
import { connectFor } from "../find-id.ts";
import type { Io } from "../io.ts";
import { say, sayFields, sayJson } from "../output/print.ts";
import { ago } from "../output/words.ts";
import { resultOf } from "./text.ts";

export const attemptsShow = command({
  args: {
    attempt: { type: "positional", required: true, valueHint: "att_…", description: "Id of the attempt" },
    ...CLIENT,
  },
  examples: ["webhookd attempts show att_01m7w8bx02jeyjr53r14y5rmma"],
  async run(args, io) {
    const { client, id } = await connectFor("att", args.attempt, args, io);
    const attempt = await client.call("getAttempt", { id });
    if (args.json) sayJson(io, attempt);
    else show(attempt, io);
    return EXIT.ok;
  },
});

function show(attempt: Attempt, io: Io): void {
  const { response_headers: headers, response_body: body } = attempt;
  say(io, `${attempt.id}  ${attempt.outcome}  ${resultOf(attempt)}`);
  sayFields(io, [
    ["detail", attempt.detail],
    ["event", attempt.event],
    ["delivery", attempt.delivery],
    ["endpoint", attempt.endpoint],
    ["url", attempt.url],
    ["number", `${attempt.number}, ${placeOf(attempt)}`],
    ["started", `${attempt.started_at}, ${ago(attempt.started_at, io.now())}`],
    ["timing", phasesOf(attempt)],
    ["address", attempt.remote_address],
    ["secret", attempt.secret],
    ["body error", attempt.body_error],
    ...(attempt.outcome === "failed" ? adviceFields(attempt) : []),
  ]);
  const names = Object.entries(headers);
  if (names.length > 0) say(io, "response headers");
  for (const [name, value] of names) say(io, `  ${name}: ${value}`);
  if (body === "") return;
  say(io, attempt.response_truncated ? "response body (beginning)" : "response body");
  for (const line of printable(body, { keepNewlines: true }).split("\n")) say(io, `  ${line}`);
}

function adviceFields(attempt: Attempt): [string, string][] {
  const { meaning, blame, receiver, customer, commands } = adviceOnAttempt(attempt);
  const toType = commands.filter(({ line }) => !line.endsWith(attempt.id));
  return [
    ["meaning", meaning],
    ["likely fault", blame],
    ["receiver", receiver],
    ["customer", customer],
    ...toType.map(({ purpose, line }): [string, string] => [purpose, line]),
  ];
}

/** Describes what triggered the attempt, in an operator's words. */
function placeOf({ trigger, round, retry }: Attempt): string {
  if (trigger === "test") return "a test event";
  if (retry === null) return "made by hand";
  const what = retry === 0 ? "the first" : `retry ${retry}`;
  return round === 1 ? what : `${what} of replay ${round - 1}`;
}

/** Lists when each step finished, in milliseconds from the start. */
function phasesOf({ phases, duration_ms }: Attempt): string {
  const steps = [
    ["dns", phases.dns_ms],
    ["connect", phases.connect_ms],
    ["tls", phases.tls_ms],
    ["first byte", phases.first_byte_ms],
    ["done", duration_ms],
  ] as const;
  return steps.flatMap(([name, at]) => (at === null ? [] : [`${name} ${at} ms`])).join(", ");
}
