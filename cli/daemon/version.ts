import { packed } from "../../src/packed.ts";
import { version } from "../../src/version.ts";
import type { Args } from "../commands.ts";
import { EXIT } from "../exit-code.ts";
import type { Io } from "../io.ts";
import { say, sayJson } from "../print.ts";

export async function run({ json }: Args<"version">, io: Io): Promise<number> {
  const { platform, arch, versions } = process;
  if (json) sayJson(io, { version, node: versions.node, platform, arch, packed });
  else say(io, `webhookd ${version}`);
  return EXIT.ok;
}
