import { CLIENT, command } from "../command.ts";
import { EXIT } from "../exit-code.ts";
import { note, say, sayJson } from "../output/print.ts";
import { connect } from "../target.ts";

export const pause = command({
  args: {
    reason: { type: "positional", required: true, valueHint: "REASON", description: "Why, in a few words" },
    ...CLIENT,
  },
  examples: ["webhookd pause maintenance"],
  async run(args, io) {
    const { paused } = await connect(args, io).call("pauseDaemon", { body: { reason: args.reason } });
    if (args.json) sayJson(io, { paused });
    else {
      say(io, `Paused since ${paused.at} by ${paused.by}: ${paused.reason}`);
      if (paused.reason !== args.reason) note(io, "It was paused before, and what was said then stays.");
      if (paused.saved !== false) say(io, "No attempt starts, publishes go on. It stays so until: webhookd resume");
      else
        say(
          io,
          "No attempt starts. The disk does not take this, so a RESTART FORGETS IT: free some space, and it is saved.",
        );
    }
    return EXIT.ok;
  },
});

export const resume = command({
  args: CLIENT,
  examples: ["webhookd resume"],
  async run(args, io) {
    await connect(args, io).call("resumeDaemon");
    if (args.json) sayJson(io, { paused: null });
    else say(io, "Attempts go on.");
    return EXIT.ok;
  },
});
