/** Applies the filters that the stream does not know. */
import type { Client } from "../../src/client/client.ts";
import type { Filter } from "../../src/client/filter.ts";
import type { CountedChanges } from "../../src/client/stream.ts";
import type { Change } from "./change.ts";

/** Each type is fetched once. Beyond this number, all of them are forgotten. */
const REMEMBERED = 10_000;

export interface Wanted extends Pick<Filter, "event" | "error" | "status_code" | "type"> {
  /** True to show only attempts. */
  readonly attempts: boolean;
}

export class Wants {
  readonly #client: Client;
  readonly #wanted: Wanted;
  readonly #types = new Map<string, string | null>();

  constructor(client: Client, wanted: Wanted) {
    this.#client = client;
    this.#wanted = wanted;
  }

  async has({ kind, data }: Change): Promise<boolean> {
    const { attempts, event, error, status_code: code, type } = this.#wanted;
    if (attempts && kind !== "attempt") return false;
    const isNarrow = [event, error, code, type].some((word) => word !== undefined);
    if (kind === "endpoint") return !isNarrow;
    if (event !== undefined && data.event !== event) return false;
    if (error !== undefined && !(kind === "attempt" && isAmong(error, data.error))) return false;
    if (code !== undefined && !(kind === "attempt" && isOf(code, data.status_code))) return false;
    return type === undefined || isAmong(type, await this.#typeOf(data.delivery, data.event));
  }

  /** Returns the counted changes that may match, since their event types are unknown. */
  counted(counts: readonly CountedChanges[]): readonly CountedChanges[] {
    const { attempts, error } = this.#wanted;
    return counts.filter(
      (one) => (!attempts || one.kind === "attempt") && (error === undefined || isAmong(error, one.error)),
    );
  }

  /** Null if the delivery or event no longer exists. */
  async #typeOf(delivery: string | null, event: string | null): Promise<string | null> {
    const key = event ?? delivery!;
    if (this.#types.size > REMEMBERED) this.#types.clear();
    let type = this.#types.get(key);
    if (type !== undefined) return type;
    const asked =
      event === null ? this.#client.call("getDelivery", { id: key }) : this.#client.call("getEvent", { id: key });
    type = await asked.then(
      (found) => found.type,
      () => null,
    );
    this.#types.set(key, type);
    return type;
  }
}

/** True if the value is in a list separated by commas, as the API's lists take it. */
function isAmong(wanted: string, value: string | null): boolean {
  return value !== null && wanted.split(",").includes(value);
}

function isOf(wanted: string, code: number | null): boolean {
  return code !== null && (wanted.endsWith("xx") ? wanted[0] === String(code)[0] : wanted === String(code));
}
