import type { Args } from "../commands.ts";
import { EXIT } from "../exit-code.ts";
import { Failure } from "../failure.ts";
import { keepingIn } from "../files.ts";
import type { Io } from "../io.ts";
import { note, say, sayJson } from "../print.ts";
import { connect } from "../target.ts";
import { readId } from "../values.ts";

/** The secret alone goes to stdout, so that it can be handed on. */
export async function run(args: Args<"endpoints secret">, io: Io): Promise<number> {
  const id = readId("ep", args.endpoint);
  const file = args["secret-file"];
  const client = connect(args, io);
  const make = async () => {
    const secrets = await client.call("getSecret", { id });
    const secret = args.next ? secrets.next_signing_secret : secrets.signing_secret;
    if (secret !== undefined) return { secrets, secret };
    const hint = `To begin a rotation: webhookd endpoints rotate-secret ${id}`;
    throw new Failure(
      "conflict",
      `no rotation of ${id} is under way, so there is no next secret`,
      hint,
      "not_rotating",
    );
  };
  const { secrets, secret } = await keepingIn(file, { make, secret: ({ secret }) => secret });
  if (args.json) sayJson(io, file === undefined ? secrets : { id, file });
  else if (file === undefined) say(io, secret);
  else say(io, `The secret of ${id} is in ${file}.`);
  if (!args.json && !args.next && secrets.switches_at !== undefined) {
    note(io, `Another one takes over at ${secrets.switches_at}: add --next to see it.`);
  }
  return EXIT.ok;
}
