/** The registration that makes an endpoint as it is at the other sender. */
import { type Mark, MARK, markFor } from "./comparison.ts";
import type { EndpointDraft } from "./described.ts";

/** A disabled endpoint that was enabled before holds its events: nobody else sends them any more. */
export const ENABLED = { enabled: true, when_disabled: "hold" } as const;

/**
 * Until the next secret of a rotation is here too, the mark says that the endpoint is not done. While it is disabled,
 * it is in shadow if the other sender sends to it. Once it is enabled, its events come to us alone.
 */
export function registrationOf(draft: EndpointDraft, whose: Pick<Mark, "from" | "id">, enable: boolean) {
  const { url, events, filter, description, headers, rate_per_second, metadata, format, secrets } = draft;
  const enabled = enable && draft.enabled;
  const mark = markFor({ ...whose, enabled }, draft);
  return {
    url,
    events,
    filter,
    description,
    headers,
    rate_per_second,
    format,
    metadata: { ...metadata, [MARK]: secrets.next === null ? mark : { ...mark, secret: "" } },
    ...(enabled ? ENABLED : { enabled, when_disabled: draft.enabled ? "shadow" : "skip" }),
    secret: secrets.current,
  };
}
