/**
 * A body that is the same for every caller. Anyone may request it at any rate, so it is compressed once and answers 304
 * to clients that have it: RFC 9110, 8.8.3 (ETag), 12.5.3 (Accept-Encoding) and 13.1.2 (If-None-Match).
 */
import { hash } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http";
import { promisify } from "node:util";
import { brotliCompress, constants, gzip } from "node:zlib";
import type { Header, Reply } from "./reply.ts";

/** The order of preference if a client accepts several equally. */
const CODINGS = ["br", "gzip", "identity"] as const;
export type Coding = (typeof CODINGS)[number];

/** This level takes a pool thread 15 ms for 300 KB. Level 11, the default, takes half a second and saves an eighth. */
const BROTLI_QUALITY = 9;

export interface Caching {
  /** The value of `Cache-Control`. */
  readonly cache: string;
  /** Further headers, which a 304 has as well. */
  readonly headers: readonly Header[];
}

export class Representation {
  readonly #type: string;
  readonly #bodies: Readonly<Record<Coding, Uint8Array>>;
  readonly #hash: string;

  constructor(type: string, bodies: Readonly<Record<Coding, Uint8Array>>) {
    this.#type = type;
    this.#bodies = bodies;
    this.#hash = hash("sha256", bodies.identity, "base64url").slice(0, 22);
  }

  /** Compresses the text outside the main thread. */
  static async of(type: string, text: string): Promise<Representation> {
    const identity = Buffer.from(text);
    const params = {
      [constants.BROTLI_PARAM_QUALITY]: BROTLI_QUALITY,
      [constants.BROTLI_PARAM_SIZE_HINT]: identity.length,
    };
    const [br, zipped] = await Promise.all([
      promisify(brotliCompress)(identity, { params }),
      promisify(gzip)(identity, { level: BROTLI_QUALITY }),
    ]);
    return new Representation(type, { identity, br, gzip: zipped });
  }

  /** `asked` has the request's headers. */
  reply(asked: IncomingHttpHeaders, { cache, headers: own }: Caching): Reply {
    const coding = codingFor(asked["accept-encoding"]);
    // A strong tag identifies the exact bytes, so each coding has its own.
    const etag = coding === "identity" ? `"${this.#hash}"` : `"${this.#hash}-${coding}"`;
    const headers: Header[] = [...own, ["etag", etag], ["vary", "Accept-Encoding"]];
    if (isKnown(etag, asked["if-none-match"])) return { status: 304, type: this.#type, body: null, cache, headers };
    if (coding !== "identity") headers.push(["content-encoding", coding]);
    return { status: 200, type: this.#type, body: this.#bodies[coding], cache, headers };
  }
}

/** Returns the available coding that the client prefers, or `identity` if it states no preference. */
export function codingFor(accepted: string | string[] | undefined): Coding {
  const weights = new Map<string, number>();
  for (const each of String(accepted ?? "").split(",")) {
    const [name = "", ...parameters] = each.toLowerCase().split(";");
    const weight = parameters.map((text) => /^\s*q=(0(?:\.\d*)?|1(?:\.0*)?)\s*$/.exec(text)?.[1]).find((q) => q);
    // "x-gzip" is gzip (RFC 9110 8.4.1.3).
    if (name.trim() !== "") weights.set(name.trim().replace(/^x-gzip$/, "gzip"), Number(weight ?? 1));
  }
  const others = weights.get("*") ?? 0;
  const weightOf = (coding: Coding) => weights.get(coding) ?? (coding === "identity" ? 0 : others);
  const best = CODINGS.reduce((best, coding) => (weightOf(coding) > weightOf(best) ? coding : best));
  return weightOf(best) > 0 ? best : "identity";
}

/** Compares weakly, as If-None-Match requires: a proxy that compresses turns a strong tag into a weak one. */
function isKnown(etag: string, asked: string | undefined): boolean {
  if (asked === undefined) return false;
  if (asked.trim() === "*") return true;
  return asked.split(",").some((each) => each.trim().replace(/^W\//, "") === etag);
}
