import type { EventTypeImport } from "../../src/client/operations.ts";
import type { Client } from "../../src/client/client.ts";
import { MAX_STORED_TYPES } from "../../src/domain/events/catalogue.ts";
import { chooses, patternFault, TYPE_NAME } from "../../src/domain/events/pattern.ts";
import { IMPORT_RESULTS, MAX_IMPORT_BYTES, type TypeDraft } from "../../src/domain/events/type-import.ts";
import { sizeText } from "../../src/domain/wording.ts";
import { type ArgsOf, CLIENT, command, YES } from "../command.ts";
import { confirm, requireConsent } from "../confirm.ts";
import { EXIT } from "../exit-code.ts";
import { Failure, usage } from "../failure.ts";
import { readInputText } from "../files.ts";
import type { Io } from "../io.ts";
import { note, say, sayJson } from "../output/print.ts";
import { sayTable } from "../output/table.ts";
import { count } from "../output/words.ts";
import { connect } from "../target.ts";
import type { DescribedType } from "./document/body.ts";

/** The daemon compiles each schema. */
const TIMEOUT_MS = 120_000;

/** Longer than the descriptions that large companies publish. */
const MAX_BYTES = 32 * 1024 * 1024;

const ARGS = {
  file: {
    type: "positional",
    required: true,
    valueHint: "FILE",
    description: "OpenAPI 3.1 document with webhooks, or AsyncAPI 2 or 3, in JSON or YAML; - for stdin",
  },
  only: {
    type: "string",
    multiple: true,
    valueHint: "TYPE",
    description: "Import only this type, or the types of this pattern",
  },
  "data-in": {
    type: "string",
    valueHint: "FIELD",
    description:
      "Field of the documented body that has the event's data [data, in a body with id, type and created_at]",
  },
  skip: { type: "boolean", description: "Leave out the types that are refused, instead of importing none" },
  "dry-run": { type: "boolean", description: "Show the plan and do nothing" },
  ...YES,
  ...CLIENT,
} as const;
type Args = ArgsOf<typeof ARGS>;

type Row = EventTypeImport["data"][number];

export const typesImport = command({
  args: ARGS,
  examples: [
    "webhookd types import openapi.yaml --dry-run",
    "webhookd types import openapi.yaml --yes",
    "webhookd types import asyncapi.json --only order.* --data-in payload",
  ],
  async run(args, io) {
    const described = await readTypes(args, io);
    if (!args["dry-run"]) requireConsent("an import", args, io);
    const client = connect(args, io);
    const plan = await planned(described, client);
    const rows = plan.map(({ row }) => row);
    const refused = rows.filter(({ result }) => result === "refused");
    const work = plan.filter(({ row }) => row.result === "added" || row.result === "changed");
    const isShown = args["dry-run"] || work.length === 0;
    if (!args.json) show(rows, isShown ? io : { ...io, stdout: io.stderr });
    if (refused.length > 0 && !args.skip && !args["dry-run"]) throw someRefused(refused, rows.length, args.json);
    if (!isShown) {
      await confirm({ facts: [`${summary(rows)}.`], word: "import" }, args, io);
      const types = work.flatMap(({ draft }) => draft ?? []);
      await client.call("importEventTypes", { body: { types }, timeoutMs: TIMEOUT_MS });
    }
    if (args.json) sayJson(io, { data: rows, dry_run: args["dry-run"] });
    else if (args["dry-run"]) note(io, `${summary(rows)}. Nothing was done.`);
    else say(io, work.length === 0 ? "There is nothing to import." : `Imported: ${summary(rows)}.`);
    return args["dry-run"] && refused.length > 0 && !args.skip ? EXIT.answer_is_no : EXIT.ok;
  },
});

async function readTypes(args: Args, io: Io): Promise<DescribedType[]> {
  const { file, only } = args;
  for (const name of only) {
    const fault = TYPE_NAME.test(name) ? null : patternFault(name, []);
    if (fault !== null) throw usage(`--only: ${name} ${fault}`);
  }
  const text = await readInputText(file, "FILE", MAX_BYTES, io);
  const name = file === "-" ? "stdin" : file;
  const { typesIn } = await import("./document/document.ts");
  const all = typesIn(text, name, args["data-in"]);
  if (only.length === 0) return all;
  const chosen = all.filter((type) => chooses(only, type.name));
  if (chosen.length > 0) return chosen;
  throw usage(
    `${name} describes no type ${only.join(" or ")}`,
    `It describes ${all.map((type) => type.name).join(", ")}.`,
  );
}

interface Planned {
  readonly row: Row;
  readonly draft: TypeDraft | null;
}

/** Asks the daemon about the types that were read, and returns them in the order of the document. */
async function planned(described: readonly DescribedType[], client: Client): Promise<Planned[]> {
  const types = described.flatMap(({ draft }) => draft ?? []);
  if (types.length > MAX_STORED_TYPES) {
    const what = `a daemon takes ${MAX_STORED_TYPES} types, and these are ${types.length}`;
    throw usage(what, "Import some of them with --only.");
  }
  const body = JSON.stringify({ types, dry_run: true });
  const bytes = Buffer.byteLength(body);
  if (bytes > MAX_IMPORT_BYTES) {
    const what = `the types have ${sizeText(bytes)} together, and an import may have ${sizeText(MAX_IMPORT_BYTES)}`;
    throw usage(what, "Import some at a time with --only.");
  }
  const answer = types.length === 0 ? null : await client.call("importEventTypes", { body, timeoutMs: TIMEOUT_MS });
  const rows = [...(answer?.data ?? [])];
  return described.map((type) => {
    if (type.draft !== null) return { row: rows.shift()!, draft: type.draft };
    return { row: { name: type.name, result: "refused", changed: [], reason: type.reason }, draft: null };
  });
}

/** The reasons are too long for a cell. */
function show(rows: readonly Row[], io: Io): void {
  sayTable(io, [
    ["TYPE", "RESULT", "CHANGES"],
    ...rows.map(({ name, result, changed }) => [name, result, changed.join(", ") || "-"]),
  ]);
  for (const { name, reason } of rows) if (reason !== null) say(io, `  ${sentence(name, reason)}`);
}

/** A reason that does not name the type is the end of a sentence about it. */
function sentence(name: string, reason: string): string {
  return reason.startsWith(`${name} `) ? reason : `${name} ${reason}`;
}

/** Returns `2 added, 1 changed, 9 unchanged`. */
function summary(rows: readonly Row[]): string {
  const counts = IMPORT_RESULTS.map((result) => [rows.filter((row) => row.result === result).length, result] as const);
  return counts.flatMap(([number, result]) => (number === 0 ? [] : `${number} ${result}`)).join(", ");
}

function someRefused(refused: readonly Row[], all: number, isJson: boolean): Failure {
  const what = `${refused.length} of ${count(all, "type", "types")} cannot be imported`;
  const why = refused.map(({ name, reason }) => `${sentence(name, reason!)}. `).join("");
  const hint = `${isJson ? why : ""}Nothing was done. To import the others: --skip.`;
  return new Failure("refused", what, hint, "types_refused");
}
