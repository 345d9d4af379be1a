import { packed, version } from "../../src/build.ts";
import { command, JSON_FLAG } from "../command.ts";
import { EXIT } from "../exit-code.ts";
import { say, sayJson } from "../output/print.ts";

export const versionCommand = command({
  args: { json: JSON_FLAG },
  examples: ["webhookd version --json"],
  async run({ json }, io) {
    const { platform, arch, versions } = process;
    if (json) sayJson(io, { version, node: versions.node, platform, arch, packed });
    else say(io, `webhookd ${version}`);
    return EXIT.ok;
  },
});
