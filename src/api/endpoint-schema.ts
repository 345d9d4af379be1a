/** The body of a registration. */
import * as v from "valibot";
import type { EventType } from "../domain/event-type.ts";
import { checkEndpointUrl, type UrlPolicy } from "../domain/url.ts";
import { headerFaults, isPlainText, lengthOf } from "./registration.ts";

const MAX_METADATA_BYTES = 4096;

export interface RegistrationRules {
  readonly types: ReadonlyMap<string, EventType>;
  readonly signatureHeader: string;
  /** Asked at each registration: the host's own addresses change. */
  readonly urlPolicy: () => UrlPolicy;
}

export function registrationSchema({ types, signatureHeader, urlPolicy }: RegistrationRules) {
  return v.strictObject({
    url: v.pipe(
      v.string(),
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
          v.check((type) => types.has(type), "unknown_event_type"),
        ),
      ),
      v.minLength(1, "too_few: must name at least one event type"),
      v.maxLength(100, "too_long: must name at most 100 event types"),
      v.check((events) => new Set(events).size === events.length, "invalid_events: must name each event type once"),
    ),
    description: v.optional(line(256), ""),
    headers: v.optional(headers(signatureHeader), {}),
    rate_per_second: v.optional(v.nullable(v.pipe(v.number(), v.gtValue(0), v.maxValue(100_000))), null),
    max_in_flight: v.optional(v.nullable(v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(10_000))), null),
    enabled: v.optional(v.boolean(), true),
    when_disabled: v.optional(v.picklist(["hold", "skip"]), "hold"),
    uid: v.optional(v.nullable(v.pipe(line(64), v.minLength(1, "too_few: must not be empty"))), null),
    metadata: v.optional(metadata(), {}),
  });
}

/** One line of text. */
export function line(maxLength: number) {
  return v.pipe(
    v.string(),
    v.check((text) => lengthOf(text) <= maxLength, `too_long: must be at most ${maxLength} characters`),
    v.check(isPlainText, "forbidden_char: must not hold control or bidi characters"),
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
    v.transform((checked) => checked as Record<string, string>),
  );
}

function metadata() {
  const fits = (value: Record<string, unknown>) => Buffer.byteLength(JSON.stringify(value)) <= MAX_METADATA_BYTES;
  return v.pipe(object(), v.check(fits, `too_long: must be at most ${MAX_METADATA_BYTES} bytes of JSON`));
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
