import type { Route } from "../../../src/api/pipeline/route.ts";
import type { PortalScope } from "../../../src/domain/caller.ts";
import { ApiServer, type Answer } from "../server.ts";
import { anEvent, aStore } from "../sqlite.ts";

/** Ids by prefix. */
export type Ids = Readonly<Record<"ep" | "evt" | "dlv" | "att" | "job" | "key", string>>;

/** Everything that a link must not show contains this text. */
export const NOT_YOURS = "canary-not-yours";

export const ALL: readonly PortalScope[] = ["read", "replay", "manage", "secrets"];

/**
 * Two tenants. One has the customer's endpoint and a second one, which share an event. The other tenant has its own.
 */
export class World {
  static #made = 0;
  readonly api: ApiServer;
  readonly tenant: string;
  /** Ids of the customer's endpoint, and of the event that both endpoints got. */
  readonly mine: Ids;
  /** Ids of the same tenant's other endpoint, and of an event that only that endpoint got. */
  readonly beside: Ids;
  /** Ids of the shared event and its delivery to the other endpoint. */
  readonly shared: Ids;
  readonly foreign: Ids;

  private constructor(given: Omit<World, "link" | "hidden">) {
    this.api = given.api;
    this.tenant = given.tenant;
    this.mine = given.mine;
    this.beside = given.beside;
    this.shared = given.shared;
    this.foreign = given.foreign;
  }

  static server(): Promise<ApiServer> {
    return aStore().then((store) => ApiServer.start(store));
  }

  static async make(api: ApiServer): Promise<World> {
    const number = ++World.#made;
    const [tenant, other] = [`acme-${number}`, `${NOT_YOURS}-${number}`];
    const endpoint = async (of: string, host: string, events: string[]) =>
      (await api.post(`/v1/webhooks?tenant=${of}`, { url: `https://${host}.example.com/h`, events })).body.id as string;
    const mine = await endpoint(tenant, "mine", ["goal.achieved"]);
    const beside = await endpoint(tenant, NOT_YOURS, ["goal.achieved", "budget.exceeded"]);
    const foreign = await endpoint(other, NOT_YOURS, ["goal.achieved"]);
    const publish = (of: string, type: string, data: object) =>
      anEvent(api.store, api.clock.now(), "failed", { tenant: of, type, data: Buffer.from(JSON.stringify(data)) });
    const event = await publish(tenant, "goal.achieved", { goal: "reached" });
    const theirs = await publish(tenant, "budget.exceeded", { note: NOT_YOURS });
    const far = await publish(other, "goal.achieved", { note: NOT_YOURS });
    const key = (await api.post(`/v1/keys?tenant=${tenant}`, { name: NOT_YOURS, scopes: ["read"] })).body.id;
    const idsOf = async (of: string, evt: string, ep: string): Promise<Ids> => {
      const { deliveries } = (await api.get(`/v1/webhooks/events/${evt}`)).body;
      const { id: dlv, last_attempt: attempt } = deliveries.find((each: any) => each.endpoint === ep);
      const job = {
        action: "replay",
        filter: { endpoint: ep, status: "failed" },
        reason: ep === mine ? "" : NOT_YOURS,
      };
      const made = await api.post(`/v1/webhooks/jobs?tenant=${of}`, job);
      return { ep, evt, dlv, att: attempt.id, job: made.body.id, key };
    };
    return new World({
      api,
      tenant,
      mine: await idsOf(tenant, event, mine),
      beside: await idsOf(tenant, theirs, beside),
      shared: await idsOf(tenant, event, beside),
      foreign: await idsOf(other, far, foreign),
    });
  }

  /** Creates a link and returns its key. */
  async link(can: readonly PortalScope[], endpoints: readonly string[] | null = null): Promise<string> {
    const { status, body } = await this.api.post("/v1/portal-links", { tenant: this.tenant, can, endpoints });
    if (status !== 201) throw new Error(JSON.stringify(body));
    return body.url.split("#")[1];
  }

  /** Strings that no response may contain if the key is only for the customer's endpoint. */
  get hidden(): readonly string[] {
    const { ep, dlv, att, job } = this.shared;
    return [NOT_YOURS, ep, dlv, att, job, ...Object.values(this.beside), ...Object.values(this.foreign)];
  }
}

/** Calls the route for these ids, with a body that it accepts. */
export function callAbout(
  api: ApiServer,
  { method, path, body, operation }: Route,
  ids: Ids,
  key: string,
  query = "",
): Promise<Answer> {
  const filled = path.replaceAll(
    /:(\w+)/g,
    (_, name: string) => ids[operation.params![name] as keyof Ids] ?? "goal.achieved",
  );
  const text = body === undefined ? undefined : JSON.stringify(operation.example);
  return api.request(method, filled + query, { key, ...(text !== undefined && { body: text }) });
}
