import { describe } from "vitest";
import { everySuite } from "./conformance/every.ts";
import { openSqlite } from "./stores.ts";

describe("the SQLite store", () => everySuite(openSqlite));
