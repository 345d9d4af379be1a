import { describe } from "vitest";
import { everySuite } from "./conformance/every.ts";
import { likeItsModel } from "./conformance/model.ts";
import { openSqlite } from "./stores.ts";

describe("the SQLite store", () => {
  everySuite(openSqlite, 1000);
  likeItsModel(openSqlite, 8, 2);
});
