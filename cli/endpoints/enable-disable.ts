import { WHEN_DISABLED } from "../../src/domain/endpoints/endpoint.ts";
import { CLIENT, command, YES } from "../command.ts";
import { confirm, requireConsent } from "../confirm.ts";
import { ENDPOINT, findEndpoint } from "./find.ts";
import { EXIT } from "../exit-code.ts";
import { usage } from "../failure.ts";
import { note, say, sayJson } from "../output/print.ts";
import { connect } from "../target.ts";
import { count } from "../output/words.ts";

export const endpointsEnable = command({
  args: {
    endpoint: ENDPOINT,
    "cancel-held": { type: "boolean", description: "Cancel its held deliveries instead of sending them" },
    ...YES,
    ...CLIENT,
  },
  examples: [
    "webhookd endpoints enable ep_01m7w8bx02jeyjr53r14y5rmma",
    "webhookd endpoints enable ep_01m7w8bx02jeyjr53r14y5rmma --cancel-held --yes",
  ],
  async run(args, io) {
    const cancels = args["cancel-held"];
    if (cancels) requireConsent("--cancel-held", args, io);
    const client = connect(args, io);
    const id = await findEndpoint(args.endpoint, client);
    const { url, enabled, health, when_disabled: whenDisabled } = await client.call("getEndpoint", { id });
    if (cancels)
      await confirm(
        {
          facts: [`${id} ${url}: ${count(health.held, "held delivery", "held deliveries")} will be cancelled.`],
          word: "yes",
        },
        args,
        io,
      );
    const after = await client.call("changeEndpoint", {
      id,
      body: { enabled: true, held: cancels ? "cancel" : "release" },
    });
    if (args.json) sayJson(io, after);
    else if (enabled) say(io, `${id} was already enabled.`);
    else if (health.held === 0) say(io, `${id} is enabled.`);
    else {
      const held = count(health.held, "held delivery is", "held deliveries are");
      say(io, `${id} is enabled; ${held} ${cancels ? "cancelled" : "sent now, slowly at first"}.`);
    }
    if (!args.json && !enabled && whenDisabled === "skip") {
      const look = `webhookd replay --missing --endpoint ${id} --since 24h --dry-run`;
      note(io, `Events that came while it was disabled were skipped. To see how many: ${look}`);
    }
    if (!args.json && !enabled && whenDisabled === "shadow") {
      note(io, "Events that came while it was disabled were shadowed, and are never sent.");
      note(
        io,
        `If it is disabled again, so are its next ones. To hold them: webhookd endpoints update ${id} --when-disabled hold`,
      );
    }
    return EXIT.ok;
  },
});

const FATES = {
  hold: "Its waiting deliveries are held, and so are its new events.",
  skip: "Its new events are skipped; deliveries that were already waiting are held.",
  shadow: "Its new events are shadowed, and never sent; deliveries that were already waiting are held.",
} as const;

export const endpointsDisable = command({
  args: {
    endpoint: ENDPOINT,
    hold: { type: "boolean", description: "Hold its events until it is enabled" },
    skip: { type: "boolean", description: "Skip its events; they are never sent" },
    shadow: { type: "boolean", description: "Decide about its events and show them as shadowed; they are never sent" },
    ...CLIENT,
  },
  examples: [
    "webhookd endpoints disable ep_01m7w8bx02jeyjr53r14y5rmma",
    "webhookd endpoints disable ep_01m7w8bx02jeyjr53r14y5rmma --skip",
  ],
  async run(args, io) {
    const [whenDisabled, other] = WHEN_DISABLED.filter((word) => args[word]);
    if (whenDisabled !== undefined && other !== undefined)
      throw usage(`--${whenDisabled} and --${other} cannot be combined`);
    const body = { enabled: false, when_disabled: whenDisabled };
    const client = connect(args, io);
    const id = await findEndpoint(args.endpoint, client);
    const after = await client.call("changeEndpoint", { id, body });
    if (args.json) {
      sayJson(io, after);
      return EXIT.ok;
    }
    const fate = FATES[after.when_disabled];
    say(io, `${id} is disabled: nothing more is sent to it.`);
    say(io, `${fate} To enable it: webhookd endpoints enable ${id}`);
    return EXIT.ok;
  },
});
