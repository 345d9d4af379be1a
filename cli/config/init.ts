import { writeFileSync } from "node:fs";
import { parse, resolve } from "node:path";
import { renderConfig } from "./example.ts";
import { DEFAULTS } from "../../src/config/schema.ts";
import { type ArgsOf, command, JSON_FLAG } from "../command.ts";
import { EXIT } from "../exit-code.ts";
import { Failure } from "../failure.ts";
import { say, sayJson } from "../output/print.ts";
import { serviceUnit, socketUnit } from "./units.ts";

/** Software that does not come from the distribution is installed here. */
const INSTALLED = "/usr/local/bin/webhookd";

const ARGS = {
  path: {
    type: "string",
    valueHint: "FILE",
    description: "File to write; - prints [./webhookd.toml; a unit is printed]",
  },
  force: { type: "boolean", description: "Overwrite an existing file" },
  systemd: { type: "boolean", description: "Write the unit webhookd.service instead" },
  "systemd-socket": {
    type: "boolean",
    description:
      "Write the unit webhookd.socket instead: systemd listens, so no connection is refused during a restart",
  },
  json: JSON_FLAG,
} as const;
type Args = ArgsOf<typeof ARGS>;

export const configInit = command({
  args: ARGS,
  examples: ["webhookd config init", "webhookd config init --systemd --path /etc/systemd/system/webhookd.service"],
  async run(args, io) {
    const { text, path, next } = chosen(args);
    if (path === undefined || path === "-") {
      if (args.json) sayJson(io, { path: null, text });
      else io.stdout.write(text);
      return EXIT.ok;
    }
    const file = resolve(io.configInputs({}).cwd, path);
    write(file, text, args.force);
    if (args.json) sayJson(io, { path: file });
    else for (const line of [`Wrote ${file}.`, ...next(file)]) say(io, line);
    return EXIT.ok;
  },
});

interface Chosen {
  readonly text: string;
  /** Undefined to print the text instead. */
  readonly path: string | undefined;
  readonly next: (file: string) => string[];
}

function chosen(args: Args): Chosen {
  const service = args.systemd;
  const socket = args["systemd-socket"];
  if (service && socket) {
    throw new Failure(
      "usage",
      "--systemd and --systemd-socket are two different units",
      "Choose one. Nothing was done.",
    );
  }
  const reload = () => ["Next: systemctl daemon-reload"];
  if (socket) return { text: socketUnit(DEFAULTS["server.listen"]), path: args.path, next: reload };
  if (service) return { text: serviceUnit(program()), path: args.path, next: reload };
  const next = (file: string) => ["Every setting is at its default.", `Next: webhookd config check ${file}`];
  return { text: renderConfig(DEFAULTS), path: args.path ?? "webhookd.toml", next };
}

/**
 * Returns the path of this executable. A program that runs on a separate Node must be installed first, so it gets the
 * path at which to install it.
 */
function program(): string {
  return parse(process.execPath).name === "node" ? INSTALLED : process.execPath;
}

/** Everyone may read the file: it holds no secret, and root writes it for a daemon that runs as another user. */
function write(file: string, text: string, force: boolean): void {
  try {
    writeFileSync(file, text, { mode: 0o644, flag: force ? "w" : "wx" });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "EEXIST") {
      throw new Failure("conflict", `${file} already exists`, "Nothing was written; --force replaces it.");
    }
    throw new Failure("refused", `${file} cannot be written (${code})`, "Choose another place with --path.");
  }
}
