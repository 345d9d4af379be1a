/** `webhookd import`: takes over the endpoints of another sender, after a plan. */
import { type ArgsOf, CLIENT, type Command, command, TENANT, YES } from "../command.ts";
import { confirm, requireConsent } from "../confirm.ts";
import { EXIT } from "../exit-code.ts";
import { Failure, usage } from "../failure.ts";
import { readInputText } from "../files.ts";
import type { Io } from "../io.ts";
import { note, say, sayJson } from "../output/print.ts";
import { connect } from "../target.ts";
import { type Applied, apply, workOf } from "./apply.ts";
import type { Wishes } from "./comparison.ts";
import type { Described } from "./described.ts";
import { API, type ForeignApi, foreignApi, KEYS, PROJECT } from "./foreign-api.ts";
import type { JsonRecord } from "../../src/domain/json/merge-patch.ts";
import { type Plan, planOf } from "./plan.ts";
import { sayPlan, shownUrl, signatureSections, summaryOf } from "./text.ts";

const MAX_BYTES = 64 * 1024 * 1024;

/** The flags of each import, in addition to those that name where it reads. */
const WORK = {
  tenant: { ...TENANT, description: "Import only the endpoints of this tenant" },
  enable: {
    type: "boolean",
    description: "Enable the endpoints that are enabled there, so that events are sent to them",
  },
  overwrite: { type: "boolean", description: "Replace what was changed here since the last import" },
  skip: { type: "boolean", description: "Leave out what is refused, instead of importing nothing" },
  "dry-run": { type: "boolean", description: "Show the plan and do nothing" },
  ...YES,
  ...CLIENT,
} as const;
const FILE = {
  file: { type: "string", valueHint: "FILE", description: "Read from an export file; - for stdin" },
} as const;
const CSV_FILE = {
  file: {
    type: "positional",
    required: true,
    valueHint: "FILE",
    description: "CSV file with a line for each endpoint; - for stdin",
  },
} as const;
type WorkArgs = ArgsOf<typeof WORK>;
type SourceArgs = WorkArgs & ArgsOf<typeof FILE> & ArgsOf<typeof API> & Partial<ArgsOf<typeof PROJECT>>;

/** Reads what another sender has, from its API or from a file. */
interface Source {
  readonly from: string;
  /** Returns what an export file of this sender describes. `name` is the file in messages. */
  readonly read: (args: SourceArgs, io: Io) => Promise<Described>;
}

export const importSvix: Command<typeof FILE & typeof API & typeof WORK> = command({
  args: { ...FILE, ...API, ...WORK },
  examples: [
    "webhookd import svix --from https://api.eu.svix.com --from-key-file svix.key --dry-run",
    "webhookd import svix --file svix.json --tenant acme --enable --yes",
  ],
  run: (args, io) => run(args, io, SVIX),
});

export const importCsv: Command<typeof CSV_FILE & typeof WORK> = command({
  args: { ...CSV_FILE, ...WORK },
  examples: ["webhookd import csv endpoints.csv --dry-run", "webhookd import csv endpoints.csv --enable --yes"],
  run: (args, io) => run({ ...args, from: undefined, "from-key-file": undefined }, io, CSV),
});

const CSV: Source = {
  from: "csv",
  async read({ file }, io) {
    const { csvIn } = await import("./csv.ts");
    return csvIn(await readInputText(file!, "FILE", MAX_BYTES, io), nameOf(file!));
  },
};

export const importOutpost: Command<typeof FILE & typeof API & typeof WORK> = command({
  args: { ...FILE, ...API, ...WORK },
  examples: [
    "webhookd import outpost --from http://localhost:3333/api/v1 --from-key-file outpost.key --dry-run",
    "webhookd import outpost --file outpost.json --tenant acme --enable --yes",
  ],
  run: (args, io) => run(args, io, OUTPOST),
});

export const importConvoy: Command<typeof FILE & typeof API & typeof PROJECT & typeof WORK> = command({
  args: { ...FILE, ...API, ...PROJECT, ...WORK },
  examples: [
    "webhookd import convoy --from https://us.getconvoy.cloud --project 01HX… --from-key-file convoy.key --dry-run",
    "webhookd import convoy --file convoy.json --tenant acme --enable --yes",
  ],
  run: (args, io) => {
    if (args.from !== undefined && args.project === undefined)
      throw usage("--from needs the project to read", "Name it with --project ID.");
    return run(args, io, CONVOY);
  },
});

const CONVOY = jsonSource("convoy", async () => {
  const { readConvoy, convoyIn } = await import("./convoy.ts");
  return { read: (api, { project }) => readConvoy(api, project!), describe: convoyIn };
});
const SVIX = jsonSource("svix", async () => {
  const { readSvix, svixIn } = await import("./svix.ts");
  return { read: readSvix, describe: svixIn };
});
const OUTPOST = jsonSource("outpost", async () => {
  const { readOutpost, outpostIn } = await import("./outpost.ts");
  return { read: readOutpost, describe: outpostIn };
});

/** Reads what `read` finds in the API, or the same from a file. */
function jsonSource(
  from: keyof typeof KEYS,
  load: () => Promise<{
    readonly read: (api: ForeignApi, args: SourceArgs) => Promise<JsonRecord>;
    readonly describe: (file: JsonRecord, name: string, now: number) => Described;
  }>,
): Source {
  return {
    from,
    async read(args, io) {
      const { read, describe } = await load();
      if (args.file !== undefined) return describe(await jsonIn(args.file, io), nameOf(args.file), io.now());
      const api = foreignApi({ ...args, from: args.from! }, KEYS[from], io);
      return describe(await read(api, args), args.from!, io.now());
    },
  };
}

function requireOneSource({ file, from, "from-key-file": keyFile }: SourceArgs): void {
  if (file !== undefined && (from !== undefined || keyFile !== undefined))
    throw usage("--file and --from name two sources", "Use one of them.");
  if (file === undefined && from === undefined)
    throw usage("there is nothing to read from", "Name a file with --file, or an API with --from.");
}

async function run(args: SourceArgs, io: Io, { from, read }: Source): Promise<number> {
  requireOneSource(args);
  if (!args["dry-run"]) requireConsent("an import", args, io);
  const { enable, overwrite } = args;
  const wishes: Wishes = { from, enable, overwrite };
  const described = ofTenant(await read(args, io), args.tenant);
  const client = connect(args, io);
  const plan = await planOf(described, wishes, client);
  const { types, endpoints } = workOf(plan);
  const isShown = args["dry-run"] || types.length + endpoints.length === 0;
  if (!args.json) sayPlan(plan, described, isShown ? io : { ...io, stdout: io.stderr });
  const refused = refusedIn(plan);
  if (refused.length > 0 && !args.skip && !args["dry-run"]) throw someRefused(refused, args.json);
  if (!isShown) {
    await confirm({ facts: [`${summaryOf(plan)}.`], word: "import" }, args, io);
  }
  const { made, left }: Applied = isShown ? NOTHING : await apply(plan, wishes, client, io);
  report({ plan: withFound(plan, left), described, made, left, args, isShown }, io);
  if (left.size > 0) return EXIT.partly_done;
  return args["dry-run"] && refused.length > 0 && !args.skip ? EXIT.answer_is_no : EXIT.ok;
}

const NOTHING: Applied = { made: new Map(), left: new Map() };

/** The plan as it turned out. */
function withFound(plan: Plan, left: Applied["left"]): Plan {
  const turnedOut = plan.endpoints.map((endpoint) => {
    const found = left.get(endpoint);
    return found === undefined ? endpoint : { ...endpoint, ...found };
  });
  return { ...plan, endpoints: turnedOut };
}

/** An endpoint's own events are what counts, so types of other tenants come along: there is one catalogue. */
function ofTenant(described: Described, tenant: string | undefined): Described {
  if (tenant === undefined) return described;
  const endpoints = described.endpoints.filter((endpoint) => endpoint.tenant === tenant);
  if (endpoints.length > 0) return { ...described, endpoints };
  const tenants = [...new Set(described.endpoints.map((endpoint) => endpoint.tenant))];
  const some = tenants.slice(0, 10).join(", ");
  throw usage(
    `no endpoint there belongs to ${tenant}`,
    some === "" ? "" : `There are ${some}${tenants.length > 10 ? ", …" : ""}.`,
  );
}

interface Refused {
  readonly whose: string;
  readonly reason: string | null;
}

function refusedIn({ types, endpoints }: Plan): readonly Refused[] {
  return [
    ...types.flatMap(({ name, result, reason }) => (result === "refused" ? { whose: name, reason } : [])),
    ...endpoints.flatMap(({ described, result, reason }) =>
      result === "refused" ? { whose: described.id, reason } : [],
    ),
  ];
}

function someRefused(refused: readonly Refused[], isJson: boolean): Failure {
  const why = refused.map(({ whose, reason }) => `${whose} ${reason ?? "is refused"}. `).join("");
  const hint = `${isJson ? why : ""}Nothing was done. To import the others: --skip.`;
  return new Failure("refused", `${refused.length} of them cannot be imported`, hint, "import_refused");
}

interface Outcome {
  readonly plan: Plan;
  readonly described: Described;
  readonly made: Applied["made"];
  readonly left: Applied["left"];
  readonly args: WorkArgs;
  readonly isShown: boolean;
}

function report({ plan, described, made, left, args, isShown }: Outcome, io: Io): void {
  const section = signatureSections(plan, described, made);
  if (args.json) return sayJson(io, jsonOf({ plan, described, made, args }, section));
  if (args["dry-run"]) note(io, `${summaryOf(plan) || "There is nothing to import"}. Nothing was done.`);
  else say(io, isShown ? "There is nothing to import." : `Imported: ${summaryOf(plan)}.`);
  for (const [{ described: one }, { reason }] of left) note(io, `  ${one.id} ${reason ?? "was left as it is"}`);
  if (section !== null) {
    note(io, "So that receivers can go on verifying what they verify now, the configuration needs:");
    for (const line of section.split("\n")) note(io, `  ${line}`);
  }
  if (made.size > 0 && !args.enable)
    note(io, "The new endpoints are disabled. To send to them: the same with --enable.");
}

function jsonOf({ plan, described, made, args }: Omit<Outcome, "left" | "isShown">, section: string | null) {
  return {
    endpoints: plan.endpoints.map((endpoint) => {
      const { described: one, result, changed, reason, notes } = endpoint;
      const { tenant, id, url } = one;
      const own = endpoint.here?.id ?? made.get(endpoint) ?? null;
      return { tenant, id, url: shownUrl(url), endpoint: own, result, changed, reason, notes };
    }),
    event_types: plan.types.map(({ name, result, changed, reason, notes: own }) => {
      return { name, result, changed, reason, notes: own };
    }),
    notes: described.notes,
    signature_also: section,
    dry_run: args["dry-run"],
  };
}

/** No message repeats what is in the file, because it has secrets in it. */
async function jsonIn(file: string, io: Io) {
  const { recordIn } = await import("./export-file.ts");
  return recordIn(await readInputText(file, "--file", MAX_BYTES, io), nameOf(file));
}

/** The file in messages. */
function nameOf(file: string): string {
  return file === "-" ? "stdin" : file;
}
