import { postgresSql, sqliteSql } from "../../src/domain/outbox/init-sql.ts";
import { COLUMN, DEFAULT_TABLE, TABLE } from "../../src/domain/outbox/outbox.ts";
import { command } from "../command.ts";
import { EXIT } from "../exit-code.ts";
import { usage } from "../failure.ts";

export const outboxInit = command({
  args: {
    database: {
      type: "positional",
      required: true,
      valueHint: "postgres|sqlite",
      description: "The database of your application",
    },
    table: { type: "string", valueHint: "TABLE", default: DEFAULT_TABLE, description: "The name of the table" },
    "tenant-column": {
      type: "string",
      valueHint: "COLUMN",
      description: "Add a column for the tenant of each row, as [[outbox]] tenant_column names it",
    },
    role: {
      type: "string",
      valueHint: "ROLE",
      default: "webhookd",
      description: "The PostgreSQL role that webhookd logs in with",
    },
  },
  examples: ["webhookd outbox init postgres --role webhookd", "webhookd outbox init sqlite --tenant-column tenant"],
  async run({ database, table, "tenant-column": tenantColumn, role }, io) {
    if (!TABLE.test(table)) throw usage(`--table: ${table} is not the name of a table`);
    for (const [flag, name] of [
      ["--tenant-column", tenantColumn ?? "tenant"],
      ["--role", role],
    ] as const) {
      if (!COLUMN.test(name)) throw usage(`${flag}: ${name} is not a name that SQL takes`);
    }
    const options = { table, tenantColumn: tenantColumn ?? null, role };
    if (database === "postgres") io.stdout.write(postgresSql(options));
    else if (database === "sqlite") io.stdout.write(sqliteSql(options));
    else throw usage(`${database} is neither postgres nor sqlite`, "These are the databases that an outbox can be in.");
    return EXIT.ok;
  },
});
