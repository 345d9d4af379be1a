/** Reads the API of another sender: GET requests with its key, with a limit to what is read and waited for. */
import type { ArgsOf } from "../command.ts";
import { Failure, usage } from "../failure.ts";
import { readText } from "../files.ts";
import type { Io } from "../io.ts";
import { span } from "../output/words.ts";
import { foreignValue } from "./export-file.ts";
import { isRecord, type JsonRecord } from "../../src/domain/json/merge-patch.ts";

const TIMEOUT_MS = 30_000;
const MAX_ANSWER_BYTES = 64 * 1024 * 1024;
const MAX_TRIES = 6;
/** The first wait; each one is twice as long as the one before. */
const WAIT_MS = 1000;
/** No answer makes a command wait longer than this at a time. */
const MAX_WAIT_MS = 60_000;
/** More pages than any list has that we could import. */
const MAX_PAGES = 2000;

/** The limits of a whole run: a sender that answers without end must not fill the memory, or keep the command busy. */
export interface Budget {
  readonly requests: number;
  readonly bytes: number;
}
export const BUDGET: Budget = { requests: 200_000, bytes: 256 * 1024 * 1024 };

/** The flags that name the API. */
export const API = {
  from: { type: "string", valueHint: "URL", description: "Read from the other sender's API at this address" },
  "from-key-file": { type: "string", valueHint: "FILE", description: "File that contains a key for that API" },
} as const;
export const PROJECT = {
  project: { type: "string", valueHint: "ID", description: "Which project of Convoy to read" },
} as const;

/** The variables with the key of each API, unless a file of it is named. */
export const KEYS = { svix: "SVIX_AUTH_TOKEN", convoy: "CONVOY_API_KEY", outpost: "OUTPOST_API_KEY" } as const;

export function foreignApi(
  { from, "from-key-file": file }: ArgsOf<typeof API> & { readonly from: string },
  variable: string,
  io: Io,
  budget: Budget = BUDGET,
): ForeignApi {
  const url = URL.parse(from);
  const fits = url !== null && /^https?:$/.test(url.protocol) && url.username === "" && url.password === "";
  if (!fits || url.search !== "" || url.hash !== "")
    throw usage("--from is not an address such as https://api.svix.com", `Pass the key with --from-key-file.`);
  const key = (file === undefined ? io.env[variable] : readText(file, "--from-key-file", 16 * 1024))?.trim();
  if (key === undefined || key === "") {
    const where = file === undefined ? `${variable} is not set` : `${file} is empty`;
    throw usage(`${url.host} needs a key, and ${where}`, "Pass a file that contains it: --from-key-file FILE.");
  }
  if (!/^[\x21-\x7e]{1,8192}$/.test(key)) throw usage(`${file ?? variable} does not contain an API key`);
  return new ForeignApi(url, { key, whereKeyIs: file ?? variable }, io, budget);
}

export class ForeignApi {
  readonly #url: URL;
  readonly #key: string;
  readonly #whereKeyIs: string;
  readonly #io: Io;
  readonly #left: { requests: number; bytes: number };

  constructor(
    url: URL,
    { key, whereKeyIs }: { readonly key: string; readonly whereKeyIs: string },
    io: Io,
    budget: Budget = BUDGET,
  ) {
    this.#url = url;
    this.#key = key;
    this.#whereKeyIs = whereKeyIs;
    this.#io = io;
    this.#left = { ...budget };
  }

  /** Returns the JSON object or array of the answer, or null for a 404. Waits and asks again if that may help. */
  async find(path: string, query: Readonly<Record<string, string>> = {}): Promise<Found | null> {
    for (let tries = 1; ; tries++) {
      const answer = await this.#ask(path, query);
      if ("value" in answer) return answer.value;
      if (tries === MAX_TRIES) {
        const hint = "Nothing was done. Try again later, or read from a file with --file.";
        throw new Failure("unreachable", `${this.#named(path)} ${answer.fault}, ${MAX_TRIES} times`, hint);
      }
      const waitMs = answer.waitMs ?? WAIT_MS * 2 ** (tries - 1);
      if (waitMs > MAX_WAIT_MS) {
        const hint = `Nothing was done. Try again in ${span(waitMs / 1000)}, or read from a file with --file.`;
        throw new Failure("unreachable", `${this.#named(path)} ${answer.fault}`, hint);
      }
      await this.#io.sleep(waitMs);
    }
  }

  /** Like `find`, for what must be there. */
  async get(path: string, query: Readonly<Record<string, string>> = {}): Promise<Found> {
    const found = await this.find(path, query);
    if (found !== null) return found;
    throw new Failure("not_found", `there is no ${this.#named(path)} (404)`, "Check --from. Nothing was done.");
  }

  async record(path: string): Promise<JsonRecord> {
    const found = await this.get(path);
    return isRecord(found) ? found : {};
  }

  /** Reads a list to its end. */
  async pages(...list: Parameters<ForeignApi["eachPage"]>): Promise<JsonRecord[]> {
    const pages: JsonRecord[] = [];
    for await (const page of this.eachPage(...list)) pages.push(page);
    return pages;
  }

  /**
   * Yields the pages of a list. `next` returns the query of the next page, or null at the end. Throws if the pages do
   * not advance, because then they would never end.
   */
  async *eachPage(
    path: string,
    query: Readonly<Record<string, string>>,
    next: (page: JsonRecord) => Readonly<Record<string, string>> | null,
  ): AsyncGenerator<JsonRecord, void, undefined> {
    const seen = new Set<string>();
    for (let asked: Readonly<Record<string, string>> | null = query; asked !== null;) {
      const text = JSON.stringify(asked);
      if (seen.has(text) || seen.size === MAX_PAGES)
        throw new Failure("refused", `the pages of ${this.#named(path)} do not end`, "Nothing was done.");
      seen.add(text);
      const found = await this.get(path, asked);
      const page = isRecord(found) ? found : {};
      yield page;
      const more = next(page);
      asked = more === null ? null : { ...query, ...more };
    }
  }

  async #ask(path: string, query: Readonly<Record<string, string>>): Promise<Answer> {
    const url = new URL(this.#url.pathname.replace(/\/+$/, "") + path, this.#url);
    for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value);
    if (this.#left.requests-- <= 0) throw this.#overBudget();
    let response: Response;
    let bytes: Buffer;
    try {
      response = await fetch(url, {
        headers: { accept: "application/json", authorization: `Bearer ${this.#key}` },
        redirect: "manual",
        signal: AbortSignal.timeout(TIMEOUT_MS),
      });
      bytes = await this.#bytesOf(response, path);
    } catch (error) {
      if (error instanceof Failure) throw error;
      return { fault: `cannot be reached (${reasonOf(error)})` };
    }
    const { status, headers } = response;
    if (status === 429 || status >= 500) {
      const waitMs = waitAskedFor(headers.get("retry-after"), this.#io.now());
      return { fault: `answers ${status}`, ...(waitMs !== null && { waitMs }) };
    }
    if (status === 404) return { value: null };
    if (status >= 200 && status <= 299) {
      const value = valueOrNull(bytes);
      if (isRecord(value) || Array.isArray(value)) return { value };
    }
    throw this.#refusal(path, status);
  }

  async #bytesOf({ body }: Response, path: string): Promise<Buffer> {
    const chunks: Uint8Array[] = [];
    let bytes = 0;
    for await (const chunk of (body ?? []) as AsyncIterable<Uint8Array>) {
      bytes += chunk.length;
      if (bytes > MAX_ANSWER_BYTES)
        throw new Failure("refused", `the answer of ${this.#named(path)} is too large`, "Nothing was done.");
      if ((this.#left.bytes -= chunk.length) < 0) throw this.#overBudget();
      chunks.push(chunk);
    }
    return Buffer.concat(chunks);
  }

  #overBudget(): Failure {
    const hint = "Nothing was done. Read less at a time: one tenant, a file, or a shorter span.";
    return new Failure("refused", `${this.#url.host} answers more than one command reads`, hint);
  }

  #refusal(path: string, status: number): Failure {
    const what = this.#named(path);
    if (status === 401 || status === 403) {
      const hint = `The key in ${this.#whereKeyIs} was used. Nothing was done.`;
      return new Failure("not_allowed", `${what} refuses the key (${status})`, hint);
    }
    if (status >= 300 && status <= 399) {
      const hint = "Name the address that it leads to with --from. Nothing was done.";
      return new Failure("refused", `${what} answers with a redirect (${status})`, hint);
    }
    return new Failure("refused", `${what} does not answer with JSON (${status})`, "Check --from. Nothing was done.");
  }

  #named(path: string): string {
    return this.#url.origin + this.#url.pathname.replace(/\/+$/, "") + path;
  }
}

type Found = JsonRecord | readonly unknown[];
type Answer = { readonly value: Found | null } | { readonly fault: string; readonly waitMs?: number };

function reasonOf(error: unknown): string {
  const { cause, name } = error as Error & { readonly cause?: { readonly code?: unknown } };
  return typeof cause?.code === "string" ? cause.code : name === "TimeoutError" ? "no answer in time" : name;
}

/** Reads seconds, or a date (RFC 9110 10.2.3). */
function waitAskedFor(retryAfter: string | null, now: number): number | null {
  if (retryAfter === null) return null;
  if (/^\d+$/.test(retryAfter)) return Number(retryAfter) * 1000;
  const instant = Date.parse(retryAfter);
  return Number.isNaN(instant) ? null : Math.max(0, instant - now);
}

function valueOrNull(bytes: Uint8Array): unknown {
  try {
    return foreignValue(bytes);
  } catch {
    return null;
  }
}
