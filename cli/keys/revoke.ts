import { CLIENT, command } from "../command.ts";
import { EXIT } from "../exit-code.ts";
import { Failure } from "../failure.ts";
import { note, say, sayJson } from "../output/print.ts";
import { connect } from "../target.ts";

export const keysRevoke = command({
  args: {
    key: { type: "positional", required: true, valueHint: "key_…", description: "Id of the key" },
    ...CLIENT,
  },
  examples: ["webhookd keys revoke key_01m7w8bx02jeyjr53r14y5rmma"],
  async run(args, io) {
    // An error that repeats a token would leak it into logs.
    if (!args.key.startsWith("key_")) {
      throw new Failure(
        "usage",
        "that is not the id of a key",
        "A key's id begins with key_; see `webhookd keys list`. Nothing was done.",
      );
    }
    const last = await connect(args, io).call("revokeKey", { id: args.key });
    if (last !== null) note(io, last.note);
    if (args.json) sayJson(io, { id: args.key, revoked: true });
    else say(io, `${args.key} is revoked: requests with it now get 401.`);
    return EXIT.ok;
  },
});
