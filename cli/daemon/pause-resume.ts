import { CLIENT, command } from "../command.ts";
import { EXIT } from "../exit-code.ts";
import { note, say, sayJson } from "../output/print.ts";
import { connect } from "../target.ts";

export const pause = command({
  args: {
    reason: { type: "positional", required: true, valueHint: "REASON", description: "The reason, in a few words" },
    ...CLIENT,
  },
  examples: ["webhookd pause maintenance"],
  async run(args, io) {
    const { paused } = await connect(args, io).call("pauseDaemon", { body: { reason: args.reason } });
    if (args.json) sayJson(io, { paused });
    else {
      say(io, `Sending was paused at ${paused.at} by ${paused.by}: ${paused.reason}`);
      if (paused.reason !== args.reason) note(io, "It was already paused; the earlier reason is kept.");
      if (paused.saved !== false)
        say(io, "No attempt starts, even after a restart; events are still accepted. To resume: webhookd resume");
      else
        say(io, "No attempt starts. The disk is too full to save the pause: UNTIL YOU FREE SPACE, A RESTART ENDS IT.");
    }
    return EXIT.ok;
  },
});

export const resume = command({
  args: CLIENT,
  examples: ["webhookd resume"],
  async run(args, io) {
    const { paused, was_paused } = await connect(args, io).call("resumeDaemon");
    if (args.json) sayJson(io, { paused, was_paused });
    else if (was_paused === false) say(io, "Sending was not paused. If nothing is sent: webhookd doctor");
    else say(io, "Sending has resumed.");
    return EXIT.ok;
  },
});
