/** The vocabulary of `test/corpora/api-bad-input-corpus.json`, which its README explains. */
import { readFileSync } from "node:fs";
import { type Scope, SCOPES } from "../../src/domain/caller.ts";
import { anEvent } from "./sqlite.ts";
import type { ApiServer } from "./server.ts";

export interface Entry {
  readonly id: string;
  readonly input: Input;
  readonly expect: {
    readonly status: number | null;
    readonly code: string | null;
    readonly connection?: "closed";
    readonly max_ms?: number;
    readonly invariant?: string;
  };
  readonly why: string;
}

export interface Input {
  readonly method?: string;
  readonly path?: string;
  readonly auth?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly body_b64?: string;
  readonly body_gen?: Gen;
  readonly raw_b64?: string;
  readonly raw_gen?: Gen;
  readonly raw_steps?: readonly (string | { drip?: string; every_ms?: number; close?: "rst" })[];
  readonly connections?: number;
  readonly each?: string;
  readonly state?: string;
  /** Requests to send one after another. The last response counts. */
  readonly sequence?: readonly Input[];
  /** The number of requests to send at once. */
  readonly parallel?: number;
  readonly burst?: { readonly count: number; readonly within_ms: number; readonly key_limit_per_s: number };
}

interface Gen {
  readonly prefix?: string;
  readonly repeat: string;
  readonly times: number;
  readonly middle?: string;
  readonly then_repeat?: string;
  readonly suffix?: string;
}

export function readCorpus(): Entry[] {
  return JSON.parse(readFileSync(new URL("../corpora/api-bad-input-corpus.json", import.meta.url), "utf8"));
}

export function generate({ prefix = "", repeat, times, middle = "", then_repeat = "", suffix = "" }: Gen): string {
  return prefix + repeat.repeat(times) + middle + then_repeat.repeat(times) + suffix;
}

export function bodyOf({ body, body_b64, body_gen }: Input): string | Uint8Array | undefined {
  if (body_b64 !== undefined) return Buffer.from(body_b64, "base64");
  return body_gen === undefined ? body : generate(body_gen);
}

/** The data that the entries assume: keys of every kind, an endpoint, and events that failed or were delivered. */
export class Premises {
  readonly #credentials: ReadonlyMap<string, string | null>;
  readonly #names: ReadonlyMap<string, string>;

  private constructor(credentials: ReadonlyMap<string, string | null>, names: ReadonlyMap<string, string>) {
    this.#credentials = credentials;
    this.#names = names;
  }

  static async make(api: ApiServer): Promise<Premises> {
    const now = api.clock.now();
    const other = await api.addKey(["admin"], "*");
    const revoked = await api.addKey(["admin"], "*");
    await api.store.keys.revoke(`key_${revoked.slice(4, 30)}`, now);
    const credentials = new Map<string, string | null>([
      ["valid", `Bearer ${api.adminKey}`],
      ["none", null],
      ["raw", null],
      ["wrong_key", `Bearer whk_${"0".repeat(26)}_${"0".repeat(52)}`],
      ["right_id_wrong_secret", `Bearer ${api.adminKey.slice(0, 31)}${other.slice(31)}`],
      ["revoked", `Bearer ${revoked}`],
      ["expired", `Bearer ${await api.addKey(["admin"], "*", { expiresAt: now })}`],
      ["basic", "Basic dXNlcjpwYXNz"],
    ]);
    for (const scope of SCOPES satisfies readonly Scope[]) {
      credentials.set(`scope:${scope}`, `Bearer ${await api.addKey([scope], "*")}`);
    }
    await api.post("/v1/webhooks", { url: "https://example.com/h", events: ["budget.exceeded"] });
    const names = new Map([
      ["VALID", api.adminKey],
      ["evt_known_failed", await anEvent(api.store, now, "failed")],
      ["evt_known_delivered", await anEvent(api.store, now, "delivered")],
    ]);
    return new Premises(credentials, names);
  }

  headersOf({ auth = "none", headers = {} }: Input): Record<string, string> {
    const credential = this.#credentials.get(auth);
    if (credential === undefined) throw new Error(`the corpus knows no auth ${auth}`);
    return { ...(credential !== null && { authorization: credential }), ...headers };
  }

  /** Replaces the entries' placeholders in a path or a raw request by real ids. */
  fill(text: string): string {
    return [...this.#names].reduce((filled, [name, real]) => filled.replaceAll(name, real), text);
  }
}
