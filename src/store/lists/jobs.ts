/** The list of jobs. */
import type { JobFilter } from "../../domain/deliveries/job.ts";
import type { JobRow } from "../rows/job-row.ts";
import type { JobQuery } from "../store.ts";
import { conditionsOf, ofTenant } from "./conditions.ts";
import type { List } from "./list.ts";

export function jobList(query: JobQuery): List<JobRow> {
  const { tenant, order, endpoints, isOpen = false } = query;
  return {
    name: "jobs",
    select: "*",
    from: "job",
    order,
    keys: [["num", "num"]],
    where: [...ofTenant(tenant), ...(isOpen ? ["open = 1"] : [])],
    checks: conditionsOf("jobs", query, { of: "job" }),
    has: ({ status, filter }) =>
      status !== "planning" &&
      (!isOpen || status === "running" || status === "paused") &&
      (endpoints === undefined || endpoints.includes(endpointNamedIn(filter))),
  };
}

/** True if the job's filter names the endpoint that the query names. Otherwise its set may have deliveries to it. */
export function namesEndpoint({ filter }: JobRow, { endpoint }: JobQuery): boolean {
  return endpoint === undefined || endpointNamedIn(filter) === endpoint;
}

function endpointNamedIn(filter: string): string {
  return (JSON.parse(filter) as JobFilter).endpoint ?? "";
}
