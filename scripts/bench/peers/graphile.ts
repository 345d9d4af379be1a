/** graphile-worker on PostgreSQL. */
import { library } from "./library.ts";
import { startPostgres } from "./services.ts";

export const graphile = library({
  name: "graphile",
  about: "PostgreSQL with fsync and synchronous_commit",
  packages: ["graphile-worker"],
  service: "postgres",
  startService: startPostgres,
});
