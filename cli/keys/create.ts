import { parseDuration } from "../../src/config/units.ts";
import { nearest } from "../../src/config/nearest.ts";
import { SCOPES, type Scope } from "../../src/domain/key.ts";
import type { Args } from "../commands.ts";
import { EXIT } from "../exit-code.ts";
import { usage } from "../failure.ts";
import type { Io } from "../io.ts";
import { note, say, sayJson } from "../print.ts";
import { connect } from "../target.ts";

/** The token alone goes to stdout, so that it can be sent into a file; the talk goes to stderr. */
export async function run(args: Args<"keys create">, io: Io): Promise<number> {
  const scopes = readScopes(args.scope);
  const expires = args.expires === undefined ? {} : { expires_at: readExpiry(args.expires, io.now()) };
  const body = { name: args.name, scopes, tenant: args.tenant, ...expires };
  const key = await connect(args, io).call("createKey", { body });
  if (args.json) {
    sayJson(io, key);
    return EXIT.ok;
  }
  const until = key.expires_at === null ? "" : `, until ${key.expires_at}`;
  note(io, `${key.id} ${key.name}: ${key.scopes.join(", ")} for tenant ${key.tenant}${until}`);
  note(io, "This is the key. It is shown once; store it now.");
  say(io, key.key);
  return EXIT.ok;
}

function readScopes(text: string): Scope[] {
  return text.split(",").map((given) => {
    const scope = SCOPES.find((known) => known === given.trim());
    if (scope !== undefined) return scope;
    const near = nearest(given, SCOPES);
    const hint = near === null ? `Scopes are ${SCOPES.join(", ")}.` : `Did you mean ${near}?`;
    throw usage(`there is no scope "${given}"`, hint);
  });
}

function readExpiry(text: string, now: number): string {
  const duration = parseDuration(text);
  const instant = new Date(now + (duration ?? 0));
  // The last year that four digits can say.
  if (duration !== null && duration > 0 && instant.getTime() < Date.UTC(9999, 0)) return instant.toISOString();
  throw usage(`--expires ${text} is no duration such as 30d or 2h`);
}
