/** How many jobs may be open: each takes its turns with the others, and somebody has to keep them apart. */
import type { Job } from "../../domain/deliveries/job.ts";
import { WebhookdError } from "../../domain/errors.ts";
import type { Store } from "../../store/store.ts";
import type { Principal } from "../pipeline/access.ts";
import { isJobWithin } from "../pipeline/reach.ts";

/** Of a tenant. */
const MAX_OPEN = 50;
/** Of a tenant, for a link: so that its customers leave the other half to the tenant's own keys. */
const MAX_OPEN_FOR_LINKS = 25;
/** About the endpoints of a link that is for some only: so that one of these leaves room for the others. */
const MAX_OPEN_OF_SOME = 10;
/** Those of single tenants are among them when every tenant's are counted. */
const MOST_LISTED = 1000;

type Counted = Pick<Job, "id" | "tenant" | "filter">;

export class OpenJobs {
  readonly #store: Pick<Store, "jobs">;
  /** In the order in which they came. */
  readonly #coming = new Set<Counted>();

  constructor(store: Pick<Store, "jobs">) {
    this.#store = store;
  }

  /** Makes it if there is room. Throws `rate_limited`. */
  async add<T>(job: Counted, asking: Principal, make: () => Promise<T>): Promise<T> {
    // Those that came before it count as well: the store lists none of them until it is made.
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
    // One of those before it may have been made by now.
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
