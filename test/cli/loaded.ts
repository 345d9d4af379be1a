/** Every command's definition. The program itself loads only the one that it runs. */
import type { Command } from "../../cli/command.ts";
import { COMMANDS, type CommandName } from "../../cli/commands.ts";

const loaded = Object.entries(COMMANDS).map(async ([name, { load }]) => [name, await load()] as const);

export const LOADED = Object.fromEntries(await Promise.all(loaded)) as { readonly [N in CommandName]: Command };
