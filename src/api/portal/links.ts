/**
 * Portal links open a page for a customer, with a key that expires after minutes or hours. The key is in the link's
 * fragment, which browsers never send. As with any key, the pipeline decides what it may do.
 */
import * as v from "valibot";
import { WebhookdError } from "../../domain/errors.ts";
import { idPattern, isTenant, EVERY_TENANT } from "../../domain/id.ts";
import { PORTAL_SCOPES, type PortalScope } from "../../domain/caller.ts";
import { isOwnTenant, newTenantFault } from "../../domain/tenant.ts";
import { formatInstant, formatInstantOrNull } from "../../domain/time/instant.ts";
import { createdBefore, newToken } from "../daemon/keys.ts";
import type { ApiParts } from "../parts.ts";
import { allows, namedTenant, oneTenant, type Principal, TenantParameter, tenantToWrite } from "../pipeline/access.ts";
import { readJson, validationFailed } from "../pipeline/body.ts";
import { LinkRate } from "../pipeline/limits.ts";
import { json, type Reply } from "../pipeline/reply.ts";
import type { Call, Operation, Route } from "../pipeline/route.ts";
import { Count, described, id, Instant, titled } from "../pipeline/shapes.ts";

const HOUR_SECONDS = 3600;
const MAX_ENDPOINTS = 50;
const MAX_URL = 2048;

const Can = v.picklist(PORTAL_SCOPES);

export const PortalLinkDraft = titled(
  "PortalLinkDraft",
  v.strictObject({
    tenant: v.optional(
      v.pipe(
        described(
          v.string(),
          "Whose endpoints the page shows, or `*` for every tenant. By default the tenant of the calling key, or `default`.",
        ),
        v.check((name) => name === EVERY_TENANT || isTenant(name), "forbidden_char: must be a tenant's name or *"),
      ),
    ),
    new_tenant: v.optional(
      described(
        v.boolean(),
        "Also make the link if the tenant has had no endpoint, no event and no key of its own so far, as a new customer has not. Otherwise such a name is taken for a typing error.",
      ),
      false,
    ),
    expires_in: v.optional(
      described(
        v.pipe(
          v.number(),
          v.integer("invalid_type: must be a whole number"),
          v.minValue(1),
          v.maxValue(24 * HOUR_SECONDS),
        ),
        "Seconds. The link never outlives the key that asks for it.",
      ),
      HOUR_SECONDS,
    ),
    endpoints: v.optional(
      v.nullable(
        described(
          v.pipe(
            v.array(v.pipe(v.string(), v.metadata({ pattern: idPattern("ep").source }))),
            v.minLength(1, "too_few: must name at least one endpoint"),
            v.maxLength(MAX_ENDPOINTS, `too_long: must name at most ${MAX_ENDPOINTS} endpoints`),
            v.check((ids) => new Set(ids).size === ids.length, "invalid_type: must name each endpoint once"),
          ),
          "Only these endpoints, by id. By default, all endpoints of the tenant.",
        ),
      ),
      null,
    ),
    can: v.optional(
      described(
        v.array(Can),
        "`read` is always included. `replay` also allows test events and attempts; `manage` includes `replay` and allows changes to endpoints; `secrets` allows viewing and rotating signing secrets, and setting headers.",
      ),
      [],
    ),
    return_url: v.optional(
      v.nullable(
        described(
          v.pipe(
            v.string(),
            v.maxLength(MAX_URL, `too_long: must be at most ${MAX_URL} characters`),
            v.check(isWebAddress, "invalid_syntax: must be an http or https URL without a user or a password"),
          ),
          "The URL that the page links back to.",
        ),
      ),
      null,
    ),
  }),
);

const RESTRICTED = described(
  v.nullable(v.array(id("ep"))),
  "The endpoints that it is limited to; null means all endpoints of the tenant.",
);
const Ability = described(v.array(Can), "What the link may do, including what each scope includes.");
const ReturnUrl = v.nullable(v.string());

export const PortalLink = titled(
  "PortalLink",
  v.object({
    url: described(v.string(), "The link with its key: shown here and never again."),
    key_id: described(id("key"), "`DELETE /v1/keys/{id}` ends the link."),
    tenant: v.string(),
    can: Ability,
    endpoints: RESTRICTED,
    expires_at: Instant,
    return_url: ReturnUrl,
  }),
);

export const Portal = titled(
  "Portal",
  v.object({
    tenant: described(v.string(), "A tenant's name, or `*` for every tenant."),
    can: Ability,
    endpoints: RESTRICTED,
    expires_at: described(v.nullable(Instant), "When the key expires; null if it does not."),
    return_url: ReturnUrl,
    name: described(v.string(), "`[portal] name`."),
    logo_url: described(v.nullable(v.string()), "`[portal] logo_url`."),
    colors: v.object({
      accent: described(v.nullable(v.string()), "`[portal] accent`, as `#rrggbb`."),
      header: described(v.nullable(v.string()), "`[portal] header_color`, as `#rrggbb`."),
    }),
    radius: described(Count, "`[portal] radius`, in pixels."),
    font: described(v.nullable(v.string()), "`[portal] font`."),
    font_url: described(v.nullable(v.string()), "`[portal] font_url`."),
    footer: described(v.string(), "`[portal] footer`."),
    terms_url: described(v.nullable(v.string()), "`[portal] terms_url`."),
    help_url: described(v.nullable(v.string()), "`[portal] help_url`."),
    retry_schedule: described(
      v.array(Count),
      "The wait between each failure and the next attempt, in seconds: one number for each retry.",
    ),
    signature_header: described(v.string(), "`[signature] header`: the header that receivers verify."),
    standard_webhooks: described(v.boolean(), "`[signature] standard_webhooks`: `webhook-signature` is sent too."),
    held_seconds: described(Count, "How long deliveries of a disabled endpoint are held before they fail."),
  }),
);

const aKeyId = "key_06fbqxv0d8r2s4t6v8w0x2y4z6";
const anAbility = ["read", "replay"] as const;
const aLink = {
  url: `https://hooks.example.com/portal#whk_${aKeyId.slice(4)}_${"x".repeat(52)}`,
  key_id: aKeyId,
  tenant: "acme",
  can: anAbility,
  endpoints: null,
  expires_at: "2026-11-20T10:55:00.000Z",
  return_url: "https://app.example.com/settings",
};

export const createPortalLink: Operation = {
  id: "createPortalLink",
  tag: "Keys",
  summary: "Create a link to the portal",
  description:
    "The link opens a page where a customer sees and manages the endpoints of one tenant. It holds a key that expires. " +
    "You can grant only what your own key may do; if that key is revoked, its links stop working too.",
  example: { tenant: aLink.tenant, expires_in: HOUR_SECONDS, can: ["replay"], return_url: aLink.return_url },
  replies: { 201: { description: "The link was created.", schema: PortalLink, example: aLink } },
  problems: ["already_created"],
};

export const getPortal: Operation = {
  id: "getPortal",
  tag: "Keys",
  summary: "Get what the portal shows to this key",
  description: "The page asks this first: what the key may do, when it expires, and how the page looks.",
  replies: {
    200: {
      description: "What the key may do, and what the page looks like.",
      schema: Portal,
      example: {
        tenant: aLink.tenant,
        can: anAbility,
        endpoints: null,
        expires_at: aLink.expires_at,
        return_url: aLink.return_url,
        name: "Northwind",
        logo_url: null,
        colors: { accent: "#2563eb", header: null },
        radius: 10,
        font: null,
        font_url: null,
        footer: "",
        terms_url: null,
        help_url: "https://northwind.example/help",
        retry_schedule: [30, 120, 600, 3600, 21_600, 86_400],
        signature_header: "X-Service-Signature",
        standard_webhooks: true,
        held_seconds: 604_800,
      },
    },
  },
};

export function portalLinkRoutes(parts: ApiParts): Route[] {
  const rate = new LinkRate(parts.config.limits.portalLinksPerHour);
  return [
    {
      method: "POST",
      path: "/v1/portal-links",
      access: "any",
      query: [TenantParameter],
      body: { maxBytes: 64 * 1024, schema: PortalLinkDraft },
      audit: "portal_link.create",
      growth: { grows: 600, kept: "an hour after it expires; [retention] audit" },
      operation: createPortalLink,
      again: createdBefore,
      handle: (call) => create(parts, rate, call),
    },
    {
      method: "GET",
      path: "/v1/portal",
      access: "any",
      reach: "all",
      operation: getPortal,
      handle: (call) => show(parts, call),
    },
  ];
}

async function create(parts: ApiParts, rate: LinkRate, call: Call): Promise<Reply> {
  const { store, random, config, clock } = parts;
  const { principal, query, body, now, request } = call;
  if (principal.isPortal) throw new WebhookdError("forbidden", "the key of a portal link cannot create another link");
  const given = readJson(body, PortalLinkDraft);
  const tenant = tenantToWrite(principal, oneTenant(namedTenant(query), given.tenant, "/tenant"));
  if (!given.new_tenant) await requireTenant(parts, principal, tenant);
  const scopes = PORTAL_SCOPES.filter((scope) => scope === "read" || given.can.includes(scope));
  const missing = scopes.find((scope) => !allows(principal, scope));
  if (missing !== undefined) {
    throw new WebhookdError("forbidden", `this key lacks the scope "${missing}", so none of its links can have it`);
  }
  const { endpoints } = given;
  await requireEndpoints(parts, tenant, endpoints ?? []);
  const maker = principal.keyId === null ? null : await store.keys.get(principal.keyId);
  const expiresAt = Math.min(now + given.expires_in * 1000, maker?.expiresAt ?? Number.POSITIVE_INFINITY);
  const returnUrl = given.return_url && new URL(given.return_url).href;
  rate.take(principal.account, clock.monotonic());
  const { id: keyId, token, hash } = newToken(random, now);
  const portal = { endpoints, returnUrl, madeBy: principal.keyId };
  const key = { id: keyId, name: "portal link", hash, scopes, tenant, expiresAt, portal };
  call.isAbout(keyId);
  await store.keys.add(key, now, request && { ...request, answer: () => keyId }, config.limits.portalLinks);
  return json(201, {
    url: `${originFor(parts, call)}/portal#${token}`,
    key_id: keyId,
    tenant,
    can: abilityOf({ ...principal, scopes }),
    endpoints,
    expires_at: formatInstant(expiresAt),
    return_url: returnUrl,
  });
}

async function show({ store, config, portal }: ApiParts, { principal }: Call): Promise<Reply> {
  const look = portal();
  const key = principal.keyId === null ? null : await store.keys.get(principal.keyId);
  return json(200, {
    tenant: principal.tenant,
    can: abilityOf(principal),
    endpoints: principal.endpoints,
    expires_at: formatInstantOrNull(key?.expiresAt ?? null),
    return_url: key?.portal?.returnUrl ?? null,
    name: look.name,
    logo_url: look.logoUrl || null,
    colors: { accent: look.accent || null, header: look.headerColor || null },
    radius: look.radius,
    font: look.font || null,
    font_url: look.fontUrl || null,
    footer: look.footer,
    terms_url: look.termsUrl || null,
    help_url: look.helpUrl || null,
    retry_schedule: config.retry.delays.map((delay) => delay / 1000),
    signature_header: config.signature.header,
    standard_webhooks: config.signature.standardWebhooks,
    held_seconds: config.retention.held / 1000,
  });
}

function abilityOf(principal: Principal): PortalScope[] {
  return PORTAL_SCOPES.filter((scope) => allows(principal, scope));
}

/** The number of tenants among which a mistyped one is looked for. */
const MOST_COMPARED = 100;

/** A link to a mistyped tenant would open an empty page. Throws `validation_failed`. */
async function requireTenant({ store, shares, clock }: ApiParts, principal: Principal, tenant: string): Promise<void> {
  if (isOwnTenant(tenant, principal.tenant) || shares.has(tenant)) return;
  if ((await store.reads.unknownName(null, { tenant })) === null) return;
  const asked = { tenant: null, limit: MOST_COMPARED, order: "oldest", since: clock.now() } as const;
  const { data } = await store.reads.listTenants(asked);
  const known = data.map(({ name }) => name);
  throw validationFailed([{ pointer: "/tenant", code: "unknown_tenant", detail: newTenantFault(tenant, known) }]);
}

/** Throws `validation_failed` if one of the endpoints does not exist or belongs to another tenant. */
async function requireEndpoints({ store }: ApiParts, tenant: string, endpoints: readonly string[]): Promise<void> {
  if (tenant === EVERY_TENANT && endpoints.length > 0) {
    const detail = "cannot be combined with the tenant *: name the tenant that they belong to";
    throw validationFailed([{ pointer: "/endpoints", code: "conflicting_fields", detail }]);
  }
  const found = await Promise.all(endpoints.map((each) => store.endpoints.get(tenant, each)));
  const at = found.indexOf(null);
  if (at < 0) return;
  const detail = "is not an endpoint of this tenant";
  throw validationFailed([{ pointer: `/endpoints/${at}`, code: "unknown_endpoint", detail }]);
}

/**
 * Returns the origin at which browsers reach this daemon: the configured one, else the caller's, else the one that it
 * listens on.
 */
function originFor({ portal }: ApiParts, call: Call): string {
  const { url, listening } = portal();
  return url === "" ? (call.origin() ?? listening) : url;
}

function isWebAddress(text: string): boolean {
  const url = URL.parse(text);
  return url !== null && /^https?:$/.test(url.protocol) && url.username === "" && url.password === "";
}
