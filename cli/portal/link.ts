import { nearest } from "../../src/domain/nearest.ts";
import { parseDuration } from "../../src/config/units.ts";
import { PORTAL_SCOPES, type PortalScope } from "../../src/domain/caller.ts";
import { CLIENT, command } from "../command.ts";
import { EXIT } from "../exit-code.ts";
import { usage } from "../failure.ts";
import { note, say, sayJson } from "../output/print.ts";
import { connect } from "../target.ts";

export const portalLink = command({
  args: {
    tenant: {
      type: "positional",
      required: true,
      valueHint: "TENANT",
      description: "Tenant whose endpoints the page shows, or * for all",
    },
    can: {
      type: "string",
      default: "manage,secrets",
      valueHint: "ABILITY,…",
      description: `What it allows besides viewing: ${PORTAL_SCOPES.join(", ")}`,
    },
    expires: {
      type: "string",
      default: "1h",
      valueHint: "DURATION",
      description: "How long it works, up to 24h",
    },
    endpoint: {
      type: "string",
      multiple: true,
      valueHint: "ep_…",
      description: "Only for this endpoint; may be given several times",
    },
    "new-tenant": { type: "boolean", description: "Allow a tenant that has had nothing so far, for a new customer" },
    "return-url": { type: "string", valueHint: "URL", description: "Where the page's back link leads" },
    ...CLIENT,
  },
  examples: [
    "webhookd portal link acme",
    "webhookd portal link initech --new-tenant",
    "webhookd portal link acme --can replay --expires 15m --endpoint ep_06fbqxvx8r4m8q2v6ng0c3kz7t",
    "webhookd portal link '*' --json",
  ],
  /** Prints only the link on stdout. Whoever has the link can open the page. */
  async run(args, io) {
    const body = {
      tenant: args.tenant,
      can: readAbilities(args.can),
      expires_in: readSeconds(args.expires),
      ...(args.endpoint.length > 0 && { endpoints: args.endpoint }),
      ...(args["new-tenant"] && { new_tenant: true }),
      ...(args["return-url"] !== undefined && { return_url: args["return-url"] }),
    };
    const made = await connect(args, io).call("createPortalLink", { body });
    if (args.json) {
      sayJson(io, made);
      return EXIT.ok;
    }
    note(io, `${made.key_id}: ${made.can.join(", ")} for tenant ${made.tenant}, until ${made.expires_at}`);
    note(io, `Anyone who has this link can open it. To end it sooner: webhookd keys revoke ${made.key_id}`);
    say(io, made.url);
    return EXIT.ok;
  },
});

function readAbilities(text: string): PortalScope[] {
  return text.split(",").map((given) => {
    const scope = PORTAL_SCOPES.find((known) => known === given.trim());
    if (scope !== undefined) return scope;
    const near = nearest(given, PORTAL_SCOPES);
    const hint = near === null ? `It can be ${PORTAL_SCOPES.join(", ")}.` : `Did you mean ${near}?`;
    throw usage(`--can does not take "${given}"`, hint);
  });
}

function readSeconds(text: string): number {
  const duration = parseDuration(text);
  const seconds = Math.floor((duration ?? 0) / 1000);
  if (seconds >= 1 && seconds <= 86_400) return seconds;
  throw usage(`--expires must be a duration from 1s to 24h, not "${text}"`);
}
