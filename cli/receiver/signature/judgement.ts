/** Checks that a request is genuine: on the raw bytes, in constant time, with each of the secrets. */
import { isId } from "../../../src/domain/id.ts";
import { computedBy, nearMiss, type NearMiss } from "./near-miss.ts";
import { verifyingKey } from "../../../src/domain/endpoints/secret.ts";
import type { Received } from "../listen/server.ts";

export const SIGNATURE_HEADER = "x-service-signature";

export interface Judgement {
  readonly verdict: "ok" | "wrong" | "missing" | "unchecked";
  /**
   * Present if the verdict is `wrong`: the signature received, the expected one if a receiver can compute it, and the
   * explanation of the difference.
   */
  readonly wrong?: { readonly given: string; readonly computed: string | null; readonly miss: NearMiss | null };
}

/** Checks nothing if there are no secrets. If both signature headers are present, both must be valid. */
export function judge({ headers, body }: Received, secrets: readonly string[]): Judgement {
  if (secrets.length === 0) return { verdict: "unchecked" };
  const keys = secrets.map(verifyingKey);
  const given = headers[SIGNATURE_HEADER];
  const standard = headers["webhook-signature"];
  if (typeof given === "string" && !keys.some((key) => key.verifyBody(body, given))) {
    const computed = computedBy(keys[0]!, body);
    return { verdict: "wrong", wrong: { given, computed, miss: nearMiss({ signature: given, body, secrets }) } };
  }
  if (typeof standard === "string") {
    const stamp = { id: String(headers["webhook-id"] ?? ""), timestamp: Number(headers["webhook-timestamp"]) };
    if (!keys.some((key) => key.verifyStandard(stamp.id, stamp.timestamp, body, standard))) {
      const computed = computedBy(keys[0]!, body, stamp);
      const miss = nearMiss({ signature: standard, body, secrets, standard: stamp });
      return { verdict: "wrong", wrong: { given: standard, computed, miss } };
    }
  }
  return { verdict: given === undefined && standard === undefined ? "missing" : "ok" };
}

export interface EventShown {
  readonly id: string;
  readonly type: string;
  /** Null if no header names it. */
  readonly attempt: number | null;
  readonly test: boolean;
}

/** Reads the event's id and type from the request itself, so they are outside text. */
export function eventOf({ headers, body }: Received): EventShown {
  const fields = fieldsOf(body);
  const named = String(headers["webhook-id"] ?? fields.id ?? "");
  const attempt = Number(headers["x-webhookd-attempt"]);
  return {
    id: isId("evt", named) ? named : named.slice(0, 64) || "without an id",
    type: String(headers["ce-type"] ?? fields.type ?? "").slice(0, 128) || "without a type",
    attempt: Number.isSafeInteger(attempt) && attempt > 0 ? attempt : null,
    test: headers["x-webhookd-test"] === "1",
  };
}

function fieldsOf(body: Buffer): { readonly id?: unknown; readonly type?: unknown } {
  try {
    const value = JSON.parse(body.toString("utf8")) as unknown;
    if (typeof value !== "object" || value === null) return {};
    const { id, type } = value as Record<string, unknown>;
    return { ...(typeof id === "string" && { id }), ...(typeof type === "string" && { type }) };
  } catch {
    return {};
  }
}
