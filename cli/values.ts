/** Reads the values of flags before the command does anything. Each function throws a Failure with exit code 2. */
import { faultOf, FILTER_WORDS, queryOf, readFilter, type Filter, type FilterWord } from "../src/client/filter.ts";
import { parseDuration } from "../src/config/units.ts";
import { isBeginning, isId } from "../src/domain/id.ts";
import type { FlagName } from "./command.ts";
import { usage } from "./failure.ts";

export function readCount(text: string, flag: string, { min, max }: { min: number; max: number }): number {
  const count = /^\d{1,9}$/.test(text) ? Number(text) : NaN;
  if (count >= min && count <= max) return count;
  throw usage(`${flag} must be a number from ${min} to ${max}, not "${text}"`);
}

/** Returns milliseconds. */
export function readDuration(text: string, flag: string): number {
  const duration = parseDuration(text);
  if (duration !== null) return duration;
  throw usage(`${flag} must be a duration such as 30s, 2h or 30d, not "${text}"`);
}

/** Reads `20/s`, `30/m` or `20` as a number per second, up to the limit for a job. */
export function readPace(text: string, flag: string): number {
  const [, number, unit = "s"] = /^(\d{1,6}(?:\.\d{1,3})?)(?:\/([sm]))?$/.exec(text) ?? [];
  const perSecond = number === undefined ? 0 : Number(number) / (unit === "m" ? 60 : 1);
  if (perSecond > 0 && perSecond <= MAX_PER_SECOND) return perSecond;
  throw usage(`${flag} must be a pace such as 20/s or 30/m, at most ${MAX_PER_SECOND}/s, not "${text}"`);
}

const MAX_PER_SECOND = 500;

/** The commands that list ids of each kind. */
const SHOWN = { evt: "events", ep: "endpoints", dlv: "deliveries", att: "attempts", job: "jobs" } as const;
const NOUNS = { evt: "an event", ep: "an endpoint", dlv: "a delivery", att: "an attempt", job: "a job" } as const;

export type Named = keyof typeof NOUNS;

/** Does not repeat the text if it may be a secret in the wrong place. */
export function readId(prefix: Named, text: string): string {
  if (isId(prefix, text)) return text;
  const what = /^(?:evt|ep|dlv|att|job|key)_/.test(text) ? text : "that";
  const [is] = (Object.keys(NOUNS) as (keyof typeof NOUNS)[]).filter(
    (other) => isId(other, text) || isBeginning(other, text),
  );
  const hint =
    is === undefined
      ? `Such an id is ${prefix}_ followed by 26 characters; see \`webhookd ${SHOWN[prefix]} list${prefix === "att" ? " evt_…" : ""}\`.`
      : `It is the id of ${NOUNS[is]}: \`webhookd ${SHOWN[is]} show ${text}\`.`;
  throw usage(`${what} is not the id of ${NOUNS[prefix]}`, hint);
}

/** The filter of a command: `--filter`, and its words as flags. */
export type FilterArgs = { readonly [F in "filter" | FlagName<FilterWord>]?: string | undefined };

/** Combines `--filter` with the flags. Only one of them may set a key, and the key must be in `taken`. */
export function readFilterArgs(args: FilterArgs, taken: readonly FilterWord[] = FILTER_WORDS): Filter {
  const { filter, mistakes } = readFilter(args.filter ?? "");
  const [first] = mistakes;
  if (first !== undefined) throw usage(`--filter: ${first.what}`, first.hint);
  const all: { [W in FilterWord]?: string } = { ...filter };
  for (const word of FILTER_WORDS) {
    const flag = word.replace("_", "-") as FlagName<FilterWord>;
    const value = args[flag];
    if (value !== undefined) {
      if (all[word] !== undefined) throw usage(`--${flag} is also in --filter`, "Give it once.");
      const fault = faultOf(word, value);
      if (fault !== null) throw usage(`--${flag} does not take "${value}"`, fault);
      all[word] = value;
    }
    if (all[word] !== undefined && !taken.includes(word)) {
      const hint = taken.length === 0 ? "This command takes no filters." : `These apply: ${taken.join(", ")}.`;
      throw usage(`${value === undefined ? `--filter: ${word}:` : `--${flag}`} does not apply here`, hint);
    }
  }
  return all;
}

/** Returns the filter as query parameters of the API. */
export function readQuery(
  args: FilterArgs,
  now: number,
  taken?: readonly FilterWord[],
): { [W in FilterWord]?: string } {
  return queryOf(readFilterArgs(args, taken), now);
}
