import { nearest } from "../../src/domain/nearest.ts";
import { mayBeReplaced } from "../../src/domain/utf8.ts";
import { TARGET, JSON_FLAG, type ArgsOf, type Definitions } from "../command.ts";
import { ALIASES, COMMANDS, GROUPS, type CommandName } from "../commands.ts";
import { EXIT } from "../exit-code.ts";
import { Failure, report, usage } from "../failure.ts";
import type { Io } from "../io.ts";
import { parse, type Parsed } from "./parse.ts";

/** Runs a command with the arguments typed after its name. */
export type Run = (name: CommandName, args: Parsed, io: Io) => Promise<number>;

/** The whole program except its process: it takes a command line and resolves to an exit code. */
export async function webhookd(words: readonly string[], io: Io, run: Run = runCommand): Promise<number> {
  try {
    return await dispatch(words, io, run);
  } catch (error) {
    return report(error, io, words.includes("--json"));
  }
}

async function runCommand(name: CommandName, args: Parsed, io: Io): Promise<number> {
  const command = await COMMANDS[name].load();
  return command.run(args as ArgsOf<Definitions>, io);
}

async function dispatch(typed: readonly string[], io: Io, run: Run): Promise<number> {
  // Only completion scripts call this.
  if (typed[0] === "__complete") return (await import("../completions/complete.ts")).complete(typed.slice(1), io);
  const replaced = typed.findIndex(mayBeReplaced);
  if (replaced >= 0 && !io.typedUtf8()) {
    throw usage(
      `argument ${replaced + 1} is not UTF-8`,
      "Use a terminal that is set to UTF-8, or put the text into a file.",
    );
  }
  const words = typed[0] === "help" ? [...typed.slice(1), "--help"] : commandFirst(typed);
  const path = commandPath(words);
  const name = path.join(" ");
  const isCommand = Object.hasOwn(COMMANDS, name);
  const next = words[path.length];
  if (!isCommand && next !== undefined && !next.startsWith("-")) throw unknown(path, next);
  if (asksForHelp(words)) {
    const { help } = await import("./help.ts");
    io.stdout.write(await help(path, io));
    return EXIT.ok;
  }
  const asksForVersion = next === "--version" || next === "-v";
  if (name === "" && words.length === 1 && asksForVersion) return start("version", [], io, run);
  if (isCommand) return start(name as CommandName, words.slice(path.length), io, run);
  if (next !== undefined) throw unknown(path, next);
  const { help } = await import("./help.ts");
  io.stderr.write(await help(path, { ...io, stdout: io.stderr }));
  return EXIT.usage;
}

async function start(name: CommandName, words: readonly string[], io: Io, run: Run): Promise<number> {
  const { args } = await COMMANDS[name].load();
  return run(name, parse(`webhookd ${name}`, args, words), io);
}

/** Flags that every command has may also stand before the command. */
function commandFirst(words: readonly string[]): readonly string[] {
  let command = 0;
  while (command < words.length && isGlobal(words[command]!)) {
    const takesNext = !words[command]!.includes("=") && words[command] !== "--json";
    command += takesNext ? 2 : 1;
  }
  return command === 0 || command >= words.length ? words : moveAfter(words, command);
}

const GLOBAL = new Set(Object.keys({ ...TARGET, json: JSON_FLAG }));

function isGlobal(word: string): boolean {
  return word.startsWith("--") && GLOBAL.has(word.slice(2).split("=", 1)[0]!);
}

function moveAfter(words: readonly string[], command: number): readonly string[] {
  const rest = words.slice(command);
  const length = commandPath(rest).length;
  return [...rest.slice(0, length), ...words.slice(0, command), ...rest.slice(length)];
}

/** Returns the leading words that name a command or a group of commands. */
function commandPath([first, second]: readonly string[]): string[] {
  if (first === undefined) return [];
  if (Object.hasOwn(COMMANDS, first)) return [first];
  if (!Object.hasOwn(GROUPS, first)) return [];
  const verb = second === undefined ? undefined : aliased(second);
  return verb !== undefined && Object.hasOwn(COMMANDS, `${first} ${verb}`) ? [first, verb] : [first];
}

function aliased(word: string): string {
  return Object.hasOwn(ALIASES, word) ? ALIASES[word]! : word;
}

/** True if help is requested anywhere before `--`, even if the command line is wrong otherwise. */
function asksForHelp(words: readonly string[]): boolean {
  const end = words.indexOf("--");
  return words.slice(0, end < 0 ? undefined : end).some((word) => word === "--help" || word === "-h");
}

/** Names that other tools use for these commands. */
const MEANT: Readonly<Record<string, string>> = { create: "add", new: "add", publish: "send", edit: "update" };

function unknown(path: readonly string[], word: string): Failure {
  const name = ["webhookd", ...path].join(" ");
  const hint = `Nothing was done; see ${name} --help.`;
  if (word.startsWith("-")) return new Failure("usage", `${word} must come after a command`, hint);
  const commands = Object.keys(COMMANDS).map((command) => command.split(" "));
  const names = commands
    .filter((words) => path.every((part, at) => words[at] === part))
    .flatMap((words) => words[path.length] ?? []);
  const near = names.find((one) => one === MEANT[word]) ?? nearest(word, names);
  const guess = near === null ? "" : `Did you mean ${near}? `;
  return new Failure("usage", `${name} has no command "${word}"`, guess + hint);
}
