/** Overwrites the pages of a store one at a time, starts a daemon on each copy, and judges the result. */
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { overwrite, pagesOf, type PageOf } from "../../test/harness/pages.ts";
import type { TestReceiver } from "../../test/harness/receiver.ts";
import { unawaited } from "../../src/domain/unawaited.ts";

/** A daemon that runs on a directory, in this process or in a separate one. */
export interface Life {
  /** Resolves to the daemon's URL, or to null if it ended before it listened. */
  readonly listening: Promise<string | null>;
  readonly exit: Promise<unknown>;
  /** Returns the daemon's stderr. */
  stderr(): string;
  stop(): void;
}

export interface Site {
  /** The directory as `kill -9` leaves it, paused: pending deliveries are sent once somebody resumes. */
  readonly dir: string;
  /** The folder for copies of `dir`. */
  readonly home: string;
  readonly receiver: TestReceiver;
  /** Ids of events that were delivered before the damage, and of events that are pending. */
  readonly delivered: readonly string[];
  readonly waiting: readonly string[];
}

/**
 * `mended`: a daemon that looked for damage repaired it. `met`: a daemon that had no reason to look found it.
 * `untouched`: no damage was found. `refused`: the daemon ended with exit code 65.
 */
export type End = "mended" | "met" | "untouched" | "refused";

export interface PageVerdict {
  readonly end: End;
  readonly violations: readonly string[];
}

const FILES = ["webhookd.db", "webhookd.db-wal", "secret.key", "admin.key", "STORE"];
const TABLES_FIRST = ["delivery", "event", "attempt", "delivery_waiting", "meta"];
/** A daemon repairs a store of this size in less time, even on a busy machine. */
const PATIENCE_MS = 60_000;

/**
 * Returns one leaf of each table and index, then the next of each, and so on. Tables come first, and the choice is
 * always the same.
 */
export function chosenPages(site: Site, count: number): PageOf[] {
  const dir = copyOf(site);
  const leaves = pagesOf(join(dir, "webhookd.db")).filter(({ kind }) => kind === "leaf");
  rmSync(dir, { recursive: true });
  const byTree = Map.groupBy(leaves, ({ tree }) => tree);
  const first = (tree: string) => (TABLES_FIRST.indexOf(tree) + 100) % 100;
  const trees = [...byTree.keys()].toSorted((a, b) => first(a) - first(b));
  return leaves.flatMap((_, turn) => trees.flatMap((tree) => byTree.get(tree)!.slice(turn, turn + 1))).slice(0, count);
}

/** `isLookedFor` is true for a start as after a kill, when the daemon looks for damage. */
export async function tryPage(
  site: Site,
  { page, tree }: PageOf,
  isLookedFor: boolean,
  start: (dir: string) => Life,
): Promise<PageVerdict> {
  const { delivered, receiver, waiting } = site;
  const dir = copyOf(site);
  const file = join(dir, "webhookd.db");
  pagesOf(file);
  overwrite(file, page);
  if (isLookedFor) writeFileSync(`${file}-wal`, "nothing of worth");
  receiver.requests.length = 0;
  const life = start(dir);
  try {
    const url = await life.listening;
    if (url === null) return { end: "refused", violations: await refusalFaults(life) };
    const key = readFileSync(join(site.dir, "admin.key"), "utf8").trim();
    const status = await whenAllIsSent(url, key, site, life);
    const ids = receiver.requests.map(({ headers }) => headers["webhook-id"]!);
    const violations: string[] = [];
    if (new Set(ids).size < ids.length) violations.push("an event was sent twice");
    if (ids.some((id) => delivered.includes(id))) violations.push("an event was sent again after a 2xx");
    if (status === "ended") return { end: "refused", violations: [...violations, ...(await refusalFaults(life))] };
    if (status === null) return { end: "untouched", violations: [`nothing more came in ${PATIENCE_MS} ms`] };
    if (ids.length < waiting.length - lostEvents(status)) violations.push("an event that can be read was not sent");
    const { damaged_database: damage } = status;
    if (damage === null && isLookedFor) violations.push("the damage was not seen");
    if (damage !== null) violations.push(...(await saysFaults(damage, { tree, page }, url)));
    life.stop();
    const code = await life.exit;
    if (code !== 0) violations.push(`it stopped with ${String(code)}`);
    return { end: damage === null ? "untouched" : isLookedFor ? "mended" : "met", violations };
  } finally {
    life.stop();
    await life.exit;
    rmSync(dir, { recursive: true, force: true });
  }
}

/** The parts of the daemon's status that are checked. */
interface Status {
  readonly oldest_due_at: string | null;
  readonly damaged_database: {
    readonly pages: readonly { readonly name: string; readonly pages: readonly number[] }[];
    readonly lost: readonly { readonly table: string; readonly rows: number }[];
  } | null;
}

function copyOf({ dir, home }: Site): string {
  const copy = mkdtempSync(join(home, "copy-"));
  for (const name of FILES) cpSync(join(dir, name), join(copy, name));
  return copy;
}

async function refusalFaults(life: Life): Promise<string[]> {
  const code = await life.exit;
  const violations: string[] = [];
  if (code !== 65) violations.push(`it ended with ${String(code)}: ${life.stderr()}`);
  if (!life.stderr().includes("webhookd restore")) violations.push(`it names no way on: ${life.stderr()}`);
  return violations;
}

async function saysFaults(
  { pages }: NonNullable<Status["damaged_database"]>,
  { tree, page }: Pick<PageOf, "tree" | "page">,
  url: string,
): Promise<string[]> {
  const violations: string[] = [];
  const isSaid = pages.some((one) => one.name === tree && one.pages.join() === String(page));
  if (!isSaid) violations.push(`it says that ${JSON.stringify(pages)} is damaged`);
  const { headers } = await fetch(new URL("/readyz", url));
  if (headers.get("x-webhookd-storage") !== "damaged") violations.push("/readyz does not say so");
  return violations;
}

/** Resolves to the daemon's status once everything is sent, or to null if that takes too long. */
async function whenAllIsSent(
  url: string,
  key: string,
  { receiver, waiting }: Site,
  life: Life,
): Promise<Status | "ended" | null> {
  const ended = new AbortController();
  unawaited(life.exit.then(() => ended.abort()));
  const signal = AbortSignal.any([ended.signal, AbortSignal.timeout(PATIENCE_MS)]);
  await ask(url, key, "POST", "/v1/resume", signal);
  while (!signal.aborted) {
    const status = (await ask(url, key, "GET", "/v1/status", signal)) as Status | null;
    // A daemon that has just restarted may not have read its due deliveries yet.
    const isWaiting = status === null || receiver.requests.length < waiting.length - lostEvents(status);
    if (status?.oldest_due_at === null && !isWaiting) return status;
    await pause(5);
  }
  return ended.signal.aborted ? "ended" : null;
}

function lostEvents({ damaged_database: damage }: Status): number {
  const ofEvents = damage?.lost.filter(({ table }) => table === "event" || table === "large_data") ?? [];
  return ofEvents.reduce((sum, { rows }) => sum + (rows ?? 0), 0);
}

/**
 * Asks until the daemon responds, which it does not do while it repairs the database. Resolves to null once `signal`
 * aborts.
 */
async function ask(url: string, key: string, method: string, path: string, signal: AbortSignal): Promise<unknown> {
  while (!signal.aborted) {
    const headers = { authorization: `Bearer ${key}` };
    const response = await fetch(new URL(path, url), { method, headers, signal }).catch(() => null);
    if (response?.ok === true) return response.json().catch(() => null);
    await response?.body?.cancel();
    await pause(20);
  }
  return null;
}
