import { loadConfig, runningSettings } from "../../src/config.ts";
import { isLive, nameOf, SETTINGS, settingsTexts, type SettingName } from "../../src/config/schema.ts";
import { loadSettings } from "../../src/config/settings.ts";
import type { Configuration } from "../../src/client/operations.ts";
import { printable } from "../../src/domain/printable.ts";
import { CLIENT, command } from "../command.ts";
import { EXIT } from "../exit-code.ts";
import { note, say, sayJson } from "../output/print.ts";
import { connect } from "../target.ts";
import type { Io } from "../io.ts";

type Tenants = Configuration["tenants"];

/** The settings that a daemon would use if it started now. */
interface OnDisk {
  readonly file: string | null;
  readonly texts: Readonly<Record<SettingName, string>>;
  readonly tenants: Tenants;
  readonly originOf: (name: SettingName) => string;
}

export const configShow = command({
  args: {
    origin: { type: "boolean", description: "Show where each value comes from" },
    running: {
      type: "boolean",
      description: "Show what the running daemon uses, and where the file now differs",
    },
    ...CLIENT,
  },
  examples: ["webhookd config show", "webhookd config show --origin", "webhookd config show --running"],
  /** Prints TOML, so that a part of it can be pasted into a file. */
  async run(args, io) {
    const disk = read(args.config, io);
    if (args.running) {
      const running = await connect(args, io).call("getConfiguration");
      if (args.json) sayJson(io, { ...running, differs: differencesOf(running, disk) });
      else sayRunning(running, disk, io);
      return EXIT.ok;
    }
    const { file, texts, tenants, originOf } = disk;
    if (args.json) {
      const settings = SETTINGS.map(nameOf).map((name) => [
        name,
        { value: JSON.parse(texts[name]) as unknown, origin: originOf(name) },
      ]);
      sayJson(io, { file, settings: Object.fromEntries(settings), tenants });
      return EXIT.ok;
    }
    say(io, `# ${file ?? "no configuration file"}`);
    saySettings(io, texts, (name) => (args.origin ? originOf(name) : null));
    sayTenants(io, tenants, () => null);
    return EXIT.ok;
  },
});

function read(given: string | undefined, io: Io): OnDisk {
  const inputs = io.configInputs({ config: given });
  const config = loadConfig(inputs);
  const { file, origins } = loadSettings(inputs);
  const shares = [...config.tenants].map(([name, { weight, ratePerSecond, maxPending }]) => [
    name,
    { weight, rate_per_second: ratePerSecond, max_pending: maxPending },
  ]);
  return {
    file,
    texts: settingsTexts(runningSettings(config)),
    tenants: Object.fromEntries(shares) as Tenants,
    originOf: (name) => origins.get(name)?.() ?? "default",
  };
}

interface Difference {
  /** `server.listen`, or `tenants.acme`. */
  readonly name: string;
  /** The value that a daemon would use if it started now. Null for a tenant that has no section. */
  readonly file: unknown;
  /** True if a SIGHUP is enough to apply it. */
  readonly live: boolean;
}

/** Ignores settings that a running daemon of another version does not know. */
function differencesOf({ settings, tenants }: Configuration, disk: OnDisk): Difference[] {
  const values = SETTINGS.flatMap((setting): Difference[] => {
    const name = nameOf(setting);
    const [running, file] = [settings[name], JSON.parse(disk.texts[name]) as unknown];
    const differs = running !== undefined && JSON.stringify(running) !== JSON.stringify(file);
    return differs && setting.section !== "ui" ? [{ name, file, live: isLive(setting) }] : [];
  });
  const names = new Set([...Object.keys(tenants), ...Object.keys(disk.tenants)]);
  const shares = [...names].flatMap((name): Difference[] => {
    const file = disk.tenants[name] ?? null;
    const differs = JSON.stringify(tenants[name] ?? null) !== JSON.stringify(file);
    return differs ? [{ name: `tenants.${name}`, file, live: true }] : [];
  });
  return [...values, ...shares];
}

function sayRunning(running: Configuration, disk: OnDisk, io: Io): void {
  const differences = new Map(differencesOf(running, disk).map((one) => [one.name, one]));
  const textOf = (name: SettingName) => tomlText(running.settings[name] ?? null);
  const texts = Object.fromEntries(SETTINGS.map(nameOf).map((name) => [name, textOf(name)]));
  const remark = (name: string) => {
    const other = differences.get(name);
    if (other === undefined) return null;
    const origin = name.startsWith("tenants.") ? "the file" : disk.originOf(name as SettingName);
    const value = other.file === null ? "nothing" : tomlText(other.file);
    return `${origin === "default" ? "the default is" : `${origin} says`} ${value}; ${other.live ? "SIGHUP" : "a restart"} takes it`;
  };
  say(io, "# what the running daemon uses");
  saySettings(io, texts as Record<SettingName, string>, remark);
  sayTenants(io, { ...withNone(disk.tenants), ...running.tenants }, (name) => remark(`tenants.${name}`));
  const count = differences.size;
  const where = disk.file ?? "the defaults, because there is no configuration file";
  note(io, count === 0 ? `The same as ${where}.` : `Compared with ${where}: ${count} different, marked above.`);
}

/** Formats a value as it would appear in the file. */
function tomlText(value: unknown): string {
  return Array.isArray(value) ? `[${value.map((one) => JSON.stringify(one)).join(", ")}]` : JSON.stringify(value);
}

/**
 * Returns default shares for the tenants of the file, so that tenants which the daemon does not know yet are shown too.
 */
function withNone(tenants: Tenants): Tenants {
  const none = { weight: 1, rate_per_second: null, max_pending: null };
  return Object.fromEntries(Object.keys(tenants).map((name) => [name, none]));
}

const REMARK_AT = 48;

function saySettings(
  io: Io,
  texts: Readonly<Record<SettingName, string>>,
  remark: (name: SettingName) => string | null,
): void {
  const width = Math.max(...SETTINGS.map((setting) => `${setting.key} = ${texts[nameOf(setting)]}`.length));
  let section = "";
  for (const setting of SETTINGS) {
    if (setting.section !== section) io.stdout.write(`\n[${(section = setting.section)}]\n`);
    const name = nameOf(setting);
    sayLine(io, `${setting.key} = ${texts[name]}`, remark(name), width);
  }
}

function sayTenants(io: Io, tenants: Tenants, remark: (name: string) => string | null): void {
  for (const [name, { weight, rate_per_second: rate, max_pending: pending }] of Object.entries(tenants)) {
    // Quote a name with dots or colons, which TOML would read as its own syntax.
    const key = /^[\w-]+$/.test(name) ? name : JSON.stringify(name);
    io.stdout.write("\n");
    sayLine(io, `[tenants.${key}]`, remark(name), REMARK_AT);
    say(io, `weight = ${weight}`);
    if (rate !== null) say(io, `rate_per_second = ${rate}`);
    if (pending !== null) say(io, `max_pending = ${pending}`);
  }
}

function sayLine(io: Io, text: string, remark: string | null, width: number): void {
  const line = printable(text);
  const said = remark === null ? line : `${line.padEnd(Math.min(width, REMARK_AT))}  # ${printable(remark)}`;
  io.stdout.write(`${said}\n`);
}
