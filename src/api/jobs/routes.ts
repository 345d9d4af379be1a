/** Routes that create, show, steer and cancel jobs, which act on many deliveries at a limited rate. */
import type * as v from "valibot";
import { counted } from "../../domain/wording.ts";
import { WebhookdError } from "../../domain/errors.ts";
import { isId, newId } from "../../domain/id.ts";
import { isNarrow, type AfterCanary, type Job, type JobAction, type JobFilter } from "../../domain/deliveries/job.ts";
import type { AddedJob, JobPlan, Store } from "../../store/store.ts";
import type { ApiParts } from "../parts.ts";
import { allows, namedTenant, type Principal, TenantParameter, tenantToRead } from "../pipeline/access.ts";
import { callerOf, listParameters, listQuery, pageReply, statusCodes } from "../pipeline/lists.ts";
import { requireNames, unknownName } from "../pipeline/names.ts";
import { endpointWithin, isJobWithin } from "../pipeline/reach.ts";
import { notFound, json, type Reply } from "../pipeline/reply.ts";
import { type Call, type Route } from "../pipeline/route.ts";
import { readJson, validationFailed } from "../pipeline/body.ts";
import { JobDraft, ResumeRequest } from "./draft.ts";
import { cancelJob, createJob, getJob, listJobs, pauseJob, resumeJob, presentJob } from "./schemas.ts";

const PATH = "/v1/webhooks/jobs";

type Draft = v.InferOutput<typeof JobDraft>;

export function jobRoutes(parts: ApiParts): Route[] {
  const one = { query: [TenantParameter], reach: "job" } as const;
  const steering = { method: "POST", access: "replay", growth: "folds", ...one } as const;
  const open = new OpenJobs(parts.store);
  return [
    {
      method: "POST",
      path: PATH,
      access: "replay",
      reach: "own",
      query: [TenantParameter],
      body: { maxBytes: 64 * 1024, schema: JobDraft },
      audit: "job.create",
      growth: { grows: 700, kept: "[retention] failed and audit" },
      operation: createJob,
      again: (call, remembered) => createdBefore(parts, call, remembered),
      handle: (call) => create(parts, open, call),
    },
    {
      method: "GET",
      path: PATH,
      access: "read",
      reach: "own",
      query: listParameters("jobs"),
      operation: listJobs,
      handle: (call) => list(parts, call),
    },
    {
      method: "GET",
      path: `${PATH}/:id`,
      access: "read",
      ...one,
      operation: getJob,
      handle: (call) => get(parts, call),
    },
    {
      ...steering,
      path: `${PATH}/:id/pause`,
      audit: "job.pause",
      operation: pauseJob,
      handle: steer(parts, "paused"),
    },
    {
      ...steering,
      path: `${PATH}/:id/resume`,
      body: { maxBytes: 64 * 1024, schema: ResumeRequest, optional: true },
      audit: "job.resume",
      operation: resumeJob,
      handle: steer(parts, "running"),
    },
    {
      ...steering,
      path: `${PATH}/:id/cancel`,
      audit: "job.cancel",
      operation: cancelJob,
      handle: steer(parts, "cancelled"),
    },
  ];
}

async function create(parts: ApiParts, open: OpenJobs, call: Call): Promise<Reply> {
  const { principal, query, body, now, request } = call;
  const { store, random } = parts;
  const draft = readJson(body, JobDraft);
  requireMayDo(principal, draft);
  const endpoint = endpointWithin(principal, draft.filter.endpoint, "/filter/endpoint");
  const filter = { ...filterOf(draft), ...(endpoint !== undefined && { endpoint }) };
  const asked = tenantToRead(principal, namedTenant(query));
  const unknown = await unknownName(parts, asked, { type: filter.type, endpoint: filter.endpoint });
  if (unknown !== null) throw validationFailed([{ ...unknown, pointer: `/filter/${unknown.name}` }]);
  const tenant = await tenantOf(parts, filter, asked);
  const { action, rate_per_second: ratePerSecond, canary, reason, expect = null } = draft;
  if (draft.dry_run) {
    const plan = await store.jobs.plan({ tenant, action, filter }, callerOf(call));
    return { ...json(200, presentPlan(action, plan, ratePerSecond)), isAudited: false };
  }
  if (action === "cancel" && expect === null && !isNarrow({ tenant, filter })) throw unexpected(tenant);
  const job = { id: newId("job", now, random(10)), tenant, action, filter, ratePerSecond, canary, reason };
  const once = request && { ...request, answer: addedText };
  const added = await open.add(job, principal, () => store.jobs.add(job, expect, now, once));
  if (added.result === "plan_changed") throw planChanged(added.matched, expect!);
  return json(202, presentJob(added.job, principal), [["location", `${PATH}/${job.id}`]]);
}

/** A repeat shows the job as it is now. */
async function createdBefore({ store }: ApiParts, { principal, query }: Call, id: string): Promise<Reply> {
  const job = await store.jobs.get(tenantToRead(principal, namedTenant(query)), id);
  if (job === null || !isJobWithin(principal, job)) throw notFound();
  return json(202, presentJob(job, principal), [["location", `${PATH}/${id}`]]);
}

/** Returns the tenant whose events a job examines. An endpoint can only have missed events of its own tenant. */
async function tenantOf(
  { store }: ApiParts,
  { missing, endpoint }: JobFilter,
  tenant: string | null,
): Promise<string | null> {
  if (!missing) return tenant;
  const found = await store.endpoints.get(tenant, endpoint!);
  if (found !== null) return found.tenant;
  throw validationFailed([{ pointer: "/filter/endpoint", code: "unknown_endpoint", detail: "was deleted" }]);
}

async function list(parts: ApiParts, call: Call): Promise<Reply> {
  const { principal, query } = call;
  const asked = listQuery("jobs", call);
  await requireNames(parts, asked.tenant, { endpoint: asked.endpoint });
  const page = await parts.store.jobs.list({ ...asked, endpoints: principal.endpoints ?? undefined });
  const items = page.data.map((item) => JSON.stringify(presentJob(item, principal)));
  return pageReply(PATH, query, page, items);
}

async function get({ store }: ApiParts, { principal, params, query }: Call): Promise<Reply> {
  const job = await store.jobs.get(tenantToRead(principal, namedTenant(query)), jobId(params));
  if (job === null) throw notFound();
  return json(200, { ...presentJob(job, principal), endpoints: job.endpoints });
}

function steer({ store }: ApiParts, to: "running" | "paused" | "cancelled"): Route["handle"] {
  return async ({ principal, params, query, body, now }) => {
    const tenant = tenantToRead(principal, namedTenant(query));
    const before = await store.jobs.get(tenant, jobId(params));
    if (before !== null) requireMayDo(principal, before);
    const job = await store.jobs.steer(tenant, jobId(params), to, now, afterCanary(body));
    if (job === null) throw notFound();
    if (job.status === "paused" && to === "running") throw canaryFailed(job);
    if (job.status !== to) throw ended(job.status);
    return json(200, presentJob(job, principal));
  };
}

/** The scope `replay` allows neither cancelling deliveries nor sending an endpoint events that it never had. */
function requireMayDo(
  principal: Principal,
  { action, filter }: Pick<Job, "action"> & { filter: { missing: boolean } },
): void {
  if ((action !== "cancel" && !filter.missing) || allows(principal, "manage")) return;
  const what = action === "cancel" ? "a job that cancels" : "a job that sends what was missed";
  throw new WebhookdError("forbidden", `${what} needs a key with the scope "manage"`);
}

function jobId({ id = "" }: Call["params"]): string {
  if (!isId("job", id)) throw notFound();
  return id;
}

function afterCanary(body: Uint8Array): AfterCanary | undefined {
  const { canary = false, send_all: all = false } = body.length === 0 ? {} : readJson(body, ResumeRequest);
  return canary ? "canary" : all ? "send_all" : undefined;
}

function filterOf({ filter }: Draft): JobFilter {
  const { status_code: code, ...rest } = filter;
  return { ...rest, ...(code !== undefined && { statusCode: statusCodes(code) }) };
}

/** Sorts by size, because the store returns groups in no particular order. */
function largestFirst<T extends { readonly endpoint: string }>(all: readonly T[], sizeOf: (one: T) => number): T[] {
  return all.toSorted((one, other) => sizeOf(other) - sizeOf(one) || (one.endpoint < other.endpoint ? -1 : 1));
}

function presentPlan(action: JobAction, { matched, endpoints, left }: JobPlan, ratePerSecond: number) {
  const longest = Math.max(0, ...endpoints.map((endpoint) => endpoint.matched));
  return {
    action,
    matched,
    timed_out: endpoints.reduce((sum, { timedOut }) => sum + timedOut, 0),
    // The deliveries of the first second are sent at once.
    eta_seconds: action === "cancel" ? 0 : Math.max(0, Math.ceil(longest / ratePerSecond - 1)),
    endpoints: largestFirst(endpoints, (one) => one.matched).map(({ endpoint, matched: each, timedOut }) => ({
      endpoint,
      matched: each,
      timed_out: timedOut,
    })),
    left_alone: largestFirst(left, (one) => one.deliveries),
  };
}

function addedText(added: AddedJob): string | null {
  return added.result === "added" ? added.job.id : null;
}

function planChanged(matched: number, expected: number): WebhookdError {
  return new WebhookdError(
    "plan_changed",
    `the set now contains ${counted(matched, "delivery", "deliveries")}, not ${expected}; check the plan again with dry_run`,
  );
}

function ended(status: string): WebhookdError {
  return new WebhookdError("job_ended", `it is ${status}, so it can no longer be changed; create a new job`);
}

function canaryFailed({ pausedReason }: Job): WebhookdError {
  return new WebhookdError(
    "canary_failed",
    `${pausedReason}; say how the job should continue: {"canary": true} tries one more, {"send_all": true} sends all that is left`,
  );
}

function unexpected(tenant: string | null): WebhookdError {
  const whose = tenant === null ? "deliveries of every tenant" : "all that is open";
  const detail = `must be given, because this job would cancel ${whose}: the number of deliveries, which dry_run shows`;
  return validationFailed([{ pointer: "/expect", code: "missing_field", detail }]);
}

/**
 * The maximum number of open jobs of a tenant. They take turns with each other, and people must be able to tell them
 * apart.
 */
const MAX_OPEN = 50;
/** The maximum number of open jobs of a tenant's portal links, which leaves half for the tenant's own keys. */
const MAX_OPEN_FOR_LINKS = 25;
/**
 * The maximum number of open jobs about the endpoints of one link that is for some endpoints only, which leaves
 * capacity for other links.
 */
const MAX_OPEN_OF_SOME = 10;
/** Limits how many open jobs are counted for a job of every tenant, which includes those of single tenants. */
const MOST_LISTED = 1000;

type Counted = Pick<Job, "id" | "tenant" | "filter">;

class OpenJobs {
  readonly #store: Pick<Store, "jobs">;
  /** Jobs being created, oldest first. */
  readonly #coming = new Set<Counted>();

  constructor(store: Pick<Store, "jobs">) {
    this.#store = store;
  }

  /** Runs `make` if another job may be open. Throws `rate_limited` if not. */
  async add<T>(job: Counted, asking: Principal, make: () => Promise<T>): Promise<T> {
    // Jobs that are being created count too: the store does not list them yet.
    const before = [...this.#coming];
    this.#coming.add(job);
    try {
      await this.#requireFew(job, before, asking);
      return await make();
    } finally {
      this.#coming.delete(job);
    }
  }

  async #requireFew({ tenant }: Counted, before: readonly Counted[], asking: Principal): Promise<void> {
    const { data } = await this.#store.jobs.list({ tenant, limit: MOST_LISTED, order: "newest", isOpen: true });
    // The store may list a job of `before` by now, so count ids once.
    const all = new Map([...before, ...data].map((job) => [job.id, job]));
    const open = [...all.values()].filter((job) => job.tenant === tenant);
    const most = asking.isPortal ? MAX_OPEN_FOR_LINKS : MAX_OPEN;
    const own = asking.endpoints === null ? [] : open.filter((job) => isJobWithin(asking, job));
    if (open.length < most && own.length < MAX_OPEN_OF_SOME) return;
    const reached = open.length < most ? MAX_OPEN_OF_SOME : most;
    const detail = `${reached} jobs are open already; wait until some are done, or cancel them`;
    throw new WebhookdError("rate_limited", detail, { retryAfterSeconds: 30 });
  }
}
