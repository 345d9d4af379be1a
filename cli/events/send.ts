import { CLIENT, command, TENANT } from "../command.ts";
import { noteHalt } from "../daemon/halts.ts";
import { suggesting } from "../endpoints/event-types.ts";
import { EXIT } from "../exit-code.ts";
import { note, say, sayJson } from "../output/print.ts";
import { connect } from "../target.ts";
import { count } from "../output/words.ts";
import { readData } from "./data.ts";
import { firstAttempts, tellFirst } from "./first-attempts.ts";

export const eventsSend = command({
  args: {
    type: { type: "string", required: true, valueHint: "TYPE", description: "Event type" },
    data: {
      type: "string",
      required: true,
      valueHint: "@FILE",
      description: "JSON object, sent byte for byte: @FILE, - for stdin, or inline",
    },
    tenant: { ...TENANT, description: "Tenant whose endpoints receive it [default]" },
    "publisher-id": { type: "string", valueHint: "ID", description: "Your own id for it, to find it by" },
    tag: {
      type: "string",
      multiple: true,
      valueHint: "TAG",
      description: "Tag to find it by; may be given up to five times",
    },
    "ordering-key": {
      type: "string",
      valueHint: "KEY",
      description: "What it is about: endpoints that ask for it get the events of a key in order",
    },
    "created-at": { type: "string", valueHint: "INSTANT", description: "When it happened [now]" },
    "idempotency-key": {
      type: "string",
      valueHint: "KEY",
      description: "Publishing again with the same key does nothing",
    },
    wait: { type: "boolean", description: "Wait up to 15 s for the first attempt of each delivery" },
    ...CLIENT,
  },
  examples: [
    `webhookd events send --type budget.exceeded --data '{"budget_id":"bud_1"}' --wait`,
    "webhookd events send --type budget.exceeded --data @event.json --idempotency-key 2026-11-20/bud_1",
  ],
  /** Prints only the id on stdout, unless the command waits. */
  async run(args, io) {
    const data = await readData(args.data, io);
    const client = connect(args, io);
    const rest = JSON.stringify({
      type: args.type,
      tenant: args.tenant,
      created_at: args["created-at"],
      publisher_id: args["publisher-id"],
      ordering_key: args["ordering-key"],
      ...(args.tag.length > 0 && { tags: args.tag }),
    });
    const key = args["idempotency-key"];
    const publish = () =>
      client.call("publishEvent", {
        body: `${rest.slice(0, -1)},"data":${data}}`,
        ...(key !== undefined && { idempotencyKey: key }),
      });
    const published = await suggesting([args.type], client, publish);
    if (args.wait) return tellFirst(await firstAttempts(client, published.id, io), args.json, io);
    if (args.json) sayJson(io, published);
    else {
      note(io, `${published.type} goes to ${count(published.delivery_count, "endpoint", "endpoints")}.`);
      say(io, published.id);
      await noteHalt(client, io);
    }
    return EXIT.ok;
  },
});
