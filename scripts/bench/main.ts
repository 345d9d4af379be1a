import { loadavg } from "node:os";
import { scriptArguments } from "../arguments.ts";
import { FAIR_CASES } from "./fair.ts";
import { holds } from "./measure.ts";
import { PEERS, PEERS_PREFIX } from "./peers.ts";
import { bench, OWN_SCENARIOS, SCENARIOS } from "./scenarios.ts";
import { json, sideBySide, table } from "./table.ts";

/** Scenarios that can measure either store. */
const ON_POSTGRES = ["lists", "pending"];
const USAGE = `npm run bench -- <scenario>… | --all [--json] [--seconds N] [--rounds N] [--threads N] [--profile] [--case NAME]… [--events N] [--store postgres] [--with NAME,…]

Scenarios: ${SCENARIOS.join(", ")}
Cases of fair: ${FAIR_CASES.join(", ")}
Peers, which --all leaves out; they are looked for on PATH and in WEBHOOKD_PEERS: ${Object.keys(PEERS).join(", ")}`;

const { values, positionals, refuse } = scriptArguments(
  USAGE,
  {
    all: { type: "boolean", default: false },
    json: { type: "boolean", default: false },
    seconds: { type: "string" },
    rounds: { type: "string" },
    threads: { type: "string" },
    profile: { type: "boolean", default: false },
    case: { type: "string", multiple: true },
    events: { type: "string" },
    store: { type: "string" },
    with: { type: "string" },
  },
  true,
);
const names = values.all ? OWN_SCENARIOS : positionals;
const unknown = names.find((name) => !SCENARIOS.includes(name));
if (unknown !== undefined) refuse(`There is no scenario "${unknown}".`);
if (names.length === 0) refuse("Name a scenario, or all of them with --all.");
const { store } = values;
if (store !== undefined && (store !== "postgres" || !ON_POSTGRES.some((name) => names.includes(name))))
  refuse(`--store postgres is for ${ON_POSTGRES.join(" and ")}.`);
const chosen = values.with?.split(",");
if (chosen !== undefined && !names.includes("peers")) refuse("--with is for the scenario peers.");
const stranger = chosen?.find((name) => !Object.hasOwn(PEERS, name));
if (stranger !== undefined) refuse(`There is no peer "${stranger}".`);
// Without this, nobody would end the processes of this run.
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => process.exit(130));

const load = () => loadavg()[0]!.toFixed(1);
const before = load();
const measures = await bench(names, {
  seconds: numberOf(values.seconds),
  rounds: numberOf(values.rounds),
  threads: numberOf(values.threads),
  profile: values.profile,
  cases: values.case,
  events: numberOf(values.events),
  peers: chosen,
  store: store === "postgres" ? store : undefined,
  note: (text) => process.stderr.write(`${text} (load ${load()})\n`),
});
if (values.json) console.log(JSON.stringify({ load: [before, load()], measures: json(measures) }, null, 2));
else {
  const beside = measures.filter(({ scenario }) => scenario.startsWith(PEERS_PREFIX));
  const rest = measures.filter((measure) => !beside.includes(measure));
  if (rest.length > 0) console.log(`\n${table(rest)}`);
  if (beside.length > 0) console.log(`\n${sideBySide(beside, PEERS_PREFIX)}`);
  console.log(`\nload average ${before} before, ${load()} after`);
}
process.exitCode = measures.some((measure) => holds(measure) === false) ? 1 : 0;

function numberOf(text: string | undefined): number | null {
  return text === undefined ? null : Number(text);
}
