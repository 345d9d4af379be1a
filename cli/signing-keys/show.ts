import { CLIENT, command } from "../command.ts";
import { EXIT } from "../exit-code.ts";
import { sayFields, sayJson } from "../output/print.ts";
import { connect } from "../target.ts";
import { fieldsOf, queryOf, TENANT } from "./text.ts";

export const signingKeysShow = command({
  args: { tenant: TENANT, ...CLIENT },
  examples: ["webhookd signing-keys show --tenant acme"],
  async run(args, io) {
    const keys = await connect(args, io).call("getSigningKeys", queryOf(args));
    if (args.json) sayJson(io, keys);
    else sayFields(io, fieldsOf(keys));
    return EXIT.ok;
  },
});
