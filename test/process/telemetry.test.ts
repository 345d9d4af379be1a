import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { expect } from "vitest";
import { it, MAIN, type Machine } from "../harness/process.ts";

/** Notes which modules of ours and of OpenTelemetry about traces a process loads, by `import` and by `require`. */
const HOOK = `
import { appendFileSync } from "node:fs";
import { registerHooks } from "node:module";
registerHooks({
  load(url, context, next) {
    if (/@opentelemetry|src.telemetry/.test(url)) appendFileSync(process.env.LOADED_FILE, url + "\\n");
    return next(url, context);
  },
});`;

async function loadedBy(machine: Machine, settings: Record<string, string>): Promise<string[]> {
  const [file, hook] = [join(machine.home, "loaded"), join(machine.home, "hook.mjs")];
  writeFileSync(file, "");
  writeFileSync(hook, HOOK);
  const program = [process.execPath, "--import", pathToFileURL(hook).href, MAIN] as const;
  const daemon = await machine.serve({ program, settings, env: { LOADED_FILE: file } });
  const receiver = await machine.receiver(500);
  await daemon.register(receiver.url);
  await daemon.request("POST", "/v1/webhooks/events", { type: "budget.exceeded", data: {} });
  await daemon.process.json(({ msg }) => msg === "delivery.attempted");
  expect(await daemon.stop()).toBe(0);
  return readFileSync(file, "utf8").split("\n").slice(0, -1);
}

it("nothing about traces is loaded unless a collector is set", async ({ machine }) => {
  expect(await loadedBy(machine, {})).toEqual([]);
  const collector = await machine.receiver();
  const loaded = await loadedBy(machine, { TELEMETRY_OTLP: new URL(collector.url).origin });
  expect(loaded.some((url) => url.includes("/src/telemetry/traces.ts"))).toBe(true);
  expect(loaded.some((url) => url.includes("/@opentelemetry/sdk-trace/"))).toBe(true);
  expect(collector.requests.length).toBeGreaterThan(0);
});
