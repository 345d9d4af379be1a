/**
 * Pages of events with their data. They are read in parts, because a hundred large events at once, for many callers,
 * would fill the memory.
 */
import type { Caller, EventQuery, EventView, Page, Total } from "../../store/store.ts";
import type { ApiParts } from "../parts.ts";

/** The maximum number of bytes of data in a page. */
const PAGE_BYTES = 8 * 1024 * 1024;
/** Limits the time for all parts of a page together to what any other page may take. */
const PAGE_MS = 500;

/**
 * Reads a page in parts. Each part has only as many events as would fit if all of them were as large as possible. A
 * search is read in one part: it examines more events than it finds, and the next part would examine them again.
 */
export async function wholeEvents(
  { store, clock, config }: ApiParts,
  { total: counts = false, ...asked }: EventQuery,
  caller: Caller,
): Promise<Page<EventView>> {
  const { maxEventBytes } = config.server;
  const begun = clock.monotonic();
  const data: EventView[] = [];
  let bytesLeft = PAGE_BYTES;
  let total: Total | undefined;
  for (let cursor = asked.cursor; ;) {
    const left = asked.limit - data.length;
    const limit = asked.data === undefined ? Math.min(left, Math.max(1, Math.floor(bytesLeft / maxEventBytes))) : left;
    const some = { ...asked, limit, ...(cursor !== undefined && { cursor }), total: counts && total === undefined };
    const part = await store.reads.listWholeEvents(some, caller);
    data.push(...part.data);
    bytesLeft -= part.data.reduce((sum, event) => sum + bytesOf(event), 0);
    total ??= part.total;
    const isFull = data.length >= asked.limit || part.nextCursor === null;
    const isOver = part.cutShort === true || bytesLeft <= 0 || clock.monotonic() - begun >= PAGE_MS;
    if (isFull || isOver) return { ...part, data, ...(!isFull && { cutShort: true }), ...(total && { total }) };
    cursor = part.nextCursor!;
  }
}

function bytesOf({ data, deliveries }: EventView): number {
  return deliveries.reduce((sum, { lastAttempt }) => sum + (lastAttempt?.responseBody.length ?? 0), data?.length ?? 0);
}
