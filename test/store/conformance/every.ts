/** The contract that every store must fulfil. */
import { describe } from "vitest";
import { audit } from "./callers/audit.ts";
import { careful } from "./recovery/careful.ts";
import { clockAhead } from "./recovery/clock-ahead.ts";
import { clockSet } from "./recovery/clock.ts";
import { dataSearch } from "./reads/data-search.ts";
import { deliveryLists } from "./reads/delivery-lists.ts";
import { endpoints } from "./endpoints/endpoints.ts";
import { eventTypes } from "./endpoints/event-types.ts";
import { idempotency } from "./callers/idempotency.ts";
import { failures } from "./statistics/failures.ts";
import { health } from "./endpoints/health.ts";
import { jobs } from "./jobs.ts";
import { keys } from "./callers/keys.ts";
import { labels } from "./reads/labels.ts";
import { largeBatches } from "./events/large-batches.ts";
import { lists } from "./reads/lists.ts";
import { manualAttempts } from "./deliveries/manual.ts";
import { ordering } from "./deliveries/ordering.ts";
import { operating } from "./operations.ts";
import { ownership } from "./ownership.ts";
import { filters } from "./events/filters.ts";
import { patterns } from "./events/patterns.ts";
import { pending } from "./events/pending.ts";
import { puttingOff } from "./recovery/put-off.ts";
import { publishing } from "./events/publish.ts";
import { reading } from "./deliveries/due.ts";
import { recording } from "./deliveries/record.ts";
import { replaying } from "./events/replay.ts";
import { retention } from "./upkeep.ts";
import { rotating } from "./secrets.ts";
import { shadowing } from "./events/shadow.ts";
import { signingKeys } from "./signing-keys.ts";
import { sorts } from "./reads/sorts.ts";
import { statistics } from "./statistics/statistics.ts";
import { totals } from "./reads/totals.ts";
import { walks } from "./reads/walks.ts";
import { why } from "./events/why.ts";
import { withdrawing } from "./events/withdraw.ts";
import type { OpenFresh } from "../stores.ts";

/** Walks pass `walked` rows. large.ts has what needs more rows. */
export function everySuite(open: OpenFresh, walked: number): void {
  describe("its events", () => {
    publishing(open);
    patterns(open);
    filters(open);
    why(open);
    pending(open);
    shadowing(open);
    largeBatches(open);
    replaying(open);
    withdrawing(open);
  });
  describe("its deliveries", () => {
    reading(open);
    recording(open);
    manualAttempts(open);
    ordering(open);
  });
  describe("its endpoints", () => {
    endpoints(open);
    eventTypes(open);
    health(open);
  });
  describe("its secrets", () => {
    rotating(open);
    signingKeys(open);
  });
  describe("its jobs", () => jobs(open));
  describe("its reads", () => {
    lists(open);
    deliveryLists(open);
    labels(open);
    dataSearch(open);
    sorts(open);
    totals(open);
    walks(open, walked);
  });
  describe("its statistics", () => {
    statistics(open);
    failures(open);
  });
  describe("its keys, audit and idempotency", () => {
    keys(open);
    audit(open);
    idempotency(open);
  });
  describe("its recovery", () => {
    careful(open);
    clockSet(open);
    clockAhead(open);
    puttingOff(open);
  });
  describe("its upkeep", () => retention(open));
  describe("its operations", () => operating(open));
  describe("its ownership", () => ownership(open));
}
