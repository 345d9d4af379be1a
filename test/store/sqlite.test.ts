import { describe } from "vitest";
import { audit } from "./conformance/audit.ts";
import { careful } from "./conformance/careful.ts";
import { clockSet } from "./conformance/clock.ts";
import { endpoints } from "./conformance/endpoints.ts";
import { idempotency } from "./conformance/idempotency.ts";
import { keys } from "./conformance/keys.ts";
import { lists } from "./conformance/lists.ts";
import { publishing } from "./conformance/publish.ts";
import { reading } from "./conformance/due.ts";
import { recording } from "./conformance/record.ts";
import { replaying } from "./conformance/replay.ts";
import { rotating } from "./conformance/rotation.ts";
import { openSqlite } from "./stores.ts";

describe("the SQLite store", () => {
  publishing(openSqlite);
  reading(openSqlite);
  recording(openSqlite);
  replaying(openSqlite);
  endpoints(openSqlite);
  rotating(openSqlite);
  lists(openSqlite);
  keys(openSqlite);
  audit(openSqlite);
  idempotency(openSqlite);
  clockSet(openSqlite);
  careful(openSqlite);
});
