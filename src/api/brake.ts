/** The brake: no attempt starts while it is on, and publishes go on. */
import type { Halt, Pause } from "../domain/pause.ts";
import { formatInstant } from "../domain/instant.ts";
import { pauseDaemon, resumeDaemon } from "./operations/daemon.ts";
import type { ApiParts } from "./parts.ts";
import { json, type Call, type Reply, type Route } from "./pipeline/route.ts";
import { PauseRequest } from "./schemas/status.ts";
import { requireEveryTenant } from "./pipeline/access.ts";
import { readJson } from "./pipeline/validation.ts";

export function brakeRoutes({ store, deliveries, log }: ApiParts): Route[] {
  async function pause({ principal, body, now }: Call): Promise<Reply> {
    requireEveryTenant(principal);
    const { reason } = readJson(body, PauseRequest);
    // On the disk first: an attempt that starts after a crash must find it there.
    const holding = await store.operations.pause({ reason, by: principal.keyId ?? "socket", at: now });
    await deliveries.pause();
    const shown = presentPause(holding);
    log.warn(
      shown,
      shown.saved
        ? "paused: no attempt starts until somebody resumes"
        : "paused, but the disk does not take it: no attempt starts until somebody resumes, and a restart forgets it",
    );
    // Where the disk takes nothing, the log says who did it.
    return { ...json(200, { paused: shown }), ...(!shown.saved && { isAudited: false }) };
  }

  async function resume({ principal }: Call): Promise<Reply> {
    requireEveryTenant(principal);
    const before = await store.operations.getPause();
    const wasOn = await store.operations.resume();
    deliveries.resume();
    if (wasOn) log.info({ by: principal.keyId ?? "socket" }, "resumed: attempts go on");
    return { ...json(200, { paused: null }), ...(before?.saved === false && { isAudited: false }) };
  }

  return [
    {
      method: "POST",
      path: "/v1/pause",
      access: "admin",
      body: { maxBytes: 64 * 1024, schema: PauseRequest },
      audit: "daemon.pause",
      operation: pauseDaemon,
      handle: pause,
    },
    {
      method: "POST",
      path: "/v1/resume",
      access: "admin",
      audit: "daemon.resume",
      operation: resumeDaemon,
      handle: resume,
    },
  ];
}

export function presentPause({ reason, by, at, saved = true }: Pause) {
  return { reason, by, at: formatInstant(at), saved };
}

/** The brake's own words are those of whoever put it on. */
export function presentHalt({ reason, since, detail }: Halt, pause: Pause | null) {
  if (reason !== "operator" || pause === null) return { reason, since: formatInstant(since), detail };
  return { reason, since: formatInstant(pause.at), detail: `the brake was put on by ${pause.by}: ${pause.reason}` };
}
