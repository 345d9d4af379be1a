import { isLive, nameOf, SETTINGS, writeSetting, type Settings } from "./schema.ts";

const WIDTH = 112;

const HEAD = `# webhookd. Every line shows its default. Flags win over WEBHOOKD_<SECTION>_<KEY> variables (lists with commas), those
# over this file. Unknown keys are errors. Durations: 100ms 30s 2m 1h. Sizes: 256KiB 64MiB. Relative paths start here.
`;

const TAIL = `
# Networks for the endpoints of some tenants alone, as many as you like. Re-read at SIGHUP.
# [[egress.tenant]]
# names = ["acme"]
# allow_cidrs = ["10.20.0.0/16"]

# More event types, as many as you like, each under its own [[event_types]]. An endpoint can be sent the sample as a test
# event; schema (JSON Schema 2020-12) is what data is held against with [events] validate.
# [[event_types]]
# name = "order.created"
# description = "An order was placed."
# sample = { order_id = "ord_1", total = "12.50" }
# schema = { type = "object", required = ["order_id"], properties = { order_id = { type = "string" } } }
`;

/** A whole configuration file, every key with its comment; with the defaults it is config.example.toml. */
export function renderConfig(settings: Settings): string {
  const lines = [HEAD.trimEnd()];
  let section = "";
  for (const setting of SETTINGS) {
    if (setting.section !== section) lines.push("", `[${(section = setting.section)}]`);
    const sentence = isLive(setting) ? `${setting.sentence} Re-read at SIGHUP.` : setting.sentence;
    lines.push(...comment(sentence), `${setting.key} = ${writeSetting(setting, settings[nameOf(setting)])}`);
  }
  return `${lines.join("\n")}\n${TAIL}`;
}

function comment(sentence: string): string[] {
  const lines: string[] = [];
  let line = "#";
  for (const word of sentence.split(" ")) {
    if (line.length + word.length > WIDTH) {
      lines.push(line);
      line = "#";
    }
    line += ` ${word}`;
  }
  return [...lines, line];
}
