/**
 * The event types of a running daemon: checks configured types, keeps the types that endpoints subscribed to, and shows
 * them to callers.
 */
import * as v from "valibot";
import type { Config } from "../../config.ts";
import { ConfigError, type Mistake } from "../../config/mistake.ts";
import { ALERT_TYPES } from "../../domain/alert.ts";
import { BUILT_IN_TYPES, catalogue, type EventType as KnownType } from "../../domain/events/event-type.ts";
import type { EndpointStore, TypeInUse } from "../../store/store.ts";
import type { ApiParts } from "../parts.ts";
import { json } from "../pipeline/reply.ts";
import type { Operation, Route } from "../pipeline/route.ts";
import { AnyObject, aPageOf, described, pageSchema, titled } from "../pipeline/shapes.ts";
import type { DataCheck } from "./data-check.ts";

const WHERE = "[[event_types]]";

interface Endpoints {
  readonly endpoints: Pick<EndpointStore, "typesInUse">;
}

type Wanted = Pick<Config, "eventTypes" | "events">;

export class Catalogue {
  readonly #store: Endpoints;
  /** The same map for as long as the daemon runs. A change replaces its entries. */
  readonly types = new Map<string, KnownType>();
  /** Undefined unless `[events] validate` is on. */
  checkData: DataCheck | undefined;

  private constructor(store: Endpoints) {
    this.#store = store;
  }

  /** Throws a ConfigError for types that cannot be used. */
  static async open(wanted: Wanted, store: Endpoints): Promise<Catalogue> {
    const opened = new Catalogue(store);
    await opened.change(wanted);
    return opened;
  }

  /** Uses the wanted types. Throws a ConfigError, and changes nothing, if one of them cannot be used. */
  async change(wanted: Wanted): Promise<void> {
    this.use(await this.check(wanted));
  }

  /** Returns types to give to `use`. Throws a ConfigError for types that cannot be used, and changes nothing. */
  async check(wanted: Wanted): Promise<UsableTypes> {
    const usable = await usableTypes(wanted);
    const removed = await this.#store.endpoints.typesInUse([...usable.types.keys(), ...ALERT_TYPES]);
    if (removed.length > 0) throw new ConfigError(removed.map(stillChosen));
    return usable;
  }

  use({ types, checkData }: UsableTypes): void {
    this.types.clear();
    for (const [name, type] of types) this.types.set(name, type);
    this.checkData = checkData;
  }
}

type UsableTypes = Pick<Catalogue, "types" | "checkData">;

/** Checks the configured types by themselves, without regard to endpoints. Throws a ConfigError. */
export async function usableTypes({ eventTypes, events }: Wanted): Promise<UsableTypes> {
  const types = catalogue(eventTypes);
  // The author of a schema learns of its mistakes now, not on the day when validation is switched on.
  const check = events.validate || eventTypes.length > 0 ? await checkOf(types.values()) : undefined;
  return { types, checkData: events.validate ? check : undefined };
}

async function checkOf(types: Iterable<KnownType>): Promise<DataCheck> {
  const { openDataCheck, UnusableType } = await import("./data-check.ts");
  try {
    return openDataCheck(types);
  } catch (error) {
    if (!(error instanceof UnusableType)) throw error;
    throw new ConfigError([{ where: WHERE, what: `${error.type} ${error.message}.` }]);
  }
}

function stillChosen({ type, endpoints, some }: TypeInUse): Mistake {
  const rest = endpoints - some.length;
  const names = [...some, ...(rest > 0 ? [`${rest} more`] : [])].join(", ");
  const who = endpoints === 1 ? "an endpoint" : `${endpoints} endpoints`;
  return {
    where: WHERE,
    what: `${type} is no longer configured, but ${who} chose it: ${names}.`,
    why: "Its events would be refused, so those endpoints would never get them.",
    todo: "Put it back and start again. To remove the type, first remove it from those endpoints, or delete them.",
  };
}

export const EventType = titled(
  "EventType",
  v.object({
    name: v.string(),
    description: v.string(),
    schema: described(
      AnyObject,
      "JSON Schema 2020-12 of `data`. With `[events] validate`, published data is checked against it.",
    ),
    sample: described(AnyObject, "The `data` of a test event."),
    source: described(v.picklist(["specified", "example"]), "Whether the data is specified, or only an example."),
  }),
);

export const EventTypePage = pageSchema(EventType);
export const anEventType = BUILT_IN_TYPES[0]!;

export const listEventTypes: Operation = {
  id: "listEventTypes",
  tag: "Events",
  summary: "List the event types",
  description:
    "The whole catalogue in one page: the built-in types, and those that `[[event_types]]` in the configuration adds.",
  replies: { 200: { description: "All event types.", schema: EventTypePage, example: aPageOf(anEventType) } },
};

export function eventTypeRoutes({ catalogue }: ApiParts): Route[] {
  return [
    {
      method: "GET",
      path: "/v1/webhooks/event-types",
      access: "read",
      reach: "all",
      operation: listEventTypes,
      handle: () => json(200, { data: [...catalogue.types.values()].map(presentType), next_cursor: null }),
    },
  ];
}

function presentType({ name, description, schema, sample, source }: KnownType) {
  return { name, description, schema, sample, source };
}
