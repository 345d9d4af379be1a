import type { EventType } from "../../src/client/operations.ts";
import { typeState } from "../../src/client/type-notes.ts";
import { matches, patternFault, TYPE_NAME } from "../../src/domain/events/pattern.ts";
import { CLIENT, command, LIST } from "../command.ts";
import { EXIT } from "../exit-code.ts";
import { usage } from "../failure.ts";
import { type Field, listWhole } from "../output/list.ts";
import { connect } from "../target.ts";

const FIELDS: readonly Field<EventType>[] = [
  { name: "name", title: "TYPE", least: 16, text: ({ name }) => name },
  { name: "group", rank: 3, least: 6, hidden: ({ group }) => group === null, text: ({ group }) => group ?? "-" },
  { name: "defined_in", title: "FROM", rank: 4, text: ({ defined_in: origin }) => origin },
  {
    name: "validation",
    rank: 2,
    hidden: ({ validation }) => validation === null,
    text: ({ validation }) => validation ?? "-",
  },
  { name: "state", least: 10, hidden: (type) => typeState(type) === "-", text: typeState },
  { name: "description", rank: 5, least: 16, text: ({ description }) => description || "-" },
];

export const typesList = command({
  args: {
    pattern: {
      type: "positional",
      valueHint: "PATTERN",
      description: "Only the types that an endpoint with this pattern receives, such as budget.*",
    },
    group: { type: "string", valueHint: "WORD", description: "Only the types of this group" },
    deprecated: { type: "boolean", description: "Only deprecated types" },
    archived: { type: "boolean", description: "Only archived types" },
    fields: LIST.fields,
    ids: { ...LIST.ids, description: "Print only names, one per line" },
    plain: LIST.plain,
    ...CLIENT,
  },
  examples: ["webhookd types list", "webhookd types list 'budget.*'", "webhookd types list --deprecated"],
  async run(args, io) {
    const { pattern, group } = args;
    const client = connect(args, io);
    const fault = pattern === undefined || TYPE_NAME.test(pattern) ? null : patternFault(pattern, []);
    if (fault !== null) throw usage(`${pattern} ${fault}`);
    const { data } = await client.call("listEventTypes");
    const isListed = (type: EventType) =>
      (pattern === undefined || matches(pattern, type.name)) &&
      (group === undefined || type.group === group) &&
      (!args.deprecated || type.deprecated) &&
      (!args.archived || type.archived);
    listWhole(data.filter(isListed), args, { id: ({ name }) => name, fields: FIELDS }, io);
    return EXIT.ok;
  },
});
