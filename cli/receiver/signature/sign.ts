import { signingKey } from "../../../src/domain/endpoints/secret.ts";
import { command, JSON_FLAG } from "../../command.ts";
import { EXIT } from "../../exit-code.ts";
import { say, sayJson } from "../../output/print.ts";
import { BODY, SECRET_FILE, STAMP, readBody, readSecretsToSign, readStamp } from "./inputs.ts";

export const sign = command({
  args: { "secret-file": { ...SECRET_FILE, required: true }, body: BODY, ...STAMP, json: JSON_FLAG },
  examples: [
    "webhookd sign --secret-file secret.txt body.json",
    "webhookd sign --secret-file secret.txt --id evt_01m7w8bx02jeyjr53r14y5rmma --timestamp 1795168000 body.json",
  ],
  /** Signs with the first secret of the file, as the daemon does during a rotation. */
  async run(args, io) {
    const [secret] = readSecretsToSign(args["secret-file"]);
    const stamp = readStamp(args);
    const body = await readBody(args.body, io);
    const key = signingKey(secret!);
    const signature = stamp === null ? key.signBody(body) : key.signStandard(stamp.id, stamp.timestamp, body);
    if (args.json) sayJson(io, { signature });
    else say(io, signature);
    return EXIT.ok;
  },
});
