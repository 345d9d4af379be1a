import { CLIENT, command, TENANT } from "../command.ts";
import { EXIT } from "../exit-code.ts";
import { keepingIn } from "../files.ts";
import { note, say, sayJson } from "../output/print.ts";
import { connect } from "../target.ts";
import { readBrought, SECRET_FILE, SECRET_FROM } from "./brought-secret.ts";
import { noteLines, readTypes, suggesting } from "./event-types.ts";
import { readSettings, SETTINGS } from "./settings.ts";

export const endpointsAdd = command({
  args: {
    to: {
      type: "positional",
      required: true,
      valueHint: "URL",
      description: "Where to send its events: a public https URL",
    },
    events: {
      type: "string",
      required: true,
      valueHint: "TYPE,…",
      description: "Event types or patterns, or all: every type of today, by name",
    },
    ...SETTINGS,
    disabled: { type: "boolean", description: "Send nothing until it is enabled" },
    tenant: { ...TENANT, description: "Tenant whose events it receives [default]" },
    "secret-file": SECRET_FILE,
    "secret-from": SECRET_FROM,
    ...CLIENT,
  },
  examples: [
    "webhookd endpoints add https://example.com/hook --events budget.exceeded,goal.achieved",
    "webhookd endpoints add https://example.com/hook --events 'budget.*' --secret-file secret.txt",
  ],
  /** Prints only the secret on stdout, or the id if the secret is already known or goes into a file. */
  async run(args, io) {
    const settings = await readSettings(args, io);
    const brought = await readBrought(args, io);
    const file = args["secret-file"];
    const client = connect(args, io);
    const events = await readTypes(args.events, client);
    const secretOf = brought !== undefined && { secret: brought };
    const body = { url: args.to, events, ...settings, ...secretOf, enabled: !args.disabled };
    const register = () => client.call("registerEndpoint", { query: { tenant: args.tenant }, body });
    const make = () => suggesting(events, client, register);
    const endpoint = await keepingIn(file, { make, secret: ({ signing_secret }) => signing_secret });
    const { signing_secret: secret, ...rest } = endpoint;
    const isShown = file === undefined && brought === undefined;
    if (args.json) {
      sayJson(io, isShown ? endpoint : rest);
      return EXIT.ok;
    }
    note(io, `${rest.id} added: ${rest.url}`);
    note(io, `  types  ${rest.events.join(", ")}`);
    for (const line of await noteLines(rest.events, client)) note(io, `         ${line}`);
    if (file !== undefined) note(io, `  secret in ${file}`);
    note(io, `  next   webhookd endpoints test ${rest.id}`);
    if (isShown) note(io, `This is the signing secret. To print it again: webhookd endpoints secret ${rest.id}`);
    say(io, isShown ? secret : rest.id);
    return EXIT.ok;
  },
});
