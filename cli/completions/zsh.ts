import { shellQuoted } from "../../src/domain/shell.ts";
import { GROUPS } from "../commands.ts";
import { nextWords, type Described, type Takes, type TypedCommand } from "./grammar.ts";

/** The script is meant for a file `_webhookd` in a folder of `$fpath`, or for `eval`. */
export function zshScript(commands: readonly TypedCommand[]): string {
  const groups = Object.keys(GROUPS).map((group) => `    ${group}) next=(${described(nextWords(group))}) ;;`);
  const flags = commands.map(({ name, flags }) => {
    const words = flags.map(({ spelling, description }) => ({ word: spelling, description }));
    return `    ${shellQuoted(name)}) next=(${described(words)}) ;;`;
  });
  const values = commands.flatMap(({ name, flags }) =>
    flags.flatMap(({ spelling, takes }) =>
      takes === null ? [] : [`    ${shellQuoted(`${name} ${spelling}`)}) ${doing(takes)}; return ;;`],
    ),
  );
  const args = commands.flatMap(({ name, argument }) =>
    argument === null ? [] : [`    ${shellQuoted(name)}) ${doing(argument)} ;;`],
  );
  return `#compdef webhookd
# zsh completion of webhookd: webhookd completions zsh > a folder of $fpath, as _webhookd
_webhookd() {
  local name=$words[2] before=$words[CURRENT-1]
  local -a next
  if ((CURRENT == 2)); then
    next=(${described(nextWords())})
    _describe command next
    return
  fi
  case $name in
${groups.join("\n")}
  esac
  if (($#next)); then
    if ((CURRENT == 3)); then _describe command next; return; fi
    name="$name $words[3]"
  fi
  case "$name $before" in
${values.join("\n")}
  esac
  if [[ $words[CURRENT] == -* ]]; then
    next=()
    case $name in
${flags.join("\n")}
    esac
    _describe flag next
    return
  fi
  case $name in
${args.join("\n")}
  esac
}
_webhookd_ids() {
  local -a known
  known=(\${(f)"$(webhookd __complete "\${(@)words[2,CURRENT]}" 2>/dev/null)"})
  known=(\${known//:/\\\\:})
  known=(\${known//$'\\t'/:})
  _describe id known
}
# A function of $fpath is called when it is loaded; what was evaluated has to be named.
if [[ $funcstack[1] == _webhookd ]]; then _webhookd "$@"; else compdef _webhookd webhookd; fi
`;
}

function doing(takes: Takes): string {
  if (takes.kind === "words") return `compadd -- ${takes.words.join(" ")}`;
  if (takes.kind === "ids") return "_webhookd_ids";
  return takes.kind === "files" ? "_files" : "true";
}

function described(words: readonly Described[]): string {
  return words.map(({ word, description }) => shellQuoted(`${word}:${description}`)).join(" ");
}
