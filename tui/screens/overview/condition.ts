/** Answers "Is it all right?" in words: the worst news first, and what follows from it. */
import type { FailureGroup, Status } from "../../../src/client/operations.ts";
import { causeText } from "../../../src/domain/deliveries/attempt.ts";
import { counted, sizeText } from "../../../src/domain/wording.ts";
import type { Glyph, Style } from "../../draw/look.ts";
import { age, countText, longAge } from "../../draw/numbers.ts";
import type { State } from "../../model/state.ts";
import { endpointName } from "../lists.ts";
import { KEY } from "../../keys/names.ts";
import { outboxTroubleText } from "../../../src/domain/outbox/outbox.ts";

export interface Condition {
  readonly glyph: Glyph;
  readonly style: Style | undefined;
  /** A few words, in capitals. */
  readonly title: string;
  /** Sentences. They may contain outside text. */
  readonly facts: readonly string[];
}

const BAD = { glyph: "failed", style: "alarm" } as const;
const WARN = { glyph: "interrupted", style: "warning" } as const;
const WELL = { glyph: "delivered", style: "calm" } as const;
const UNKNOWN = { glyph: "pending", style: "reverse" } as const;
/** Failures in the last hour count as current. */
const RECENT_MS = 3_600_000;
/** A delivery that is overdue by more than this is late. */
const LATE_MS = 60_000;

/** `groups` are the current failures, or null until they are known. */
export function conditionOf(state: State, groups: readonly FailureGroup[] | null): Condition {
  const { known, now } = state;
  if (known.status === null && !known.forbidden.has("getStatus")) {
    return { ...UNKNOWN, title: "ASKING THE DAEMON", facts: [] };
  }
  const status = known.status?.value ?? null;
  const more = status === null ? ["This key may not read the daemon's own status."] : sideFacts(status, now);
  const daemon = status === null ? null : daemonTrouble(state, status);
  if (daemon !== null) return { ...daemon, facts: [...daemon.facts, ...more] };
  if (groups === null) return { ...UNKNOWN, title: "LOOKING FOR FAILURES", facts: more };
  if (known.roll !== null && known.endpoints.size === 0) return { ...UNKNOWN, title: "NO ENDPOINTS YET", facts: more };
  const trouble = receiverTrouble(state, groups);
  if (trouble !== null) return { ...trouble, facts: [...trouble.facts, ...more] };
  const facts = [`Nothing is failing.${flowText(state)}`, ...more];
  const needsAttention = status !== null && more.length > 0;
  return needsAttention
    ? { ...WARN, title: "SOMETHING NEEDS ATTENTION", facts }
    : { ...WELL, title: "ALL IS WELL", facts };
}

/** Returns the condition that keeps the daemon itself from working, or null. */
function daemonTrouble({ now, settings }: State, status: Status): Condition | null {
  const { state, paused, deliveries, disk } = status;
  if (state === "disk_full") {
    const facts = [`New events are refused: only ${sizeText(disk.free_bytes)} is free. Deliveries continue.`];
    return { ...BAD, title: "THE DISK IS FULL", facts };
  }
  if (state === "store_unavailable") {
    return { ...BAD, title: "CANNOT WRITE TO THE STORE", facts: ["New events are refused."] };
  }
  if (state === "draining") return { ...WARN, title: "THE DAEMON IS STOPPING", facts: [] };
  if (paused !== null) {
    const waiting = deliveries === null ? "" : ` ${counted(deliveries.pending, "delivery waits", "deliveries wait")}.`;
    const resume = settings.readOnly ? "" : ` ${KEY.pauseSending} resumes it.`;
    const since = `For ${age(now - Date.parse(paused.at))}, by ${paused.by}: ${paused.reason}.`;
    return { ...BAD, title: "ALL SENDING IS PAUSED", facts: [`${since}${waiting}${resume}`] };
  }
  // Older daemons do not report `not_sending`.
  const halt = (status as Partial<Status>).not_sending?.find(({ reason }) => reason !== "operator");
  if (halt !== undefined) {
    const title = halt.reason === "shortage" ? "SOME CANNOT BE SENT" : "NOTHING CAN BE SENT";
    return { ...BAD, title, facts: [`${halt.detail}, for ${age(now - Date.parse(halt.since))}.`] };
  }
  const { total } = status.damaged_endpoints;
  if (total === 0) return null;
  const names = status.damaged_endpoints.endpoints.map(({ endpoint }) => endpoint).join(", ");
  const title = `${counted(total, "ENDPOINT IS", "ENDPOINTS ARE")} DAMAGED`;
  return { ...BAD, title, facts: [`Nothing is sent to ${names}.`] };
}

/** Lists problems that do not keep anything from being sent yet. */
function sideFacts(
  { damaged_database: damaged, backup, disk, nodes, outboxes, oldest_due_at: oldest, held_keys: held, ...more }: Status,
  now: number,
): string[] {
  const late = oldest === null ? 0 : now - Date.parse(oldest);
  return [
    ...(late > LATE_MS ? [`The oldest delivery has been due for ${age(late)}.`] : []),
    ...nodeFacts((nodes as Status["nodes"] | undefined) ?? []),
    ...outboxFacts(outboxes),
    ...heldFacts(held ?? [], now),
    ...certificateFacts(more, now),
    ...(damaged === null ? [] : ["The database was damaged: run `webhookd doctor`."]),
    ...(disk.free_bytes < 2 * disk.floor_bytes ? [`Only ${sizeText(disk.free_bytes)} of disk space is free.`] : []),
    ...(backup.failure === null ? [] : [`The last backup failed: ${backup.failure.detail}.`]),
  ];
}

function outboxFacts(outboxes: Status["outboxes"]): string[] {
  return outboxes.flatMap(({ name, trouble, set_aside: aside }) => {
    if (trouble !== null) return [`The outbox has trouble: ${outboxTroubleText(name, trouble)}.`];
    if ((aside ?? 0) === 0) return [];
    const rows = counted(aside!, "row", "rows");
    return [`${rows} of the outbox ${name} cannot be events: \`webhookd outbox status\` shows why.`];
  });
}

function heldFacts(all: Status["held_keys"], now: number): string[] {
  const [first] = all;
  if (first === undefined) return [];
  const keys = all.reduce((sum, { count }) => sum + count, 0);
  const are = counted(keys, "ordering key is", "ordering keys are");
  const where = all.length === 1 ? first.endpoint : counted(all.length, "endpoint", "endpoints");
  return [`${are} held at ${where}, for ${age(now - Date.parse(first.since))}.`];
}

/** Older daemons do not report client certificates. */
function certificateFacts({ client_certificates: all = [] }: Partial<Status>, now: number): string[] {
  const [first] = all;
  if (first === undefined) return [];
  const is = Date.parse(first.not_after) <= now ? "has expired" : `expires at ${first.not_after}`;
  const others =
    all.length === 1
      ? []
      : [
          `${counted(all.length - 1, "more client certificate has, or soon will", "more client certificates have, or soon will")}.`,
        ];
  return [`The client certificate of ${first.endpoint} ${is}.`, ...others];
}

/** Older daemons do not report nodes. */
function nodeFacts(nodes: Status["nodes"]): string[] {
  const lost = nodes.filter((node) => node.lost).map(({ name }) => name);
  const draining = nodes.filter((node) => node.draining && !node.lost).map(({ name }) => name);
  const of = `of the ${nodes.length} nodes`;
  return [
    ...(lost.length > 0
      ? [`${lost.join(", ")} ${of} ${lost.length === 1 ? "is" : "are"} lost: the others take over.`]
      : []),
    ...(draining.length > 0
      ? [
          `${draining.join(", ")} ${of} ${draining.length === 1 ? "is" : "are"} draining: \`webhookd nodes resume\` ends that.`,
        ]
      : []),
  ];
}

function flowText({ known }: State): string {
  const events = known.hour?.value.published?.total;
  if (events === undefined) return "";
  if (events === 0) return " Nothing was published in the last hour.";
  return ` ${counted(events, "event was", "events were")} published in the last hour.`;
}

/** Returns the condition of receivers that refuse deliveries, or null if none does. */
function receiverTrouble(state: State, groups: readonly FailureGroup[]): Condition | null {
  const { known, now } = state;
  const isOn = ({ pending, held, last_at: last }: FailureGroup) =>
    pending + held > 0 || now - Date.parse(last) < RECENT_MS;
  // Old retries may wait for hours at an endpoint that works again.
  const isOver = ({ endpoint, last_at: last }: FailureGroup) =>
    Date.parse(known.health.get(endpoint)?.value.health.last_success_at ?? "") > Date.parse(last);
  const going = groups.filter((group) => isOn(group) && !isOver(group));
  const failed = groups.reduce((sum, group) => sum + group.failed, 0);
  const waiting = groups.reduce((sum, group) => sum + group.pending + group.held, 0);
  if (going.length === 0) {
    // The groups cover only some days, and are incomplete right after an upgrade, so the daemon's count may be higher.
    const missing = Math.max(failed, known.status?.value.deliveries?.failed ?? 0);
    if (missing + waiting === 0) return null;
    const retries = `${counted(waiting, "delivery is", "deliveries are")} waiting to be retried at endpoints that work again.`;
    const lost = `${counted(missing, "delivery", "deliveries")} failed earlier and will not be retried: ${KEY.replayMany} replays them.`;
    const facts = [...(waiting > 0 ? [retries] : []), ...(missing > 0 ? [lost] : [])];
    return missing > 0
      ? { ...WARN, title: "NOTHING IS FAILING NOW, BUT SOME DELIVERIES FAILED", facts }
      : { ...WELL, title: "NOTHING IS FAILING NOW", facts };
  }
  const endpoints = new Set(going.map(({ endpoint }) => endpoint)).size;
  const [first, ...others] = going as [FailureGroup, ...FailureGroup[]];
  const since = longAge(now - Date.parse(first.first_at));
  const causes = others.length === 0 ? "" : `, and ${counted(others.length, "more cause", "more causes")}`;
  const lost = failed === 0 ? "none has failed for good" : `${countText(failed)} failed for good`;
  return {
    ...(failed === 0 ? WARN : BAD),
    title: counted(endpoints, "ENDPOINT IS FAILING", "ENDPOINTS ARE FAILING"),
    facts: [
      `${endpointName(state, first.endpoint)}: ${causeText(first.error, first.status_code)}, for ${since}${causes}.`,
      `${counted(waiting, "delivery is", "deliveries are")} waiting for a retry; ${lost}.`,
    ],
  };
}
