import { GROUPS } from "../commands.ts";
import { nextWords, type Takes, type TypedCommand } from "./grammar.ts";

/** The script is meant for a file `webhookd.fish` in fish's completions folder. */
export function fishScript(commands: readonly TypedCommand[]): string {
  const groups = Object.keys(GROUPS);
  const next = (group: string, at: string) =>
    nextWords(group).map(({ word, description }) => line(at, `-a ${word} -d ${quoted(description)}`));
  return `# fish completion of webhookd: webhookd completions fish > ~/.config/fish/completions/webhookd.fish
function __webhookd_at
    set -l words (commandline -opc)
    set -e words[1]
    set -l count (count $argv)
    test (count $words) -ge $count; and test "$words[1..$count]" = "$argv"
end
function __webhookd_first
    test (count (commandline -opc)) -eq 1
end
function __webhookd_second
    set -l words (commandline -opc)
    test (count $words) -eq 2; and test "$words[2]" = "$argv"
end
function __webhookd_ids
    set -l words (commandline -opc) (commandline -ct)
    webhookd __complete $words[2..-1] 2>/dev/null
end
complete -c webhookd -f
${[
  ...next("", "__webhookd_first"),
  ...groups.flatMap((group) => next(group, `__webhookd_second ${group}`)),
  ...commands.flatMap(linesOf),
].join("\n")}
`;
}

function linesOf({ name, flags, argument }: TypedCommand): string[] {
  const at = `__webhookd_at ${name}`;
  return [
    ...flags.map(({ spelling, description, takes }) => {
      const flag = spelling.startsWith("--") ? `-l ${spelling.slice(2)}` : `-s ${spelling.slice(1)}`;
      return line(at, `${flag} ${takes === null ? "" : `${value(takes)} `}-d ${quoted(description)}`);
    }),
    ...(argument === null || argument.kind === "anything" ? [] : [line(at, value(argument).replace("-x ", ""))]),
  ];
}

function value(takes: Takes): string {
  if (takes.kind === "words") return `-x -a ${quoted(takes.words.join(" "))}`;
  if (takes.kind === "ids") return "-x -a '(__webhookd_ids)'";
  return takes.kind === "files" ? "-r -F" : "-x";
}

function line(at: string, what: string): string {
  return `complete -c webhookd -n '${at}' ${what}`;
}

function quoted(text: string): string {
  return `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;
}
