/** What a script of the project was called with: `--help` says how to call it, and so does a call that it cannot read. */
import { parseArgs, type ParseArgsOptionsConfig } from "node:util";

type Parsed<Options extends ParseArgsOptionsConfig> = ReturnType<
  typeof parseArgs<{ options: Options; allowPositionals: true }>
>;

/** `usage` begins with the call, as one types it. Ends the process with 64 if the arguments are not among the options. */
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
    // Node adds how to pass a name that begins with a dash, which no script here takes.
    return refuse((error as Error).message.split(". ")[0]!.replace(/\.?$/u, "."));
  }
}
