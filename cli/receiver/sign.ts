import { signBody, signingKeys, signStandard } from "../../src/domain/signature.ts";
import type { Args } from "../commands.ts";
import { EXIT } from "../exit-code.ts";
import type { Io } from "../io.ts";
import { say, sayJson } from "../print.ts";
import { readBody, readSecrets, readStamp } from "./inputs.ts";

/** By the first secret of the file, as the daemon does during a rotation. */
export async function run(args: Args<"sign">, io: Io): Promise<number> {
  const [secret] = readSecrets(args["secret-file"]);
  const stamp = readStamp(args);
  const body = await readBody(args.body, io);
  const keys = signingKeys(secret!);
  const signature =
    stamp === null ? signBody(keys.specified, body) : signStandard(keys.standard, stamp.id, stamp.timestamp, body);
  if (args.json) sayJson(io, { signature });
  else say(io, signature);
  return EXIT.ok;
}
