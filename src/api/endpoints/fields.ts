/** The bodies of a registration and of a change to it. */
import * as v from "valibot";
import type { EventType } from "../../domain/event-type.ts";
import { checkEndpointUrl, MAX_URL_BYTES, type UrlPolicy } from "../../domain/url.ts";
import { described, titled, typeName, isSeenWhole, line, rate } from "../pipeline/shapes.ts";
import { headerFaults, MAX_HEADER_BYTES, MAX_HEADERS } from "./headers.ts";

const MAX_METADATA_BYTES = 4096;
export interface RegistrationRules {
  readonly types: ReadonlyMap<string, EventType>;
  readonly signatureHeader: string;
  /** For the tenant whose endpoint it is. */
  readonly urlPolicy: UrlPolicy;
}

export function registrationSchema(rules: RegistrationRules) {
  const field = fields(rules);
  return titled(
    "Registration",
    v.strictObject({
      url: field.url,
      events: field.events,
      description: v.optional(field.description, ""),
      headers: v.optional(headers(rules.signatureHeader), {}),
      rate_per_second: v.optional(field.rate_per_second, null),
      max_in_flight: v.optional(field.max_in_flight, null),
      enabled: v.optional(field.enabled, true),
      when_disabled: v.optional(field.when_disabled, "hold"),
      uid: v.optional(field.uid, null),
      metadata: v.optional(metadata(), {}),
    }),
  );
}

/** As a registration, but that `enabled` may be left as it is. */
export function replacementSchema(rules: RegistrationRules) {
  const { enabled: _, uid: __, ...entries } = registrationSchema(rules).entries;
  const field = fields(rules);
  return titled(
    "EndpointReplacement",
    v.strictObject({
      ...entries,
      enabled: v.optional(described(field.enabled, "Left out it stays as it is; a new endpoint is enabled.")),
      uid: v.optional(described(field.uid, "Only needed where the path holds an id: left out, it has none then.")),
    }),
  );
}

/** A merge-patch (RFC 7396) of a registration. `headers` and `metadata` are judged once they are merged. */
export function changeSchema(rules: RegistrationRules) {
  const field = fields(rules);
  const orDefault = <S extends v.GenericSchema>(schema: S) => v.optional(v.nullable(schema));
  const Change = titled(
    "EndpointChange",
    v.strictObject({
      url: v.optional(field.url),
      events: v.optional(field.events),
      description: orDefault(field.description),
      headers: orDefault(object()),
      rate_per_second: v.optional(field.rate_per_second),
      max_in_flight: v.optional(field.max_in_flight),
      enabled: v.optional(field.enabled),
      when_disabled: orDefault(field.when_disabled),
      uid: v.optional(field.uid),
      metadata: orDefault(object()),
      held: v.optional(
        described(
          v.picklist(["release", "cancel"]),
          "With `enabled: true`: whether what was held is sent, the default, or becomes `cancelled`.",
        ),
      ),
    }),
  );
  return v.pipe(
    Change,
    v.forward(
      v.partialCheck(
        [["enabled"], ["held"]],
        ({ enabled, held }) => held === undefined || enabled === true,
        "conflicting_fields: goes with enabled: true alone",
      ),
      ["held"],
    ),
  );
}

function fields({ types, urlPolicy }: RegistrationRules) {
  return {
    url: v.pipe(
      described(v.string(), "Public https, without user or fragment, port 443 or 8443 unless the daemon allows more."),
      v.metadata({ format: "uri", maxLength: MAX_URL_BYTES }),
      v.rawTransform(({ dataset, addIssue, NEVER }) => {
        const checked = checkEndpointUrl(dataset.value, urlPolicy);
        if ("url" in checked) return checked.url;
        addIssue({ message: `${checked.code}: ${checked.detail}` });
        return NEVER;
      }),
    ),
    events: v.pipe(
      v.array(typeName(types)),
      v.minLength(1, "too_few: must name at least one event type"),
      v.maxLength(100, "too_long: must name at most 100 event types"),
      v.check((events) => new Set(events).size === events.length, "invalid_events: must name each event type once"),
      v.metadata({ uniqueItems: true }),
    ),
    description: line(256),
    rate_per_second: described(
      v.nullable(rate(100_000)),
      "At most so many attempts begin in a second. At least 0.001: one in a quarter of an hour.",
    ),
    max_in_flight: described(
      v.nullable(
        v.pipe(v.number(), v.integer("invalid_type: must be a whole number"), v.minValue(1), v.maxValue(10_000)),
      ),
      "A ceiling for the adaptive cap.",
    ),
    enabled: v.boolean(),
    when_disabled: described(
      v.picklist(["hold", "skip"]),
      "Whether its events are kept while it is disabled, or never become deliveries.",
    ),
    uid: described(v.nullable(uidSchema.entries.uid), "Your own name for it, unique within the tenant."),
  };
}

export const uidSchema = v.object({
  uid: v.pipe(
    line(64),
    v.minLength(1, "too_few: must not be empty"),
    v.check(isSeenWhole, "forbidden_char: must not hold invisible characters"),
  ),
});

export function headers(signatureHeader: string) {
  return v.pipe(
    object(),
    v.rawCheck(({ dataset, addIssue }) => {
      if (!dataset.typed) return;
      for (const { name, detail } of headerFaults(dataset.value, signatureHeader)) {
        const message = `invalid_header: ${detail}`;
        if (name === undefined) addIssue({ message });
        else addIssue({ message, path: [item(dataset.value, name)] });
      }
    }),
    v.metadata({
      additionalProperties: { type: "string", maxLength: MAX_HEADER_BYTES },
      maxProperties: MAX_HEADERS,
      description: "Sent with each attempt: names of RFC 9110, visible ASCII values, none that webhookd sets itself.",
    }),
    v.transform((checked) => checked as Record<string, string>),
  );
}

export function metadata() {
  const fits = (value: Record<string, unknown>) => Buffer.byteLength(JSON.stringify(value)) <= MAX_METADATA_BYTES;
  return v.pipe(
    object(),
    v.check(
      (value) => keepsNumbers(value),
      "invalid_type: holds a number that would not come out as it came in; give it as a string",
    ),
    v.check(fits, `too_long: must be at most ${MAX_METADATA_BYTES} bytes of JSON`),
    v.metadata({ description: `Yours; at most ${MAX_METADATA_BYTES} bytes of JSON.` }),
  );
}

/** `1e400` would come out as null, and a 64-bit id as its neighbour. */
function keepsNumbers(value: unknown): boolean {
  if (typeof value === "object" && value !== null) return Object.values(value).every(keepsNumbers);
  return typeof value !== "number" || Math.abs(value) <= Number.MAX_SAFE_INTEGER;
}

/** Not `v.record`: that one drops keys such as `constructor` without a word. */
function object() {
  const isObject = (value: unknown) => typeof value === "object" && value !== null && !Array.isArray(value);
  return v.pipe(
    v.custom<Record<string, unknown>>(isObject, "invalid_type: must be an object"),
    v.metadata({ type: "object" }),
  );
}

function item(input: Record<string, unknown>, key: string): v.ObjectPathItem {
  return { type: "object", origin: "value", input, key, value: input[key] };
}
