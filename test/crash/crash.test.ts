import { it } from "vitest";
import { losesNothing } from "./program.ts";

it("kill -9 on the real process loses nothing that was acked, and explains every duplicate", async () => {
  await losesNothing(2, 1);
});
