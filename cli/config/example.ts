import { fileKeyOf, isLive, nameOf, SETTINGS, writeSetting, type Settings } from "../../src/config/schema.ts";

const WIDTH = 112;

const HEAD = `# webhookd. Every setting is at its default. Flags override WEBHOOKD_<SECTION>_<KEY> variables (comma-separated for
# lists), and those override this file. Unknown keys are errors. Durations: 100ms 30s 2m 1h. Sizes: 256KiB 64MiB.
# Relative paths are relative to the directory of this file.
`;

const TAIL = `
# What one tenant may take, each in its own [tenants.NAME]. Re-read on SIGHUP. weight: with 2 it has twice the turns of
# the others while several tenants wait to publish (default 1). rate_per_second: events that it may publish; more get 429
# (0: no limit). max_pending: as max_pending_per_tenant, for this tenant alone.
# [tenants.acme]
# weight = 2
# rate_per_second = 500
# max_pending = 100000

# Networks that only the endpoints of some tenants may be in; as many sections as you like. Re-read on SIGHUP.
# [[egress.tenant]]
# names = ["acme"]
# allow_cidrs = ["10.20.0.0/16"]

# Tables of your applications that events are published from; see docs/outbox.md. Give one of url (PostgreSQL),
# url_file (a file with that URL) and sqlite (a file), and tenant or tenant_column.
# [[outbox]]
# name = "shop"
# url = "postgres://webhookd:password@db1/shop"
# table = "webhookd_outbox"
# tenant = "acme"

# Headers that the receivers of another sender verify, as many as you like; docs/receiving.md has the formats.
# [[signature.also]]
# format = "stripe"
# tenants = ["acme"]

# More event types, as many as you like, each in its own [[event_types]]. The sample is sent as a test event; schema
# (JSON Schema 2020-12) is what [events] validate checks data against.
# [[event_types]]
# name = "order.created"
# description = "An order was placed."
# sample = { order_id = "ord_1", total = "12.50" }
# schema = { type = "object", required = ["order_id"], properties = { order_id = { type = "string" } } }
`;

/**
 * Renders a whole configuration file, with a comment for every key. With the defaults the result is
 * config.example.toml.
 */
export function renderConfig(settings: Settings): string {
  const lines = [HEAD.trimEnd()];
  let section = "";
  for (const setting of SETTINGS) {
    if (setting.section !== section) lines.push("", `[${(section = setting.section)}]`);
    const fileKey = fileKeyOf(setting);
    const apart = fileKey === null ? "" : ` Or ${fileKey}: the file that holds it.`;
    const sentence = `${setting.sentence}${apart}${isLive(setting) ? " Re-read on SIGHUP." : ""}`;
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
