/** Reads the configuration for a command that opens the data directory itself. */
import { loadConfig, type Config } from "../../src/config.ts";
import { Failure } from "../failure.ts";
import type { Io } from "../io.ts";
import type { ConfigFlags } from "../../src/config/inputs.ts";

export const DATA_DIR = {
  type: "string",
  valueHint: "DIR",
  description: "Data directory [where `serve` finds it]",
} as const;

export interface DirectoryArgs {
  readonly config: string | undefined;
  readonly "data-dir": string | undefined;
}

export function configOf(args: DirectoryArgs, io: Io): Config {
  const config = loadConfig(io.configInputs({ config: args.config, settings: directorySettings(args["data-dir"]) }));
  if (config.data.store === "") return config;
  throw new Failure(
    "refused",
    "[data] store names a PostgreSQL database, and this command works on the file of a data directory",
    "Back PostgreSQL up and restore it with its own tools: pg_basebackup, pg_dump.",
  );
}

export function directorySettings(dir: string | undefined): ConfigFlags["settings"] {
  return dir === undefined ? [] : [{ name: "data.dir", flag: "--data-dir", text: dir }];
}
