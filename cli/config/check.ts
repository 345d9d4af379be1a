import { departures, exposures, readConfig } from "../../src/config.ts";
import { ConfigError, type Mistake } from "../../src/config/mistake.ts";
import { loadSettings } from "../../src/config/settings.ts";
import { command, JSON_FLAG } from "../command.ts";
import { EXIT } from "../exit-code.ts";
import { say, sayJson } from "../output/print.ts";

export const configCheck = command({
  args: {
    file: {
      type: "positional",
      valueHint: "FILE",
      description: "File to check instead of the one that serve would read",
    },
    json: JSON_FLAG,
  },
  examples: ["webhookd config check", "webhookd config check /etc/webhookd/webhookd.toml --json"],
  /** Checks the configuration exactly as `serve` would read it. An unusable file is a result, not an error. */
  async run(args, io) {
    const inputs = io.configInputs({ config: args.file });
    try {
      const { config, ...read } = readConfig(inputs);
      const { refusals } = await import("../../src/daemon/reloaded.ts");
      const mistakes = [...read.mistakes, ...(await refusals({ config, ...read }))];
      if (mistakes.length > 0) throw new ConfigError(mistakes);
      const notes = [...departures(config), ...exposures(config)];
      const { file, origins } = loadSettings(inputs);
      const variables = [...origins.values()].map((where) => where()).filter((where) => where.startsWith("WEBHOOKD_"));
      if (args.json) sayJson(io, { ok: true, file, variables, notes, mistakes: [] });
      else {
        say(io, `ok  ${file ?? "no file; every setting not named below is at its default"}`);
        if (variables.length > 0) say(io, `    ${variables.join(", ")} set in the environment`);
        for (const note of notes) say(io, `    ${note}`);
      }
      return EXIT.ok;
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error;
      if (args.json) sayJson(io, { ok: false, mistakes: error.mistakes });
      else for (const mistake of error.mistakes) for (const line of linesOf(mistake)) say(io, line);
      return EXIT.answer_is_no;
    }
  },
});

function linesOf({ where, what, why, todo }: Mistake): string[] {
  return [`${where}: ${what}`, ...[why, todo].filter((line) => line !== undefined).map((line) => `  ${line}`)];
}
