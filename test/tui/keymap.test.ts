import { it } from "vitest";
import { BINDINGS } from "../../tui/keys/table.ts";
import { RunningDashboard } from "./dashboard.ts";
import { nameOf, OTHER_LISTS, PLACES, tryKeys } from "./keyboard.ts";
import { openSite } from "./site.ts";
import { inTerminal } from "./tmux.ts";

inTerminal("the keys", () => {
  it.each(PLACES.filter((place) => !OTHER_LISTS.includes(place)))(
    "of %s do what the help says, or say why not",
    (place) => tryKeys(place),
  );

  it("that change something are off while the dashboard is read-only", async () => {
    const site = await openSite({ failing: ["out of memory"] });
    const { terminal } = await RunningDashboard.open({ ...site, flags: "--read-only" });
    for (const { keys, show } of BINDINGS.filter(({ acts, on }) => acts === true && on?.includes("events"))) {
      await terminal.press(nameOf(keys[0]!));
      await terminal.until(`${show} is off: this dashboard is read-only`);
    }
  });
});
