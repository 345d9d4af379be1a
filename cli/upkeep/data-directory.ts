/** The configuration of a command that opens the data directory itself. */
import { loadConfig, type Config } from "../../src/config.ts";
import type { Io } from "../io.ts";

export interface DirectoryArgs {
  readonly config: string | undefined;
  readonly "data-dir": string | undefined;
}

export function configOf(args: DirectoryArgs, io: Io): Config {
  const dir = args["data-dir"];
  const settings = dir === undefined ? [] : ([{ name: "data.dir", flag: "--data-dir", text: dir }] as const);
  return loadConfig(io.configInputs({ config: args.config, settings }));
}
