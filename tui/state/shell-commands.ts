/** Writes shell commands for what is on the screen, because the command line can do whatever the dashboard does. */
import { readFilter } from "../../src/client/filter.ts";
import type { FailureGroup, Job } from "../../src/client/operations.ts";
import type { CommandsDialog, JobSet, PlanDialog } from "../model/dialog.ts";
import type { Place, State } from "../model/state.ts";
import { selectedRow } from "./lists/paged-list.ts";
import { here, rowsKind, type WithList } from "./lists/places.ts";
import { sortOf } from "./lists/sorts.ts";
import { jobSetHere } from "./job-set.ts";

type Command = CommandsDialog["commands"][number];

export function commandsHere(state: State): Command[] {
  const place = here(state);
  return [...ofList(place), ...ofRow(state, place), ...ofMany(state)];
}

/** Opens a dialog with the commands, over everything else. */
export function withCommands(state: State, commands: readonly Command[]): State {
  const dialog: CommandsDialog = { kind: "commands", title: "In a shell", commands, top: 0 };
  return { ...state, modes: [...state.modes, { kind: "dialog", dialog }] };
}

function ofList(place: Place): Command[] {
  switch (place.kind) {
    case "events":
      return [command("this list", ["events", "list"], { filter: place.list.filter, ...orderOf(place) })];
    case "deliveries":
      return [command("this list", ["deliveries", "list"], { filter: place.list.filter, ...orderOf(place) })];
    case "endpoint": {
      const flags = { endpoint: place.id, filter: place.list.filter, ...orderOf(place) };
      return [
        command("this endpoint", ["endpoints", "show", place.id]),
        command("its deliveries", ["deliveries", "list"], flags),
      ];
    }
    case "endpoints": {
      const { match, ...flags } = readFilter(place.list.filter).filter;
      const words = match === undefined ? [] : [match];
      return [command("this list", ["endpoints", "list", ...words], { ...flags, ...orderOf(place) })];
    }
    case "overview":
      return [
        command("the daemon", ["status"]),
        command("what fails", ["failures"], readFilter(place.list.filter).filter),
      ];
    case "failures":
      return [command("this list", ["failures"], readFilter(place.list.filter).filter)];
    case "activity": {
      const { tenant, ...period } = readFilter(place.list.filter).filter;
      return [
        command("the jobs", ["jobs", "list"], { tenant }),
        command("who did what", ["audit", "list"], { ...period, tenant, ...orderOf(place) }),
      ];
    }
    case "event":
      return [];
  }
}

/** Lists of the command line begin with the newest, so that order needs no flag. */
function orderOf(place: WithList): Readonly<Record<string, string>> {
  const { query } = sortOf(rowsKind(place), place.list);
  return query === null || ("order" in query && query.order === "newest") ? {} : query;
}

function ofRow(state: State, place: Place): Command[] {
  switch (place.kind) {
    case "event":
      return ofEvent(place.id, state.known.events.get(place.id)?.value.deliveries);
    case "events": {
      const row = selectedRow(place.list);
      return row === null ? [] : ofEvent(row.id, row.deliveries);
    }
    case "deliveries":
    case "endpoint": {
      const row = selectedRow(place.list);
      if (row === null) return [];
      return [...ofDelivery(row.event, row.endpoint), command("try it now", ["deliveries", "attempt", row.id])];
    }
    case "endpoints": {
      const row = selectedRow(place.list);
      return row === null ? [] : ofEndpoint(row.id);
    }
    case "overview":
    case "failures": {
      const row = selectedRow(place.list);
      return row === null ? [] : ofGroup(row);
    }
    case "activity": {
      const row = selectedRow(place.list);
      return row !== null && "matched" in row ? ofJob(row) : [];
    }
  }
}

/** The command for a whole event replays every failed delivery, as the key does. */
function ofEvent(id: string, deliveries: readonly OfEvent[] = []): Command[] {
  const one = mostWanted(deliveries);
  return [
    command("this event", ["events", "show", id]),
    command("its replay", ["replay", id]),
    ...(one === undefined ? [] : [curlCommand(id, one.endpoint)]),
  ];
}

function ofDelivery(event: string, endpoint: string): Command[] {
  return [
    command("this event", ["events", "show", event]),
    command("its replay", ["replay", event], { endpoint }),
    curlCommand(event, endpoint),
  ];
}

interface OfEvent {
  readonly endpoint: string;
  readonly status: string;
}

/** Returns the delivery to send again by hand: a failed one, if there is any. */
export function mostWanted<D extends OfEvent>(deliveries: readonly D[]): D | undefined {
  return deliveries.find(({ status }) => status === "failed") ?? deliveries[0];
}

/** The script signs when it runs, so no text contains the secret. */
export function curlCommand(event: string, endpoint: string): Command {
  return command("the request, signed when it runs", ["events", "show", event, "--curl"], { endpoint });
}

function ofEndpoint(id: string): Command[] {
  return [
    command("this endpoint", ["endpoints", "show", id]),
    command("a test event", ["endpoints", "test", id]),
    command("disable it", ["endpoints", "disable", id]),
  ];
}

function ofGroup({ endpoint, error, status_code: code, failed }: FailureGroup): Command[] {
  const flags = { error, "status-code": code === null ? undefined : String(code) };
  return [
    command("this group", ["deliveries", "list"], { endpoint, ...flags, status: failed > 0 ? "failed" : undefined }),
    command("this endpoint", ["endpoints", "show", endpoint]),
  ];
}

function ofJob({ id, status }: Job): Command[] {
  const steering = status === "paused" ? "resume" : "pause";
  return [
    command("this job", ["jobs", "show", id]),
    ...(status === "running" || status === "paused" ? [command(`${steering} it`, ["jobs", steering, id])] : []),
  ];
}

function ofMany(state: State): Command[] {
  return MANY.flatMap(({ action, what, more }) => {
    const found = jobSetHere(state, action);
    return typeof found === "string" ? [] : manyCommand(what, found.set, more);
  });
}

const MANY = [
  { action: "replay", what: "replay them all, with a plan", more: ["--canary"] },
  { action: "attempt_now", what: "try the waiting ones now, with a plan", more: ["--canary"] },
  { action: "cancel", what: "cancel the waiting ones, with a plan", more: [] },
] as const;

/** Returns the command that does the same as the dialog. */
export function planCommand({ set, plan, pace, canary }: PlanDialog): Command[] {
  const flags = [
    ...(set.action === "cancel" ? [] : [`--pace=${pace}/s`]),
    ...(canary ? ["--canary"] : []),
    ...(plan === null ? [] : [`--expect=${plan.matched}`]),
  ];
  return manyCommand("the same in a shell", set, flags);
}

const WORDS: Readonly<Record<JobSet["action"], readonly string[]>> = {
  replay: ["replay"],
  attempt_now: ["deliveries", "attempt"],
  cancel: ["deliveries", "cancel"],
};

/** Empty if no single command does it: only `replay` takes several events by their ids. */
function manyCommand(what: string, { action, filter, tenant }: JobSet, more: readonly string[]): Command[] {
  const {
    events = [],
    test,
    missing,
    status_code: code,
    ...rest
  } = filter as Readonly<Record<string, string>> & {
    readonly events?: readonly string[];
    readonly test?: boolean;
    readonly missing?: boolean;
  };
  const ids: readonly string[] = events;
  const isReplay = action === "replay";
  if (!isReplay && ids.length > 1) return [];
  const words = [...WORDS[action], ...(isReplay ? ids : [])];
  const filterWords = [
    ...(isReplay || ids.length === 0 ? [] : [`event:${ids[0]}`]),
    ...(test === undefined ? [] : [`test:${test}`]),
  ];
  const flags = {
    ...rest,
    "status-code": code,
    filter: filterWords.join(" "),
    tenant,
  };
  return [command(what, words, flags, [...(missing === true ? ["--missing"] : []), ...more])];
}

function command(
  what: string,
  words: readonly string[],
  flags: Readonly<Record<string, string | undefined>> = {},
  more: readonly string[] = [],
): Command {
  // Join with =, so that no value is read as a flag.
  const given = Object.entries(flags).flatMap(([name, value]) =>
    value === undefined || value === "" ? [] : [`--${name}=${value}`],
  );
  return { what, command: ["webhookd", ...words, ...given, ...more].map(quoted).join(" ") };
}

/** Quotes a word for a POSIX shell. */
function quoted(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", String.raw`'\''`)}'`;
}
