import { loadConfig, type Config } from "../../src/config.ts";
import {
  holdsSecret,
  nameOf,
  SETTINGS,
  writeSetting,
  type Setting,
  type SettingName,
  type Settings,
} from "../../src/config/schema.ts";
import { loadSettings } from "../../src/config/settings.ts";
import { printable } from "../../src/domain/printable.ts";
import { command, CONFIG, JSON_FLAG } from "../command.ts";
import { EXIT } from "../exit-code.ts";
import { say, sayJson } from "../output/print.ts";

export const configShow = command({
  args: {
    origin: { type: "boolean", description: "Show where each value comes from" },
    config: CONFIG,
    json: JSON_FLAG,
  },
  examples: ["webhookd config show", "webhookd config show --origin"],
  /** TOML again, so that a part of it can be pasted into a file. */
  async run(args, io) {
    const inputs = io.configInputs({ config: args.config });
    const values = effective(loadConfig(inputs));
    const { file, origins } = loadSettings(inputs);
    const shown = SETTINGS.map((setting) => {
      const name = nameOf(setting);
      return { setting, name, text: textOf(setting, values[name]), origin: origins.get(name)?.() ?? "default" };
    });
    if (args.json) {
      const settings = shown.map(({ name, text, origin }) => [name, { value: JSON.parse(text) as unknown, origin }]);
      sayJson(io, { file, settings: Object.fromEntries(settings) });
      return EXIT.ok;
    }
    say(io, `# ${file ?? "no configuration file"}`);
    const width = Math.max(...shown.map(({ setting, text }) => `${setting.key} = ${text}`.length));
    let section = "";
    for (const { setting, text, origin } of shown) {
      if (setting.section !== section) io.stdout.write(`\n[${(section = setting.section)}]\n`);
      const line = printable(`${setting.key} = ${text}`);
      io.stdout.write(args.origin ? `${line.padEnd(Math.min(width, 48))}  # ${printable(origin)}\n` : `${line}\n`);
    }
    return EXIT.ok;
  },
});

/** With the places that are chosen where a setting is empty. */
function effective({ settings, server, data, backup }: Config): Settings {
  return {
    ...settings,
    "server.socket": server.socket,
    "data.dir": data.dir,
    "data.secret_key_file": data.secretKeyFile,
    "backup.dir": backup.dir,
  };
}

/** Every kind is written in a way that is JSON, too. */
function textOf(setting: Setting, value: Settings[SettingName]): string {
  return writeSetting(setting, holdsSecret(setting) ? masked(value as string) : value);
}

/** An address where path or query may be what gives access. */
function masked(text: string): string {
  const url = URL.parse(text);
  if (text === "" || url === null) return text === "" ? "" : "…";
  return `${url.origin}/…`;
}
