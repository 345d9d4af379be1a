import { describe } from "vitest";
import { everySuite } from "./conformance/every.ts";
import { likeItsModel } from "./conformance/model.ts";
import { openSqlite } from "./stores.ts";

describe("the SQLite store", () => {
  everySuite(openSqlite, 500);
  likeItsModel(openSqlite, 3, 1);
});
