/** Reads the arguments of the project's scripts. `--help` prints the usage, and so does an invalid call. */
import { parseArgs, type ParseArgsOptionsConfig } from "node:util";

type Parsed<Options extends ParseArgsOptionsConfig> = ReturnType<
  typeof parseArgs<{ options: Options; allowPositionals: true }>
>;

/** `usage` begins with the call as it is typed. Ends the process with 64 if an argument is not among the options. */
export function scriptArguments<Options extends ParseArgsOptionsConfig>(
  usage: string,
  options: Options,
  takesNames = false,
): Parsed<Options> & { readonly refuse: (reason: string) => never } {
  const refuse = (reason: string): never => {
    console.error(`${reason}\n\n${usage}`);
    process.exit(64);
  };
  if (process.argv.slice(2).some((argument) => argument === "--help" || argument === "-h")) {
    console.log(usage);
    process.exit(0);
  }
  try {
    const parsed = parseArgs({ options, allowPositionals: true });
    if (!takesNames && parsed.positionals.length > 0) refuse(`"${parsed.positionals[0]}" is not an option.`);
    return { ...parsed, refuse };
  } catch (error) {
    // Node's message goes on about names that begin with a dash, which no script here takes.
    return refuse((error as Error).message.split(". ")[0]!.replace(/\.?$/u, "."));
  }
}
