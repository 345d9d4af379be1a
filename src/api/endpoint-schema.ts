/** The body of a registration. */
import * as v from "valibot";
import type { EventType } from "../domain/event-type.ts";
import { checkEndpointUrl, MAX_URL_BYTES, type UrlPolicy } from "../domain/url.ts";
import { headerFaults, isPlainText, lengthOf, MAX_HEADER_BYTES, MAX_HEADERS } from "./registration.ts";
import { described, titled } from "./schemas/wire.ts";

const MAX_METADATA_BYTES = 4096;

export interface RegistrationRules {
  readonly types: ReadonlyMap<string, EventType>;
  readonly signatureHeader: string;
  /** Asked at each registration: the host's own addresses change. */
  readonly urlPolicy: () => UrlPolicy;
}

export function registrationSchema({ types, signatureHeader, urlPolicy }: RegistrationRules) {
  return titled(
    "Registration",
    v.strictObject({
      url: v.pipe(
        described(
          v.string(),
          "Public https, without user or fragment, port 443 or 8443 unless the daemon allows more.",
        ),
        v.metadata({ format: "uri", maxLength: MAX_URL_BYTES }),
        v.rawTransform(({ dataset, addIssue, NEVER }) => {
          const checked = checkEndpointUrl(dataset.value, urlPolicy());
          if ("url" in checked) return checked.url;
          addIssue({ message: `${checked.code}: ${checked.detail}` });
          return NEVER;
        }),
      ),
      events: v.pipe(
        v.array(
          v.pipe(
            v.string(),
            // Not a list made once: the catalogue changes while the daemon runs.
            v.check((type) => types.has(type), "unknown_event_type"),
            v.metadata({ enum: [...types.keys()] }),
          ),
        ),
        v.minLength(1, "too_few: must name at least one event type"),
        v.maxLength(100, "too_long: must name at most 100 event types"),
        v.check((events) => new Set(events).size === events.length, "invalid_events: must name each event type once"),
        v.metadata({ uniqueItems: true }),
      ),
      description: v.optional(line(256), ""),
      headers: v.optional(headers(signatureHeader), {}),
      rate_per_second: v.optional(
        described(
          v.nullable(v.pipe(v.number(), v.gtValue(0), v.maxValue(100_000))),
          "At most so many attempts begin in a second.",
        ),
        null,
      ),
      max_in_flight: v.optional(
        described(
          v.nullable(v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(10_000))),
          "A ceiling for the adaptive cap.",
        ),
        null,
      ),
      enabled: v.optional(v.boolean(), true),
      when_disabled: v.optional(
        described(
          v.picklist(["hold", "skip"]),
          "Whether its events are kept while it is disabled, or never become deliveries.",
        ),
        "hold",
      ),
      uid: v.optional(
        described(
          v.nullable(v.pipe(line(64), v.minLength(1, "too_few: must not be empty"))),
          "Your own name for it, unique within the tenant.",
        ),
        null,
      ),
      metadata: v.optional(metadata(), {}),
    }),
  );
}

/** One line of text. */
export function line(maxLength: number) {
  return v.pipe(
    v.string(),
    v.check((text) => lengthOf(text) <= maxLength, `too_long: must be at most ${maxLength} characters`),
    v.check(isPlainText, "forbidden_char: must not hold control or bidi characters"),
    v.metadata({ maxLength }),
  );
}

function headers(signatureHeader: string) {
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
      type: "object",
      additionalProperties: { type: "string", maxLength: MAX_HEADER_BYTES },
      maxProperties: MAX_HEADERS,
      description: "Sent with each attempt: names of RFC 9110, visible ASCII values, none that webhookd sets itself.",
    }),
    v.transform((checked) => checked as Record<string, string>),
  );
}

function metadata() {
  const fits = (value: Record<string, unknown>) => Buffer.byteLength(JSON.stringify(value)) <= MAX_METADATA_BYTES;
  return v.pipe(
    object(),
    v.check(fits, `too_long: must be at most ${MAX_METADATA_BYTES} bytes of JSON`),
    v.metadata({ type: "object", description: `Yours; at most ${MAX_METADATA_BYTES} bytes of JSON.` }),
  );
}

/** Not `v.record`: that one drops keys such as `constructor` without a word. */
function object() {
  return v.custom<Record<string, unknown>>(
    (value) => typeof value === "object" && value !== null && !Array.isArray(value),
    "invalid_type: must be an object",
  );
}

function item(input: Record<string, unknown>, key: string): v.ObjectPathItem {
  return { type: "object", origin: "value", input, key, value: input[key] };
}
