import { describe } from "vitest";
import { audit } from "./conformance/callers/audit.ts";
import { careful } from "./conformance/recovery/careful.ts";
import { clockSet } from "./conformance/recovery/clock.ts";
import { deliveryLists } from "./conformance/reads/delivery-lists.ts";
import { endpoints } from "./conformance/endpoints/endpoints.ts";
import { idempotency } from "./conformance/callers/idempotency.ts";
import { failures } from "./conformance/statistics/failures.ts";
import { health } from "./conformance/endpoints/health.ts";
import { jobs } from "./conformance/jobs.ts";
import { keys } from "./conformance/callers/keys.ts";
import { lists } from "./conformance/reads/lists.ts";
import { manualAttempts } from "./conformance/deliveries/manual.ts";
import { operating } from "./conformance/operations.ts";
import { ownership } from "./conformance/ownership.ts";
import { pending } from "./conformance/events/pending.ts";
import { publishing } from "./conformance/events/publish.ts";
import { reading } from "./conformance/deliveries/due.ts";
import { recording } from "./conformance/deliveries/record.ts";
import { replaying } from "./conformance/events/replay.ts";
import { retention } from "./conformance/upkeep.ts";
import { rotating } from "./conformance/secrets.ts";
import { statistics } from "./conformance/statistics/statistics.ts";
import { totals } from "./conformance/reads/totals.ts";
import { walks } from "./conformance/reads/walks.ts";
import { withdrawing } from "./conformance/events/withdraw.ts";
import { openSqlite } from "./stores.ts";

describe("the SQLite store", () => {
  describe("its events", () => {
    publishing(openSqlite);
    pending(openSqlite);
    replaying(openSqlite);
    withdrawing(openSqlite);
  });
  describe("its deliveries", () => {
    reading(openSqlite);
    recording(openSqlite);
    manualAttempts(openSqlite);
  });
  describe("its endpoints", () => {
    endpoints(openSqlite);
    health(openSqlite);
  });
  describe("its secrets", () => rotating(openSqlite));
  describe("its jobs", () => jobs(openSqlite));
  describe("its reads", () => {
    lists(openSqlite);
    deliveryLists(openSqlite);
    totals(openSqlite);
    walks(openSqlite);
  });
  describe("its statistics", () => {
    statistics(openSqlite);
    failures(openSqlite);
  });
  describe("its keys, audit and idempotency", () => {
    keys(openSqlite);
    audit(openSqlite);
    idempotency(openSqlite);
  });
  describe("its recovery", () => {
    careful(openSqlite);
    clockSet(openSqlite);
  });
  describe("its upkeep", () => retention(openSqlite));
  describe("its operations", () => operating(openSqlite));
  describe("its ownership", () => ownership(openSqlite));
});
