import { parseDuration } from "../../src/config/units.ts";
import { nearest } from "../../src/domain/nearest.ts";
import { SCOPES, type Scope } from "../../src/domain/caller.ts";
import { CLIENT, command } from "../command.ts";
import { EXIT } from "../exit-code.ts";
import { usage } from "../failure.ts";
import { keepingIn } from "../files.ts";
import { note, say, sayJson } from "../output/print.ts";
import { connect } from "../target.ts";

export const keysCreate = command({
  args: {
    name: { type: "string", required: true, valueHint: "NAME", description: "What the key is for" },
    scope: {
      type: "string",
      required: true,
      valueHint: "SCOPE,…",
      description: SCOPES.join(", "),
    },
    tenant: { type: "string", default: "default", valueHint: "TENANT", description: "One tenant, or * for all" },
    out: {
      type: "string",
      valueHint: "FILE",
      description: "Write the key to this new file that only you can read, instead of printing it",
    },
    expires: { type: "string", valueHint: "DURATION", description: "How long it is valid, such as 30d" },
    ...CLIENT,
  },
  examples: [
    "webhookd keys create --name billing --scope publish,read",
    "webhookd keys create --name ci --scope publish --expires 30d --out ci.key",
    "webhookd keys create --name portal --scope read --tenant acme --expires 2h --json",
  ],
  /** Prints only the token on stdout, or the name of the file with the token. Everything else goes to stderr. */
  async run(args, io) {
    const scopes = readScopes(args.scope);
    const expires = args.expires === undefined ? {} : { expires_at: readExpiry(args.expires, io.now()) };
    const body = { name: args.name, scopes, tenant: args.tenant, ...expires };
    const client = connect(args, io);
    const make = () => client.call("createKey", { body });
    const created = await keepingIn(args.out, { make, secret: ({ key }) => key });
    const { key, ...rest } = created;
    if (args.json) {
      sayJson(io, args.out === undefined ? created : { ...rest, file: args.out });
      return EXIT.ok;
    }
    const until = rest.expires_at === null ? "" : `, until ${rest.expires_at}`;
    note(io, `${rest.id} ${rest.name}: ${rest.scopes.join(", ")} for tenant ${rest.tenant}${until}`);
    if (args.out === undefined) note(io, "This is the key. It is shown only once, so store it now.");
    say(io, args.out ?? key);
    return EXIT.ok;
  },
});

function readScopes(text: string): Scope[] {
  return text.split(",").map((given) => {
    const scope = SCOPES.find((known) => known === given.trim());
    if (scope !== undefined) return scope;
    const near = nearest(given, SCOPES);
    const hint = near === null ? `The scopes are ${SCOPES.join(", ")}.` : `Did you mean ${near}?`;
    throw usage(`there is no scope "${given}"`, hint);
  });
}

function readExpiry(text: string, now: number): string {
  const duration = parseDuration(text);
  const instant = new Date(now + (duration ?? 0));
  // Years after this one have more than four digits.
  if (duration !== null && duration > 0 && instant.getTime() < Date.UTC(9999, 0)) return instant.toISOString();
  throw usage(`--expires must be a duration such as 30d or 2h, not "${text}"`);
}
