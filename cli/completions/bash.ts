import { GROUPS } from "../commands.ts";
import { nextWords, type Takes, type TypedCommand } from "./grammar.ts";

/** The script works with `eval`, or as a file in bash-completion's folder. It does not need bash-completion. */
export function bashScript(commands: readonly TypedCommand[]): string {
  const words = (group?: string) =>
    nextWords(group)
      .map(({ word }) => word)
      .join(" ");
  const groups = Object.keys(GROUPS).map((group) => `    ${group}) words="${words(group)}" ;;`);
  const flags = commands.map(
    ({ name, flags }) => `    "${name}") words="${flags.map((f) => f.spelling).join(" ")}" ;;`,
  );
  const values = commands.flatMap(({ name, flags }) =>
    flags.flatMap(({ spelling, takes }) => (takes === null ? [] : [`    "${name} ${spelling}") ${doing(takes)} ;;`])),
  );
  const args = commands.flatMap(({ name, argument }) =>
    argument === null ? [] : [`    "${name}") ${doing(argument)} ;;`],
  );
  return `# bash completion of webhookd: eval "$(webhookd completions bash)"
_webhookd() {
  local cur=\${COMP_WORDS[COMP_CWORD]} before=\${COMP_WORDS[COMP_CWORD - 1]} name=\${COMP_WORDS[1]} words="" at=2
  COMPREPLY=()
  # bash makes words of "--flag=value" at the "=".
  if [[ $cur == "=" ]]; then cur=""; elif [[ $before == "=" ]]; then before=\${COMP_WORDS[COMP_CWORD - 2]}; fi
  if ((COMP_CWORD == 1)); then
    COMPREPLY=($(compgen -W "${words()} --help --version" -- "$cur"))
    return
  fi
  case $name in
${groups.join("\n")}
  esac
  if [[ -n $words ]]; then
    if ((COMP_CWORD == 2)); then COMPREPLY=($(compgen -W "$words" -- "$cur")); return; fi
    name="$name \${COMP_WORDS[2]}" at=3
  fi
  case "$name $before" in
${values.join("\n")}
  esac
  if [[ $cur == -* ]]; then
    case $name in
${flags.map((line) => `  ${line}`).join("\n")}
      *) return ;;
    esac
    COMPREPLY=($(compgen -W "$words" -- "$cur"))
    return
  fi
  case $name in
${args.join("\n")}
  esac
}
_webhookd_ids() {
  local known
  known=$(webhookd __complete "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null | cut -f1)
  COMPREPLY=($(compgen -W "$known" -- "$cur"))
}
complete -o default -F _webhookd webhookd
`;
}

/** Returns the shell code that completes a value and then returns. */
function doing(takes: Takes): string {
  if (takes.kind === "words") return `COMPREPLY=($(compgen -W "${takes.words.join(" ")}" -- "$cur")); return`;
  if (takes.kind === "ids") return "_webhookd_ids; return";
  return takes.kind === "files" ? 'COMPREPLY=($(compgen -f -- "$cur")); return' : "return";
}
