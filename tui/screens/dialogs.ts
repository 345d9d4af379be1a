/** Draws dialogs as boxes over the screen. */
import type { CommandsDialog, Dialog } from "../model/dialog.ts";
import type { Span } from "../draw/row.ts";
import { prose } from "../draw/text.ts";
import { layoutOf } from "../layout.ts";
import type { State } from "../model/state.ts";
import { boxRows, innerOf } from "./boxes.ts";
import { choiceRows, formRows, secretRows } from "./forms.ts";
import { planRows, planTitle } from "./plan.ts";

const BORDERS = 2;

export function dialogRows(state: State, dialog: Dialog): string[] {
  const { look } = state.settings;
  const width = innerOf(state.size);
  const height = layoutOf(state).body - BORDERS;
  switch (dialog.kind) {
    case "confirm": {
      const keys: Span[] = [
        { text: "y", style: "bold" },
        { text: `  ${dialog.yes}      ` },
        { text: "n / Esc", style: "bold" },
        { text: "  cancel" },
      ];
      const facts = dialog.facts.flatMap((text) => prose(text, width, look));
      return boxRows(look, state.size, dialog.title, [...facts.map((text) => [{ text }]), [], keys]);
    }
    case "choice":
      return boxRows(look, state.size, dialog.title, choiceRows(state, dialog, { width, height }));
    case "form":
      return boxRows(look, state.size, dialog.title, formRows(state, dialog, { width, height }));
    case "secret":
      return boxRows(look, state.size, dialog.title, secretRows(look, dialog, { width, height }));
    case "commands":
      return boxRows(look, state.size, dialog.title, commandRows(state, dialog, width));
    case "plan": {
      return boxRows(look, state.size, planTitle(dialog), planRows(state, dialog, { width, height }));
    }
  }
}

/** Returns as many commands as fit. */
function commandRows(state: State, { commands, top }: CommandsDialog, width: number): Span[][] {
  const { look } = state.settings;
  const rows = commands.flatMap(({ what, command }, index): Span[][] => [
    [
      { text: String(index + 1), style: "bold" },
      { text: `  ${what}`, style: "grey" },
    ],
    ...prose(command, width - 3, look).map((text): Span[] => [{ text: `   ${text}` }]),
  ]);
  const room = layoutOf(state).body - BORDERS - 1;
  const start = Math.min(top, Math.max(0, rows.length - room));
  const more: Span[] = [{ text: "j k", style: "bold" }, { text: "  see more      " }];
  const keys: Span[] = [
    { text: commands.length > 1 ? `1-${commands.length}` : "1", style: "bold" },
    { text: "  copy it      " },
    ...(rows.length > room ? more : []),
    { text: "Esc", style: "bold" },
    { text: "  leave" },
  ];
  return [...rows.slice(start, start + room), keys];
}
