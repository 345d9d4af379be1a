import { CLIENT, command } from "../command.ts";
import { SECRET_FILE } from "./brought-secret.ts";
import { ENDPOINT, findEndpoint } from "./find.ts";
import { EXIT } from "../exit-code.ts";
import { Failure } from "../failure.ts";
import { keepingIn } from "../files.ts";
import { note, say, sayJson } from "../output/print.ts";
import { connect } from "../target.ts";

export const endpointsSecret = command({
  args: {
    endpoint: ENDPOINT,
    next: { type: "boolean", description: "During a rotation: print the next secret" },
    "secret-file": SECRET_FILE,
    ...CLIENT,
  },
  examples: [
    "webhookd endpoints secret ep_01m7w8bx02jeyjr53r14y5rmma",
    "webhookd endpoints secret ep_01m7w8bx02jeyjr53r14y5rmma --secret-file secret.txt",
  ],
  /** Prints only the secret on stdout, so that it can be piped. */
  async run(args, io) {
    const file = args["secret-file"];
    const client = connect(args, io);
    const id = await findEndpoint(args.endpoint, client);
    const make = async () => {
      const secrets = await client.call("getSecret", { id });
      const secret = args.next ? secrets.next_signing_secret : secrets.signing_secret;
      if (secret !== undefined) return { secrets, secret };
      const what = `no rotation of ${id} is in progress, so there is no next secret`;
      throw new Failure("conflict", what, undefined, "not_rotating");
    };
    const { secrets, secret } = await keepingIn(file, { make, secret: ({ secret }) => secret });
    if (args.json) sayJson(io, file === undefined ? secrets : { id, file });
    else if (file === undefined) say(io, secret);
    else say(io, `The ${args.next ? "next " : ""}secret of ${id} is in ${file}.`);
    if (!args.json && !args.next && secrets.switches_at !== undefined) {
      note(io, `The next secret takes over at ${secrets.switches_at}. To see it, add --next.`);
    }
    return EXIT.ok;
  },
});
