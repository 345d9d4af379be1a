import { type ArgsOf, CLIENT, command } from "../../command.ts";
import { EXIT } from "../../exit-code.ts";
import { Failure } from "../../failure.ts";
import { glyphsOf } from "../../output/glyphs.ts";
import type { Io } from "../../io.ts";
import { say, sayJson } from "../../output/print.ts";
import { connect } from "../../target.ts";
import { readCount } from "../../values.ts";
import { readForwardUrl } from "./forward.ts";
import { SECRET_FILE, readSecretsToVerify } from "../signature/inputs.ts";
import { KeptRequests } from "./kept-requests.ts";
import { Reader } from "./reader.ts";
import { register, remove, type Registration } from "./registration.ts";
import { requestJson, requestLine, type Reception } from "./request-line.ts";
import { readScript } from "./script.ts";
import { openServer } from "./server.ts";

const ARGS = {
  port: { type: "string", default: "4000", valueHint: "PORT", description: "Port to listen on; 0 picks a free one" },
  path: {
    type: "string",
    default: "/",
    valueHint: "PATH",
    description: "Path to answer; any other path gets 404",
  },
  register: {
    type: "boolean",
    description: "Register it as an endpoint while it runs (the daemon needs --dev)",
  },
  keep: { type: "boolean", description: "Leave it registered on exit" },
  events: { type: "string", valueHint: "T,…|all", description: "Event types to register for [all]" },
  "secret-file": SECRET_FILE,
  "forward-to": {
    type: "string",
    valueHint: "URL",
    description: "Forward each request to this URL, and pass its answer back",
  },
  status: {
    type: "string",
    valueHint: "STATUS,…",
    description: "Status to answer with; several are used in turn [200]",
  },
  "fail-first": { type: "string", default: "0", valueHint: "N", description: "Answer the first N requests with 500" },
  delay: { type: "string", default: "0s", valueHint: "DURATION", description: "Wait before each answer" },
  drop: { type: "boolean", description: "Close the connection instead of answering" },
  once: { type: "boolean", description: "Exit after one request: 0, or 8 if its signature is wrong" },
  save: { type: "string", valueHint: "DIR", description: "Save each body and its headers to files in this directory" },
  ...CLIENT,
} as const;
type Args = ArgsOf<typeof ARGS>;

export const listen = command({
  args: ARGS,
  examples: [
    "webhookd listen --register",
    "webhookd listen --register --events budget.exceeded,goal.achieved --fail-first 2",
    "webhookd listen --secret-file secret.txt --forward-to http://127.0.0.1:3000/hook",
  ],
  async run(args, io) {
    const options = readOptions(args);
    const client = args.register ? connect(args, io) : null;
    const reader = new Reader({ ...options, client }, io);
    const server = await openServer(options.port, (received) => reader.answer(received));
    const stop = watch(io);
    const glyphs = glyphsOf(io);
    reader.onRequest = (reception) => {
      if (args.json) sayJson(io, requestJson(reception));
      else say(io, requestLine(reception, glyphs));
      if (args.once) stop.end(codeOf(reception));
    };
    try {
      const url = new URL(args.path, server.url).href;
      const registration = client === null ? null : await register(client, url, options.types);
      reader.begin(registration?.secrets ?? options.secrets, registration?.id ?? null);
      announce(url, registration, args, io);
      const code = await stop.ended;
      if (registration !== null && !args.keep && registration.origin !== "foreign") {
        await remove(client!, registration.id);
        if (!args.json) say(io, `Removed ${registration.id}.`);
      }
      return code;
    } finally {
      stop.forget();
      await server.close();
    }
  },
});

function readOptions(args: Args) {
  const { register: registers, events, keep, "secret-file": file, "forward-to": target, status, save } = args;
  if (registers && file !== undefined) throw usage("--register takes the secret from the daemon: drop --secret-file");
  if (!registers && (keep || events !== undefined)) throw usage("--events and --keep need --register");
  if (target !== undefined && status !== undefined)
    throw usage("--forward-to and --status both set the answer: drop one");
  if (!/^\/[\x21-\x7e]*$/.test(args.path) || new URL(args.path, "http://x/").pathname !== args.path) {
    throw usage("--path must be a path such as /hook");
  }
  return {
    port: readCount(args.port, "--port", { min: 0, max: 65_535 }),
    path: args.path,
    types: events === undefined || events === "all" ? null : events.split(",").map((type) => type.trim()),
    secrets: file === undefined ? [] : readSecretsToVerify(file),
    script: readScript(args),
    target: target === undefined ? null : readForwardUrl(target),
    kept: save === undefined ? null : new KeptRequests(save),
  };
}

function announce(url: string, registration: Registration | null, args: Args, io: Io): void {
  const endpoint = registration?.id ?? null;
  if (args.json) {
    sayJson(io, { kind: "listening", url, endpoint });
    return;
  }
  if (registration === null) {
    const checks = args["secret-file"] === undefined ? "Signatures are not checked without --secret-file. " : "";
    say(io, `Listening on ${url}. ${checks}Ctrl-C stops.`);
    return;
  }
  const { types, origin, enabled } = registration;
  const count =
    args.events === undefined || args.events === "all" ? "all types" : `${types} type${types === 1 ? "" : "s"}`;
  const stays = args.keep || origin === "foreign";
  say(
    io,
    `Listening on ${url}, registered as ${endpoint} for ${count}. Ctrl-C stops${stays ? "" : " and removes it"}.`,
  );
  if (origin === "left") say(io, `${endpoint} was left by an earlier run and is reused.`);
  if (origin === "foreign")
    say(io, `${endpoint} was not registered by webhookd listen: it is used as it is, and will not be removed.`);
  if (!enabled) say(io, `It is disabled, so it gets nothing. To enable it: webhookd endpoints enable ${endpoint}`);
}

/** The first signal, or a reader that closes the pipe, ends the command. The second does not wait. */
function watch(io: Io) {
  const { promise: ended, resolve: end } = Promise.withResolvers<number>();
  let signals = 0;
  const forget = io.onSignal((signal) => {
    if (++signals > 1) io.exit(signal === "SIGINT" ? EXIT.sigint : EXIT.sigterm);
    end(EXIT.ok);
  });
  io.stdout.onClosed(() => end(EXIT.ok));
  return { ended, end, forget };
}

function codeOf({ judgement: { verdict } }: Reception): number {
  return verdict === "ok" || verdict === "unchecked" ? EXIT.ok : EXIT.answer_is_no;
}

function usage(what: string): Failure {
  return new Failure("usage", what, "Nothing was done; see webhookd listen --help.");
}
