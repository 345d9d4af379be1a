import { CLIENT, command } from "../command.ts";
import { EXIT } from "../exit-code.ts";
import { say, sayJson } from "../output/print.ts";
import { connect } from "../target.ts";
import { queryOf, TENANT } from "./text.ts";

export const signingKeysPublish = command({
  args: {
    tenant: TENANT,
    stop: { type: "boolean", description: "Publish them no more" },
    ...CLIENT,
  },
  examples: ["webhookd signing-keys publish --tenant acme", "webhookd signing-keys publish --tenant acme --stop"],
  async run(args, io) {
    const body = { published: !args.stop };
    const keys = await connect(args, io).call("changeSigningKeys", { ...queryOf(args), body });
    if (args.json) sayJson(io, keys);
    else if (args.stop) say(io, "The public keys are no longer published; caches may have them for five minutes.");
    else say(io, `Anyone can read the public keys now: /v1/webhooks/keys/jwks.json?tenant=${args.tenant ?? "default"}`);
    return EXIT.ok;
  },
});
