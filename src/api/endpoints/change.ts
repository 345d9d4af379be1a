/** Changing an endpoint: what a merge-patch makes of its settings. */
import * as v from "valibot";
import type { Endpoint, EndpointPart, EndpointSettings } from "../../domain/endpoint.ts";
import { WebhookdError } from "../../domain/errors.ts";
import { mergePatch, type JsonObject } from "../../domain/merge-patch.ts";
import { checked } from "../pipeline/validation.ts";
import { headers, metadata, type changeSchema } from "./fields.ts";

export type EndpointPatch = v.InferOutput<ReturnType<typeof changeSchema>>;

/** Null gives a field its default back. Throws `validation_failed` when what comes of a merge is refused. */
export function changed(before: EndpointSettings, patch: EndpointPatch, signatureHeader: string): EndpointSettings {
  return {
    uid: given(patch.uid, before.uid, null),
    url: patch.url ?? before.url,
    events: patch.events ?? before.events,
    description: given(patch.description, before.description, ""),
    enabled: patch.enabled ?? before.enabled,
    whenDisabled: given(patch.when_disabled, before.whenDisabled, "hold"),
    ratePerSecond: given(patch.rate_per_second, before.ratePerSecond, null),
    maxInFlight: given(patch.max_in_flight, before.maxInFlight, null),
    ...checked(v.object({ headers: headers(signatureHeader), metadata: metadata() }), {
      headers: given(patch.headers && mergeHeaders(before.headers, patch.headers), before.headers, {}),
      metadata: given(patch.metadata && mergePatch(before.metadata, patch.metadata), before.metadata, {}),
    }),
  };
}

/** What cannot be read any more may not be taken for what holds: a change has to say it anew. */
export function requireWhole(patch: EndpointPatch, { damaged, headerNames }: Endpoint): void {
  const missing = (damaged?.parts ?? []).filter((part) => !isMended(part, patch, headerNames));
  if (missing.length === 0) return;
  const detail = missing.includes("headers")
    ? `headers cannot be read; give each of them anew, or null: ${headerNames.join(", ")}`
    : `${missing.join(", ")} cannot be read; give ${missing.length === 1 ? "it" : "them"} anew in the same change`;
  throw new WebhookdError("endpoint_damaged", detail);
}

function isMended(part: EndpointPart, patch: EndpointPatch, headerNames: readonly string[]): boolean {
  switch (part) {
    case "signing_secret":
    case "next_signing_secret":
      // No change touches them, nor makes them worse.
      return true;
    case "headers": {
      if (patch.headers === null) return true;
      const named = Object.keys(patch.headers ?? {}).map((name) => name.toLowerCase());
      return patch.headers !== undefined && headerNames.every((name) => named.includes(name.toLowerCase()));
    }
    case "tenant":
      return false;
    default:
      return patch[part] !== undefined;
  }
}

function given<T>(value: T | null | undefined, before: T, fallback: T): T {
  return value === undefined ? before : (value ?? fallback);
}

/** Case does not tell headers apart: one that is named takes the place of the one that was there. */
function mergeHeaders(before: Readonly<Record<string, string>>, patch: JsonObject): JsonObject {
  const named = new Set(Object.keys(patch).map((name) => name.toLowerCase()));
  const others = Object.entries(before).filter(([name]) => !named.has(name.toLowerCase()));
  const values = Object.entries(patch).filter(([, value]) => value !== null);
  return Object.fromEntries([...others, ...values]);
}
