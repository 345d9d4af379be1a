/**
 * The fields of an endpoint. This table decides each field's name on the wire, and how it is read, merged and shown.
 * The schemas, the answers and the example are derived from it.
 *
 * To add a field that callers set, copy a row of `ASKED`; `CONTRIBUTING.md` lists the other places.
 */
import * as v from "valibot";
import {
  DISABLED_REASONS,
  ENDPOINT_PARTS,
  type Endpoint,
  type EndpointSettings,
  SIGNATURES,
  WHEN_DISABLED,
} from "../../domain/endpoints/endpoint.ts";
import { BODY_FORMATS } from "../../domain/endpoints/body-format.ts";
import { AFTER_FAILURE, ORDERINGS } from "../../domain/deliveries/ordering.ts";
import type { EventType } from "../../domain/events/event-type.ts";
import { FILTER_LIMITS, isFilter, parseFilter } from "../../domain/events/filter/filter.ts";
import { patternFault } from "../../domain/events/pattern.ts";
import { mergePatch } from "../../domain/json/merge-patch.ts";
import { formatInstant, formatInstantOrNull } from "../../domain/time/instant.ts";
import { checkEndpointUrl, MAX_URL_BYTES, wholeDetail, type UrlPolicy } from "../../domain/network/url.ts";
import { type JsonObject, unknownType } from "../pipeline/body.ts";
import {
  AnyObject,
  anObject,
  Count,
  described,
  id,
  Instant,
  isSeenWhole,
  line,
  named,
  rate,
  Tenant,
  titled,
} from "../pipeline/shapes.ts";
import { AUTH, Auth, authSchema, CA, caSchema, MASKED, presentAuth } from "./auth.ts";
import { headers, mergeHeaders } from "./headers.ts";
import { metadata } from "./metadata.ts";

/** The rules that a registration must meet. */
export interface RegistrationRules {
  readonly types: ReadonlyMap<string, EventType>;
  readonly signatureHeaders: readonly string[];
  /** The rules of the tenant that owns the endpoint. */
  readonly urlPolicy: UrlPolicy;
  /** True if a filter may test tags, which the customers of a portal link do not see. */
  readonly seesTags: boolean;
  /** True if a refusal may name the setting that caused it. */
  readonly namesSettings: boolean;
}

/** A field's name, and how it is shown. */
export interface Shown<Wire extends string, Shape extends v.GenericSchema> {
  readonly wire: Wire;
  readonly shape: Shape;
  readonly show: (endpoint: Endpoint) => unknown;
  readonly example: v.InferInput<Shape>;
}

/** A field that callers set. It is required unless `DEFAULT_SETTINGS` has a default. */
export interface Asked<Wire extends string, Value, Shape extends v.GenericSchema> extends Shown<Wire, Shape> {
  readonly reads: (rules: RegistrationRules) => v.GenericSchema<unknown, Value>;
  /** Merges a change into an object. `reads` then checks the result. */
  merges?(before: Value, patch: JsonObject): JsonObject;
  /** False: null in a change does not restore the default, and a replacement without the field leaves it unchanged. */
  readonly resets?: false;
}

const shown = <const Wire extends string, Shape extends v.GenericSchema>(field: Shown<Wire, Shape>) => field;
const asked = <const Wire extends string, Value, Shape extends v.GenericSchema>(field: Asked<Wire, Value, Shape>) =>
  field;

export const uidSchema = v.object({
  uid: v.pipe(
    line(64),
    v.minLength(1, "too_few: must not be empty"),
    v.check(isSeenWhole, "forbidden_char: must not contain invisible characters"),
  ),
});

const RatePerSecond = titled(
  "RatePerSecond",
  described(
    v.nullable(rate(100_000)),
    "The maximum number of attempts that start per second. At least 0.001, which is about one every quarter of an hour.",
  ),
);
const MaxInFlight = titled(
  "MaxInFlight",
  described(
    v.nullable(
      v.pipe(v.number(), v.integer("invalid_type: must be a whole number"), v.minValue(1), v.maxValue(10_000)),
    ),
    "The maximum number of attempts at once: the ceiling of the adaptive cap.",
  ),
);
export const WhenDisabled = titled(
  "WhenDisabled",
  described(
    v.picklist(WHEN_DISABLED),
    "While it is disabled: `hold` keeps its events, `skip` creates no deliveries for them, and `shadow` creates " +
      "deliveries that are `shadowed`: everything is decided, and nothing is sent, now or later.",
  ),
);
const Ordering = titled(
  "Ordering",
  described(
    v.picklist(ORDERINGS),
    "`by_key`: events with the same `ordering_key` are sent one after another, in the order in which they were published. An event waits until the one before it was delivered, was cancelled or failed. Events without a key, and those of other keys, do not wait. It applies to events that are published from then on.",
  ),
);
const AfterFailure = titled(
  "AfterFailure",
  described(
    v.picklist(AFTER_FAILURE),
    "With `ordering` `by_key`, when an event has failed: `continue` goes on with the next one of its key, `hold` keeps them until somebody replays or cancels the failed event.",
  ),
);
const BodyFormat = titled(
  "BodyFormat",
  described(
    v.picklist(BODY_FORMATS),
    "The body that is sent, and signed: `envelope` is `{id,type,created_at,data}`, `cloudevents` a CloudEvent 1.0 as JSON (structured mode), `cloudevents_binary` the data with the headers `ce-*` (binary mode), and `data` the data alone. It applies to attempts that start from then on.",
  ),
);

/** Fields that callers set. */
const ASKED = {
  url: asked({
    wire: "url",
    reads: address,
    shape: described(v.string(), "Normalized according to the WHATWG URL standard."),
    show: ({ url }) => url,
    example: "https://example.com/hook",
  }),
  events: asked({
    wire: "events",
    reads: ({ types }) =>
      v.pipe(
        v.array(chosenName(types)),
        v.title("ChosenTypes"),
        v.minLength(1, "too_few: must name at least one event type"),
        v.maxLength(100, "too_long: must name at most 100 event types"),
        v.check((events) => new Set(events).size === events.length, "invalid_events: must name each event type once"),
        v.metadata({
          uniqueItems: true,
          description:
            "The types of events that are sent to it: exact names, `budget.*` for all types that begin with `budget.`, or `*` for all. A pattern includes types that are added later, and may match none today.",
        }),
      ),
    shape: v.array(v.string()),
    show: ({ events }) => events,
    example: ["budget.exceeded"],
  }),
  filter: asked({
    wire: "filter",
    reads: (rules) => titled("FilterDocument", filter(rules)),
    shape: v.nullable(AnyObject),
    show: (endpoint) => endpoint.filter,
    example: null,
  }),
  description: asked({
    wire: "description",
    reads: () => described(line(256), "A note for people, on one line."),
    shape: v.string(),
    show: ({ description }) => description,
    example: "",
  }),
  headers: asked({
    wire: "headers",
    reads: ({ signatureHeaders }) => headers(signatureHeaders),
    merges: mergeHeaders,
    shape: described(v.record(v.string(), v.string()), "Sent with each attempt; the values are masked."),
    show: ({ headerNames }) => Object.fromEntries(headerNames.map((name) => [name, MASKED])),
    example: { authorization: MASKED },
  }),
  auth: asked({
    wire: "auth",
    reads: authSchema,
    shape: described(v.nullable(Auth), AUTH),
    show: ({ auth }) => presentAuth(auth),
    example: null,
  }),
  ca: asked({
    wire: "ca",
    reads: caSchema,
    shape: described(v.nullable(v.string()), CA),
    show: ({ ca }) => ca,
    example: null,
  }),
  ratePerSecond: asked({
    wire: "rate_per_second",
    reads: () => RatePerSecond,
    shape: v.nullable(v.number()),
    show: ({ ratePerSecond }) => ratePerSecond,
    example: null,
  }),
  maxInFlight: asked({
    wire: "max_in_flight",
    reads: () => MaxInFlight,
    shape: v.nullable(Count),
    show: ({ maxInFlight }) => maxInFlight,
    example: null,
  }),
  enabled: asked({
    wire: "enabled",
    reads: () => described(v.boolean(), "Whether anything is sent to it."),
    resets: false,
    shape: v.boolean(),
    show: ({ enabled }) => enabled,
    example: true,
  }),
  whenDisabled: asked({
    wire: "when_disabled",
    reads: () => WhenDisabled,
    shape: WhenDisabled,
    show: ({ whenDisabled }) => whenDisabled,
    example: "hold",
  }),
  ordering: asked({
    wire: "ordering",
    reads: () => Ordering,
    shape: Ordering,
    show: ({ ordering }) => ordering,
    example: "none",
  }),
  afterFailure: asked({
    wire: "after_failure",
    reads: () => AfterFailure,
    shape: AfterFailure,
    show: ({ afterFailure }) => afterFailure,
    example: "continue",
  }),
  format: asked({
    wire: "format",
    reads: () => BodyFormat,
    shape: BodyFormat,
    show: ({ format }) => format,
    example: "envelope",
  }),
  traceContext: asked({
    wire: "trace_context",
    reads: () => described(v.boolean(), "Sends `traceparent` and `tracestate` to the receiver."),
    shape: v.boolean(),
    show: ({ traceContext }) => traceContext,
    example: false,
  }),
  signatures: asked({
    wire: "signatures",
    reads: () =>
      v.pipe(
        v.array(v.picklist(SIGNATURES)),
        v.title("ChosenSignatures"),
        v.minLength(1, "too_few: must name at least one signature"),
        v.check((names) => new Set(names).size === names.length, "out_of_range: must name each signature once"),
        v.metadata({
          uniqueItems: true,
          description:
            "The signatures in `webhook-signature`: `hmac` is `v1`, made with the endpoint's secret, and `ed25519` is `v1a`, made with its tenant's private key. With `ed25519` the headers of Standard Webhooks are sent even if the daemon does not send them otherwise. `X-Service-Signature` is sent in any case.",
        }),
      ),
    shape: v.array(v.picklist(SIGNATURES)),
    show: ({ signatures }) => signatures,
    example: ["hmac"],
  }),
  uid: asked({
    wire: "uid",
    reads: () => described(v.nullable(uidSchema.entries.uid), "Your own name for it, unique within the tenant."),
    shape: described(v.nullable(v.string()), "The name it was registered under, unique within the tenant."),
    show: ({ uid }) => uid,
    example: null,
  }),
  metadata: asked({
    wire: "metadata",
    reads: () => metadata(),
    merges: mergePatch,
    shape: AnyObject,
    show: (endpoint) => endpoint.metadata,
    example: {},
  }),
} satisfies { readonly [Setting in keyof EndpointSettings]: Asked<string, EndpointSettings[Setting], v.GenericSchema> };

export const DamagedParts = described(
  v.array(named("EndpointPart", v.picklist(ENDPOINT_PARTS))),
  "The parts that cannot be read. A rotation with `overlap_seconds` 0 repairs a secret; setting anything else again repairs it.",
);
export const DamagedReason = described(v.string(), "How it is damaged, in a sentence.");

/** Fields that callers cannot set: `FIRST` is shown before the fields that they can set, `LAST` after them. */
const FIRST = [
  shown({ wire: "id", shape: id("ep"), show: (endpoint) => endpoint.id, example: "ep_06fbqxvx8r4m8q2v6ng0c3kz7t" }),
  shown({ wire: "tenant", shape: Tenant, show: ({ tenant }) => tenant, example: "default" }),
] as const;
const LAST = [
  shown({
    wire: "disabled_reason",
    shape: described(
      v.nullable(v.picklist(DISABLED_REASONS)),
      "Why the daemon disabled it: its receiver answered 410 (`gone`), or no attempt had succeeded for a long time (`failing`).",
    ),
    show: ({ disabledReason }) => disabledReason,
    example: null,
  }),
  shown({
    wire: "secret_switches_at",
    shape: described(v.nullable(Instant), "During a rotation: when the next signing secret takes over."),
    show: ({ secretSwitchesAt }) => formatInstantOrNull(secretSwitchesAt),
    example: null,
  }),
  shown({
    wire: "damaged",
    shape: described(
      v.nullable(titled("EndpointDamage", v.object({ parts: DamagedParts, reason: DamagedReason }))),
      "Which parts of the endpoint the store can no longer read; null if all is well. Until the endpoint is repaired, nothing is sent to it, and its deliveries wait.",
    ),
    show: ({ damaged }) => damaged,
    example: null,
  }),
  shown({
    wire: "created_at",
    shape: Instant,
    show: ({ createdAt }) => formatInstant(createdAt),
    example: "2026-11-20T09:50:00.000Z",
  }),
  shown({
    wire: "updated_at",
    shape: Instant,
    show: ({ updatedAt }) => formatInstant(updatedAt),
    example: "2026-11-20T09:50:00.000Z",
  }),
] as const;

type Row = (typeof FIRST)[number] | (typeof ASKED)[keyof typeof ASKED] | (typeof LAST)[number];
type Of<Wire, Member extends keyof Row> = Extract<Row, { readonly wire: Wire }>[Member];

const ROWS: readonly Row[] = [...FIRST, ...Object.values(ASKED), ...LAST];

/** The fields that callers set, by the name of their setting. */
export const FIELDS = Object.entries(ASKED) as readonly [
  keyof EndpointSettings,
  Asked<string, unknown, v.GenericSchema>,
][];

/** The schemas of the fields that callers cannot set. */
export const READ_ONLY: readonly (readonly [wire: string, shape: v.GenericSchema])[] = [...FIRST, ...LAST].map(
  ({ wire, shape }) => [wire, shape],
);

/** The schemas of all fields as they are shown. */
export const SHOWN = Object.fromEntries(ROWS.map(({ wire, shape }) => [wire, shape])) as {
  [Wire in Row["wire"]]: Of<Wire, "shape">;
};

export const anEndpoint = Object.fromEntries(ROWS.map(({ wire, example }) => [wire, example])) as {
  [Wire in Row["wire"]]: Of<Wire, "example">;
};

export function presentEndpoint(endpoint: Endpoint): Record<string, unknown> {
  return Object.fromEntries(ROWS.map(({ wire, show }) => [wire, show(endpoint)]));
}

/** An exact name must be in the catalogue. A pattern need not match anything yet. */
function chosenName(types: ReadonlyMap<string, EventType>) {
  return v.pipe(
    v.string(),
    v.rawCheck(({ dataset, addIssue }) => {
      if (!dataset.typed || types.has(dataset.value)) return;
      const { value } = dataset;
      const isPattern = value.includes("*");
      const fault = isPattern ? patternFault(value, types.keys()) : unknownType(value, types);
      if (fault !== null) addIssue({ message: `${isPattern ? "invalid_events" : "unknown_event_type"}: ${fault}` });
    }),
    v.metadata({
      get examples() {
        return ["*", ...types.keys()];
      },
    }),
  );
}

/** Null accepts every event. A change replaces the whole filter, because null is a value that a filter may test for. */
export function filter({ seesTags }: Pick<RegistrationRules, "seesTags">) {
  return v.pipe(
    v.nullable(anObject()),
    v.rawCheck(({ dataset, addIssue }) => {
      if (!dataset.typed || dataset.value === null) return;
      const { value } = dataset;
      const refuse = (pointer: string, detail: string) => {
        const path = pathOf(value, pointer);
        addIssue({ message: `invalid_filter: ${detail}`, ...(path.length > 0 && { path: path as [v.IssuePathItem] }) });
      };
      const read = parseFilter(value);
      if (!isFilter(read)) for (const { pointer, detail } of read) refuse(pointer, detail);
      else if (!seesTags && read.parts.has("tags")) refuse("", "tests tags, which this key cannot see");
    }),
    v.metadata({
      description: `Which events of those types are sent to it: a filter of at most ${FILTER_LIMITS.characters} characters of JSON, or null for all. A change replaces the whole filter.`,
    }),
  );
}

function pathOf(root: unknown, pointer: string): readonly v.IssuePathItem[] {
  let input = root;
  return pointer
    .split("/")
    .slice(1)
    .map((token) => {
      const key = token.replaceAll("~1", "/").replaceAll("~0", "~");
      const value = (input as Readonly<Record<string, unknown>>)[key];
      const item = { type: "object", origin: "value", input, key, value } as v.IssuePathItem;
      input = value;
      return item;
    });
}

function address({ urlPolicy, namesSettings }: RegistrationRules) {
  return v.pipe(
    described(
      v.string(),
      "A public https URL without credentials or a fragment, on port 443 or 8443 unless the daemon allows more.",
    ),
    v.metadata({ title: "EndpointUrl", format: "uri", maxLength: MAX_URL_BYTES }),
    v.rawTransform(({ dataset, addIssue, NEVER }) => {
      const checked = checkEndpointUrl(dataset.value, urlPolicy);
      if ("url" in checked) return checked.url;
      addIssue({ message: `${checked.code}: ${namesSettings ? wholeDetail(checked) : checked.detail}` });
      return NEVER;
    }),
  );
}
