import type { Database, Statement } from "better-sqlite3";
import type { PageQuery, TenantSummary } from "../../store.ts";
import type { Walk } from "../engine/page.ts";

interface Row {
  readonly num: number;
  readonly name: string;
}

export class Tenants {
  readonly #db: Database;
  readonly #endpoints: Statement<[number], number>;
  readonly #lists = new Map<string, Statement<unknown[], Row>>();

  constructor(db: Database) {
    this.#db = db;
    this.#endpoints = db
      .prepare<[number], number>(
        "SELECT count(*) FROM endpoint INDEXED BY endpoint_tenant WHERE tenant = ? AND deleted_at IS NULL",
      )
      .pluck();
  }

  list(query: PageQuery): Walk<Row, TenantSummary> {
    const statement = this.#listStatement(query.order);
    return {
      list: "tenants",
      start: [query.order === "oldest" ? 0 : Number.MAX_SAFE_INTEGER],
      rows: ([num], limit) => statement.all({ num, limit, tenant: query.tenant }),
      keysOf: ({ num }) => [num],
      look: ({ num, name }) => {
        const endpoints = this.#endpoints.get(num)!;
        return { item: { name, endpoints }, rows: endpoints };
      },
    };
  }

  #listStatement(order: PageQuery["order"]): Statement<unknown[], Row> {
    let statement = this.#lists.get(order);
    if (statement === undefined) {
      const [beyond, direction] = order === "oldest" ? [">", "ASC"] : ["<", "DESC"];
      statement = this.#db.prepare<unknown[], Row>(
        `SELECT num, name FROM tenant WHERE num ${beyond} @num AND (@tenant IS NULL OR name = @tenant)
         ORDER BY num ${direction} LIMIT @limit`,
      );
      this.#lists.set(order, statement);
    }
    return statement;
  }
}
